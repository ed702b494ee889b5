import OpenSSLBridge
package import PinctlBasics

/// A reader for files of keys and certificates, which are DER with one object, or PEM with any number of them.
package enum KeyFile {
    /// One object of a file: its index from 0, its line in PEM (`nil` in DER), and its content or an error.
    package struct Item: Sendable {
        package let index: Int
        package let line: Int?
        package let content: Result<KeyMaterial, KeyMaterialError>
    }

    /// The reason why reading a file stopped. Objects before that point have been passed to the caller.
    package enum Failure: Error, Hashable, Sendable {
        case file(InputFileError)
        case format(PEMError)
        case empty
        /// The file is a key store in Java's old format.
        case javaKeyStore
    }

    /// The size limit of a file that is read with a password, which is held in memory as a whole.
    package static let protectedLimit = 8 << 20

    /// Reads a file to its end and passes each object to `each` as it is found. Uses constant memory unless there is a
    /// password. Blocks with parameters are skipped.
    ///
    /// If the file is text without PEM of up to 1 MiB, `text` receives it and returns whether it could use it.
    package static func read(
        _ file: consuming InputFile, password: KeyPassword = KeyPassword(), text: ([UInt8]) -> Bool = { _ in false },
        each: (Item) -> Void
    ) throws(Failure) {
        guard password.bytes == nil else {
            var contents: [UInt8]
            do throws(InputFileError) {
                contents = try file.contents(limit: protectedLimit, isSecret: true)
            } catch {
                throw .file(error)
            }
            defer { wipe(&contents) }
            return try read(contents, password: password, text: text, each: each)
        }
        var items = ItemNumbers()
        var head: [UInt8]? = []
        do throws(Failure) {
            try readObjects(file, head: &head) { label, block, result, der in
                items.add(label, block, result, der, password, each)
            }
        } catch {
            guard error == .format(.noBlock), let head, text(head) else { throw error }
        }
    }

    /// Reads bytes as ``read(_:password:text:each:)`` reads a file.
    package static func read(
        _ bytes: [UInt8], password: KeyPassword = KeyPassword(), text: ([UInt8]) -> Bool = { _ in false },
        each: (Item) -> Void
    ) throws(Failure) {
        var items = ItemNumbers()
        do throws(Failure) {
            try readObjects(bytes) { label, block, result, der in
                items.add(label, block, result, der, password, in: bytes, each)
            }
        } catch {
            guard error == .format(.noBlock), bytes.count <= PEMReader.textLimit, text(bytes) else { throw error }
        }
    }

    /// Finds the objects of bytes as ``readObjects(_:limit:_:)`` finds those of a file.
    static func readObjects(
        _ bytes: [UInt8], _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED]) else { throw .javaKeyStore }
        let limit = PEMReader.objectLimit
        guard !looksLikeDER(bytes[...]) else {
            guard bytes.count <= limit else { throw .format(.tooLarge(limit: limit)) }
            return output(nil, PEMBlock(label: "", line: 0, index: 0), .success(()), bytes.span)
        }
        var reader = PEMReader(limit: limit)
        defer { reader.wipe() }
        let emit: PEMReader.Output = { block, result, der in output(block.label, block, result, der) }
        do throws(PEMError) {
            try reader.feed(bytes.span, emit)
            try reader.finish(emit)
        } catch {
            throw .format(error)
        }
    }

    /// A counter for the objects of a file, where one block may contain several.
    private struct ItemNumbers {
        /// The number of objects in excess of one for each block.
        private var offset = 0

        mutating func add(
            _ label: String?, _ block: PEMBlock, _ result: Result<Void, PEMError>, _ der: Span<UInt8>,
            _ password: KeyPassword, in text: [UInt8]? = nil, _ each: (Item) -> Void
        ) {
            let line = label == nil ? nil : block.line
            var count = 0
            func emit(_ content: Result<KeyMaterial, KeyMaterialError>) {
                each(Item(index: block.index + offset + count, line: line, content: content))
                count += 1
            }
            do throws(KeyMaterialError) {
                switch result {
                case .failure(.encrypted) where label?.hasSuffix("PRIVATE KEY") == true:
                    guard let text else { throw .encrypted }
                    let lines = text.span.extracting(text.span.block(fromLine: block.line))
                    emit(.success(try KeyMaterial(encryptedPEM: lines, password)))
                case .failure(let error): throw .pem(error)
                case .success: try KeyMaterial.forEach(label: label, der: der, password, emit)
                }
            } catch {
                emit(.failure(error))
            }
            offset += max(0, count - 1)
        }
    }

    /// Reads only the pins of a file's certificates and keys, which is faster for many files. A malformed object gives
    /// `nil`.
    package static func readFingerprints(
        _ file: consuming InputFile, each: (SPKIFingerprint?) -> Void
    ) throws(Failure) {
        try readObjects(file) { label, _, result, der in
            guard case .success = result else { return each(nil) }
            if label == "CERTIFICATE" {
                each(try? SPKIFingerprint(ofCertificate: der))
            } else if let label {
                do throws(KeyMaterialError) {
                    if let material = try KeyMaterial(label: label, der: der) { each(material.fingerprint) }
                } catch {
                    each(nil)
                }
            } else {
                each((try? KeyMaterial(der: der))?.fingerprint)
            }
        }
    }

    /// Finds the objects of a file, of up to `limit` bytes each: PEM blocks with their label, or one DER object without
    /// a label.
    static func readObjects(
        _ file: consuming InputFile, limit: Int = PEMReader.objectLimit,
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        var head: [UInt8]?
        try readObjects(file, limit: limit, head: &head, output)
    }

    /// Finds the objects of a file as above. If `head` isn't `nil`, collects the text before the first block in it, and
    /// sets it to `nil` at that block.
    private static func readObjects(
        _ file: consuming InputFile, limit: Int = PEMReader.objectLimit, head: inout [UInt8]?,
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        // Larger buffers read no faster, and each page of one is a cost to a program that reads a single certificate.
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var start = try Self.read(&file, into: &buffer)
        guard start > 0 else { throw .empty }
        // The first bytes distinguish DER from text. A pipe may deliver them one at a time.
        while start < 3 {
            var more = [UInt8](repeating: 0, count: 64)
            let count = try Self.read(&file, into: &more)
            if count == 0 { break }
            buffer.replaceSubrange(start..<start + count, with: more[..<count])
            start += count
        }
        guard !buffer.starts(with: [0xFE, 0xED, 0xFE, 0xED]) else { throw .javaKeyStore }
        if Self.looksLikeDER(buffer[..<start]) {
            let der = try Self.readRest(&file, after: buffer[..<start], limit)
            output(nil, PEMBlock(label: "", line: 0, index: 0), .success(()), der.span)
            return
        }
        var reader = PEMReader(limit: limit)
        var hasBlock = false
        let emit: PEMReader.Output = { block, result, der in
            hasBlock = true
            output(block.label, block, result, der)
        }
        var count = start
        while count > 0 {
            do throws(PEMError) {
                try reader.feed(buffer.span.extracting(first: count), emit)
            } catch {
                throw .format(error)
            }
            // The reader limits how much consecutive text there can be.
            if hasBlock { head = nil } else { head? += buffer[..<count] }
            count = try Self.read(&file, into: &buffer)
        }
        do throws(PEMError) { try reader.finish(emit) } catch { throw .format(error) }
    }

    private static func read(_ file: inout InputFile, into buffer: inout [UInt8]) throws(Failure) -> Int {
        do throws(InputFileError) { return try file.read(into: &buffer) } catch { throw .file(error) }
    }

    private static func readRest(
        _ file: inout InputFile, after head: ArraySlice<UInt8>, _ limit: Int
    ) throws(Failure) -> [UInt8] {
        do throws(InputFileError) {
            return Array(head) + (try file.contents(limit: limit))
        } catch {
            throw .file(error)
        }
    }

    /// Whether the bytes begin like DER: a SEQUENCE with a long length, or with a short length and a tag after it. A
    /// text that begins with the digit 0 isn't one.
    private static func looksLikeDER(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes[0] == DERTag.sequence else { return false }
        guard bytes.count >= 3 else { return true }
        return bytes[1] >= 0x80 || bytes[2] < 0x20 || bytes[2] == DERTag.sequence
    }
}

extension KeyFile.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let error): error.description
        case .format(let error): error.description
        case .javaKeyStore:
            "is a Java key store: convert it with keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 "
                + "-deststoretype PKCS12"
        case .empty: "is empty: provide a certificate, a certificate request or a key"
        }
    }
}
