import CertificatePinning
import FoundationEssentials
import PinctlBasics
import PinctlCommands
import Testing

@Suite("JSON")
struct JSONTests {
    @Test("Strings survive a strict reader unchanged, and the JSON is printable ASCII")
    func roundTrip() throws {
        let texts = [
            "", "plain", "\"quoted\\\"", "\u{0}\u{1}\u{1B}[2J\u{7F}\u{9B}\r\n\t", "\u{202E}gnp.exe",
            "zero\u{200B}width", "😀 München",
            "\u{2028}\u{FEFF}", "</script>",
        ]
        let json = JSON.object(texts.map { ($0, .string($0)) }).text
        #expect(json.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        let decoded = try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
        #expect(decoded == Dictionary(uniqueKeysWithValues: texts.map { ($0, $0) }))
    }

    @Test("Members keep their order")
    func order() {
        let value: JSON = ["z": 1, "a": [true, false, .null, -5], "m": [:], "e": [], "s": "x"]
        #expect(value.text == #"{"z":1,"a":[true,false,null,-5],"m":{},"e":[],"s":"x"}"#)
    }
}
