import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("PEM")
struct PEMReaderTests {
    /// Returns the blocks that a text yields when it is read in chunks of this size: labels and lines of good blocks,
    /// errors of broken ones.
    private static func blocks(_ text: [UInt8], chunk: Int) throws(PEMError) -> [String] {
        var reader = PEMReader()
        var output: [String] = []
        let note: PEMReader.Output = { block, result, der in
            switch result {
            case .success: output.append("\(block.index) \(block.label):\(block.line) \(der.count)")
            case .failure(let error): output.append("\(block.index) \(error)")
            }
        }
        for start in stride(from: 0, to: text.count, by: chunk) {
            let part = Array(text[start..<min(start + chunk, text.count)])
            try reader.feed(part.span, note)
        }
        try reader.finish(note)
        return output
    }

    private static let body = "AAECAwQF\nBgcICQoL\n"
    private static func block(_ label: String, body: String = body) -> String {
        "-----BEGIN \(label)-----\n\(body)-----END \(label)-----\n"
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        var expected: [String]
        var testDescription: String { name }
    }

    private static let rows = [
        Row(name: "one block", text: block("A"), expected: ["0 A:1 12"]),
        Row(name: "a bundle", text: block("A") + block("B"), expected: ["0 A:1 12", "1 B:5 12"]),
        Row(
            name: "leading text, text between, text behind",
            text: "subject=CN = x\n" + block("A") + "\n 0 s:CN = y\n" + block("B") + "bye",
            expected: ["0 A:2 12", "1 B:8 12"]),
        Row(
            name: "carriage returns", text: block("A").replacing("\n", with: "\r\n"), expected: ["0 A:1 12"]),
        Row(name: "a byte order mark", text: "\u{FEFF}" + block("A"), expected: ["0 A:1 12"]),
        Row(name: "no line feed at the end", text: String(block("A").dropLast()), expected: ["0 A:1 12"]),
        Row(
            name: "blanks in and behind lines", text: block("A", body: "AAEC AwQF \n\t\nBg==\n"),
            expected: ["0 A:1 7"]),
        Row(name: "one long line", text: block("A", body: "AAECAwQFBgcICQoL\n"), expected: ["0 A:1 12"]),
        Row(name: "an empty block", text: block("A", body: ""), expected: ["0 A:1 0"]),
        Row(
            name: "a broken block between good ones", text: block("A") + block("B", body: "AA!C\n") + block("C"),
            expected: ["0 A:1 12", "1 \(PEMError.invalidBase64(line: 6))", "2 C:8 12"]),
        Row(
            name: "a block without its end", text: "-----BEGIN A-----\nAAEC\n" + block("B"),
            expected: ["0 \(PEMError.unterminated(label: "A"))", "1 B:3 12"]),
        Row(
            name: "a text that ends in a block", text: block("A") + "-----BEGIN B-----\nAAEC",
            expected: ["0 A:1 12", "1 \(PEMError.unterminated(label: "B"))"]),
        Row(
            name: "another label at the end", text: "-----BEGIN A-----\nAAEC\n-----END B-----\n",
            expected: ["0 \(PEMError.labelMismatch(begin: "A", end: "B"))"]),
        Row(
            name: "a damaged BEGIN line between good blocks",
            text: block("A") + block("B").replacing("-----BEGIN", with: "----BEGIN") + block("C"),
            expected: ["0 A:1 12", "1 \(PEMError.noBegin)", "2 C:9 12"]),
        Row(
            name: "no line end between blocks", text: block("A").dropLast() + block("B") + block("C"),
            expected: ["0 A:1 12", "1 \(PEMError.missingLineBreak(line: 4))", "2 C:8 12"]),
        Row(
            name: "a block on one line", text: block("A") + block("B").replacing("\n", with: "") + "\n" + block("C"),
            expected: ["0 A:1 12", "1 \(PEMError.missingLineBreak(line: 5))", "2 C:6 12"]),
        Row(
            name: "a BEGIN line with something behind it",
            text: block("A").replacing("N A-----", with: "N A----- \(String(repeating: "x", count: 200))"),
            expected: ["0 \(PEMError.missingLineBreak(line: 1))"]),
        Row(
            name: "END lines of every length",
            text: (1...20).map { block(String(repeating: "A", count: $0)) }.joined(),
            expected: (0..<20).map { "\($0) \(String(repeating: "A", count: $0 + 1)):\($0 * 4 + 1) 12" }),
        Row(
            name: "padding inside", text: block("A", body: "AA==AAEC\n"),
            expected: ["0 \(PEMError.invalidBase64(line: 2))"]),
        Row(
            name: "set bits behind the end", text: block("A", body: "AAF=\n"),
            expected: ["0 \(PEMError.invalidBase64(line: 3))"]),
        Row(
            name: "the fields of an encrypted key",
            text: block("RSA PRIVATE KEY", body: "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAEC\n"),
            expected: ["0 \(PEMError.encrypted)"]),
        Row(
            name: "dashes that are no boundary", text: "-----\n---- BEGIN A ----\n" + block("A"),
            expected: ["0 A:3 12"]),
    ]

    @Test("CB20: blocks are found whatever surrounds them, in chunks of any size", arguments: rows)
    func finds(_ row: Row) throws {
        let text = Array(row.text.utf8)
        for chunk in [text.count, 1, 2, 3, 7, 64] {
            #expect(try Self.blocks(text, chunk: chunk) == row.expected, "in chunks of \(chunk)")
        }
    }

    @Test("A text without a block, binary data and endless text are rejected with different errors")
    func refused() {
        #expect(throws: PEMError.noBlock) { try Self.blocks(Array("hello\n".utf8), chunk: 64) }
        #expect(throws: PEMError.binary(offset: 2)) { try Self.blocks([0x41, 0x42, 0, 0x43], chunk: 64) }
        let endless = [UInt8](repeating: UInt8(ascii: "x"), count: PEMReader.textLimit + 1)
        #expect(throws: PEMError.noBlock) { try Self.blocks(endless, chunk: 1 << 16) }
    }

    @Test("An object over the limit is rejected, and the next one is read")
    func tooLarge() throws {
        let large = String(repeating: "AAAA", count: PEMReader.objectLimit / 3 + 10)
        let text = Array((Self.block("A", body: large + "\n") + Self.block("B")).utf8)
        let expected = ["0 \(PEMError.tooLarge(limit: PEMReader.objectLimit))", "1 B:4 12"]
        for chunk in [1 << 12, text.count] { #expect(try Self.blocks(text, chunk: chunk) == expected) }
    }

    @Test("Every truncation and every changed byte of a PEM file is read without a trap")
    func hostile() throws {
        let text = Array((try TestCertificate.root("Root").pemText + Self.block("B")).utf8)
        for length in text.indices { _ = try? Self.blocks(Array(text[..<length]), chunk: 64) }
        for index in text.indices {
            for byte: UInt8 in [0x00, 0x0A, 0x2D, 0x3D, 0x41, 0xFF] {
                var changed = text
                changed[index] = byte
                _ = try? Self.blocks(changed, chunk: 1 << 16)
            }
        }
    }
}
