import OpenSSLBridge

/// A file of keys and certificates: DER of one object, or PEM of any number.
package enum KeyFile {
    /// One object of a file: its place from 0, its line in PEM (nil in DER), and what it holds or why not.
    package struct Item: Sendable {
        package let index: Int
        package let line: Int?
        package let content: Result<KeyMaterial, KeyMaterialError>
    }

    /// Why a file ended the reading. What came before has been handed out.
    package enum Failure: Error, Hashable, Sendable {
        case file(InputFileError)
        case format(PEMError)
        /// Nothing in the file.
        case empty
        /// A key store of Java's old format.
        case javaKeyStore
    }

    /// What is read of a file whose keys a password opens, which is held whole.
    package static let protectedLimit = 8 << 20

    /// Reads a file to its end and hands out each object as it comes: in constant memory, unless there is a password.
    /// Blocks that hold parameters are passed over.
    ///
    /// A text without PEM of at most 1 MiB is handed to `text`, which says whether it made something of it.
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
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED]) else { throw .javaKeyStore }
        var items = ItemNumbers()
        do throws(PEMError) {
            let limit = PEMReader.objectLimit
            guard !looksLikeDER(bytes[...]) else {
                guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
                let block = PEMBlock(label: "", line: 0, index: 0)
                return items.add(nil, block, .success(()), bytes.span, password, each)
            }
            var reader = PEMReader(limit: limit)
            defer { reader.wipe() }
            let emit: PEMReader.Output = { block, result, der in
                items.add(block.label, block, result, der, password, in: bytes, each)
            }
            try reader.feed(bytes.span, emit)
            try reader.finish(emit)
        } catch {
            guard error == .noBlock, bytes.count <= PEMReader.textLimit, text(bytes) else { throw .format(error) }
        }
    }

    /// Numbers the objects of a file, of which one block may hold several.
    private struct ItemNumbers {
        /// By how much objects are ahead of blocks.
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

    /// The pins of a file's certificates and keys alone, for those who read many; broken objects are nil.
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

    /// Finds the objects of a file, of at most `limit` bytes each: PEM blocks with their label, or one DER object
    /// without.
    static func readObjects(
        _ file: consuming InputFile, limit: Int = PEMReader.objectLimit,
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        var head: [UInt8]?
        try readObjects(file, limit: limit, head: &head, output)
    }

    /// The same; `head`, unless it is nil, takes what stands before the first block, and is nil from there on.
    private static func readObjects(
        _ file: consuming InputFile, limit: Int = PEMReader.objectLimit, head: inout [UInt8]?,
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        // Larger ones read no faster, and every page of it costs a program that reads one certificate.
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var start = try Self.read(&file, into: &buffer)
        guard start > 0 else { throw .empty }
        // The first bytes tell DER from text; a pipe may bring them one at a time.
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
            // A text in a row is bounded by its reader.
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

    /// A SEQUENCE with a long length, or with a short one and a tag behind it. A text that begins with 0 is none.
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
        case .empty: "is empty: give a certificate, a certificate request or a key"
        }
    }
}
