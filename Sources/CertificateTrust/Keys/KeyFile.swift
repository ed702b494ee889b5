import OpenSSLBridge
package import PinctlBasics

/// A reader for files of keys and certificates, which are DER with one object, or PEM with any number of them.
package enum KeyFile {
    /// One object of a file: its index from 0, its line in PEM (`nil` in DER), and its content or an error.
    package struct Item: Sendable {
        package let index: Int
        package let line: Int?
        package let content: Result<KeyMaterial, KeyMaterialError>
        /// Whether it is a private key, readable or not.
        package let isPrivateKey: Bool
        /// Whether the order of the file counts. It does in PEM, of which servers present the first certificate as
        /// their own, but not in PKCS #7, whose certificates are a set.
        package let isOrdered: Bool
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
        try readObjects(file, text: text) { label, block, result, der in
            items.add(label, block, result, der, password, each)
        }
    }

    /// Reads bytes as ``read(_:password:text:each:)`` reads a file.
    package static func read(
        _ bytes: [UInt8], password: KeyPassword = KeyPassword(), text: ([UInt8]) -> Bool = { _ in false },
        each: (Item) -> Void
    ) throws(Failure) {
        if var converted = UTF16Text.utf8(bytes) {
            defer { wipe(&converted) }
            return try read(converted, password: password, text: text, each: each)
        }
        var items = ItemNumbers()
        try readObjects(bytes, text: text) { label, block, result, der in
            items.add(label, block, result, der, password, in: bytes, each)
        }
    }

    /// Finds the objects of bytes as ``readObjects(_:limit:text:_:)`` finds those of a file.
    static func readObjects(
        _ bytes: [UInt8], text: ([UInt8]) -> Bool = { _ in false },
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.starts(with: [0xFE, 0xED, 0xFE, 0xED]) else { throw .javaKeyStore }
        let limit = PEMReader.objectLimit
        guard !looksLikeDER(bytes[...]) else {
            guard bytes.count <= limit else { throw .format(.tooLarge(limit: limit)) }
            return output(nil, PEMBlock(label: "", line: 0, index: 0), .success(()), bytes.span)
        }
        if var converted = UTF16Text.utf8(bytes) {
            defer { wipe(&converted) }
            return try readObjects(converted, text: text, output)
        }
        var reader = PEMReader(limit: limit)
        defer { reader.wipe() }
        let emit: PEMReader.Output = { block, result, der in output(block.label, block, result, der) }
        do throws(PEMError) {
            try reader.feed(bytes.span, emit)
        } catch {
            throw .format(error)
        }
        do throws(PEMError) {
            try reader.finish(emit)
        } catch {
            guard error == .noBlock, take(bytes, text, output) else { throw .format(error) }
        }
    }

    /// Passes the objects of a whole text without PEM to `output` if it is bare Base64, or else the text to `text`.
    /// Returns false if it couldn't be used.
    private static func take(
        _ whole: [UInt8], _ text: ([UInt8]) -> Bool,
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) -> Bool {
        guard var objects = BareBase64.objects(in: whole) else { return text(whole) }
        // Taken out of the array, because a copy would be wiped in place of an element.
        objects.reverse()
        var index = 0
        while var der = objects.popLast() {
            output(nil, PEMBlock(label: "", line: 0, index: index), .success(()), der.span)
            // mutant wiped-base64: () by WipedKeyTests/bareBase64
            wipe(&der)
            index += 1
        }
        return true
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
            let isOrdered = label?.hasSuffix("CERTIFICATE") == true && !KeyContainer.isMessage(der)
            func emit(_ content: Result<KeyMaterial, KeyMaterialError>) {
                let isPrivateKey =
                    switch content {
                    case .success(let material): material.kind == .privateKey
                    case .failure(let error): error == .encrypted || label?.hasSuffix("PRIVATE KEY") == true
                    }
                each(
                    Item(
                        index: block.index + offset + count, line: line, content: content, isPrivateKey: isPrivateKey,
                        isOrdered: isOrdered))
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

    /// Finds the objects of a file, of up to `limit` bytes each: PEM blocks with their label, or DER objects without a
    /// label. Text in UTF-16 is converted. `text` receives the whole of a text without PEM, unless it is too long.
    static func readObjects(
        _ file: consuming InputFile, limit: Int = PEMReader.objectLimit, text: ([UInt8]) -> Bool = { _ in false },
        _ output: (_ label: String?, PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void
    ) throws(Failure) {
        // Larger buffers read no faster, and each page of one is a cost to a program that reads a single certificate.
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var start = try Self.read(&file, into: &buffer)
        guard start > 0 else { throw .empty }
        // The first bytes distinguish DER from text. A pipe may deliver them one at a time.
        while start < UTF16Text.headCount {
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
        var converter = UTF16Text(recognizing: buffer[..<start])
        var reader = PEMReader(limit: limit)
        // The text before the first block. The reader limits its length.
        var head: [UInt8]? = []
        let emit: PEMReader.Output = { block, result, der in
            head = nil
            output(block.label, block, result, der)
        }
        var count = start
        while count > 0 {
            let converted = converter?.utf8(buffer[..<count])
            do throws(PEMError) {
                if let converted {
                    try reader.feed(converted.span, emit)
                } else {
                    try reader.feed(buffer.span.extracting(first: count), emit)
                }
            } catch {
                throw .format(error)
            }
            head? += converted?[...] ?? buffer[..<count]
            count = try Self.read(&file, into: &buffer)
        }
        do throws(PEMError) {
            try reader.finish(emit)
        } catch {
            guard error == .noBlock, let head, take(head, text, output) else { throw .format(error) }
        }
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
