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
    }

    /// Reads a file to its end in constant memory and hands out each object as it comes. Blocks that hold parameters
    /// are passed over.
    package static func read(_ file: consuming InputFile, each: (Item) -> Void) throws(Failure) {
        try readObjects(file) { label, block, result, der in
            if let item = item(label, block, result, der) { each(item) }
        }
    }

    /// Reads bytes as ``read(_:each:)`` reads a file.
    package static func read(_ bytes: [UInt8], each: (Item) -> Void) throws(Failure) {
        guard !bytes.isEmpty else { throw .empty }
        do throws(PEMError) {
            let limit = PEMReader.objectLimit
            guard !looksLikeDER(bytes[...]) else {
                guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
                let block = PEMBlock(label: "", line: 0, index: 0)
                if let item = item(nil, block, .success(()), bytes.span) { each(item) }
                return
            }
            var reader = PEMReader(limit: limit)
            let emit: PEMReader.Output = { block, result, der in
                if let item = item(block.label, block, result, der) { each(item) }
            }
            try reader.feed(bytes.span, emit)
            try reader.finish(emit)
        } catch {
            throw .format(error)
        }
    }

    /// What an object holds; nil for parameters.
    private static func item(
        _ label: String?, _ block: PEMBlock, _ result: Result<Void, PEMError>, _ der: Span<UInt8>
    ) -> Item? {
        let content: Result<KeyMaterial, KeyMaterialError>
        do throws(KeyMaterialError) {
            if case .failure(let error) = result { throw .pem(error) }
            if let label {
                guard let material = try KeyMaterial(label: label, der: der) else { return nil }
                content = .success(material)
            } else {
                content = .success(try KeyMaterial(der: der))
            }
        } catch {
            content = .failure(error)
        }
        return Item(index: block.index, line: label == nil ? nil : block.line, content: content)
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
        if Self.looksLikeDER(buffer[..<start]) {
            let der = try Self.readRest(&file, after: buffer[..<start], limit)
            output(nil, PEMBlock(label: "", line: 0, index: 0), .success(()), der.span)
            return
        }
        var reader = PEMReader(limit: limit)
        let emit: PEMReader.Output = { block, result, der in output(block.label, block, result, der) }
        var count = start
        while count > 0 {
            do throws(PEMError) {
                try reader.feed(buffer.span.extracting(first: count), emit)
            } catch {
                throw .format(error)
            }
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
        case .empty: "is empty: give a certificate, a certificate request or a key"
        }
    }
}
