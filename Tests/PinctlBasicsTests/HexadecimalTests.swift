import PinctlBasics
import Testing

@Suite("Hexadecimal and Base64 text")
struct HexadecimalTests {
    @Test(
        "Bytes are two lower-case digits each, and both cases are decoded",
        arguments: [([], ""), ([0x00], "00"), ([0x0A, 0xBC, 0xFF], "0abcff")] as [([UInt8], String)])
    func bothWays(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.encode(bytes) == text)
        #expect(Hexadecimal.decode(text.utf8) == bytes)
        #expect(Hexadecimal.decode(text.uppercased().utf8) == bytes)
    }

    @Test(
        "Half a byte and foreign characters are rejected",
        arguments: ["0", "abc", "0g", "0x", "0 ", "\u{FF10}\u{FF11}", ":", "-1"])
    func rejects(text: String) {
        #expect(Hexadecimal.decode(text.utf8) == nil)
    }

    @Test(
        "Only the canonical Base64 of some bytes is decoded",
        arguments: ["", "QQ", "QQ=", "QR==", "QUI", "QUJ=", "QQ==\n", "QQ===", "====", "Q\u{0}==", "QUI=QUI="])
    func canonical(text: String) {
        #expect(Base64.decodeCanonical(Array(text.utf8)) == nil)
        #expect(Base64.decodeCanonical(Array("QUI=".utf8)) == [0x41, 0x42])
    }
}
