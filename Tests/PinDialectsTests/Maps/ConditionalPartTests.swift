import CertificatePinning
import Testing

@testable import PinDialects

@Suite("Parts of a program that only some builds have")
struct ConditionalPartTests {
    private static let first = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let second = "sha256/CAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func notes(_ text: String, _ dialect: PinDialect = .map) throws -> [String] {
        let source = text.replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
            .replacing("KEY1", with: Self.first.dropFirst(7)).replacing("KEY2", with: Self.second.dropFirst(7))
        return try dialect.read(Array(source.utf8), path: "Pins.swift").notes
            .filter { $0.change == .combinationChanged && $0.direction == .either }
            .map { "\($0.location?.line ?? 0): \($0.message.prefix { $0 != ":" })" }
    }

    private static func only(_ line: Int, _ directive: String) -> String {
        "\(line): these pins are only in some builds (\(directive)), but are read as if every build had them"
    }

    @Test("Pins between #if and #endif are noted, once for each part")
    func noted() throws {
        let whole =
            "#if DEBUG\nlet pins = [\"a.test\": [\"PIN1\"]]\n#else\nlet pins = [\"b.test\": [\"PIN2\"]]\n#endif\n"
        #expect(try notes(whole) == [Self.only(1, "#if DEBUG")])
        #expect(
            try notes(
                "let pins = [\"a.test\": [\n\"PIN1\",\n #if  os(iOS)\n #if DEBUG\n\"PIN2\",\n #endif\n #endif\n]]"
            )
                == [Self.only(3, "#if os(iOS)")])
        #expect(
            try notes("let pins = [\n#if !DEBUG\n\"a.test\": [\"PIN1\", \"PIN2\"],\n#endif\n\"b.test\": [\"PIN2\"]]")
                == [Self.only(2, "#if !DEBUG")])
        let kit = """
            let c = [kTSKPinnedDomains: [
            #ifdef DEBUG
            "a.example.com": [kTSKPublicKeyHashes: ["KEY1", "KEY2"]],
            #endif
            "b.example.com": [kTSKPublicKeyHashes: ["KEY1", "KEY2"]]]]
            """
        #expect(try notes(kit, .trustkit) == [Self.only(2, "#ifdef DEBUG")])
        let policy = "#if DEBUG\nlet policy = try PinningPolicy([PinningRule(\"a.test\", pins: [\"PIN1\"])])\n#endif\n"
        if let found = try? notes(policy, .swift) { #expect(found == [Self.only(1, "#if DEBUG")]) }
    }

    @Test("Other parts, and the header of a file that is included once, aren't noted")
    func others() throws {
        let pins = "let pins = [\"a.test\": [\"PIN1\"]]\n"
        #expect(try notes("#if DEBUG\nimport Debug\n#endif\n" + pins) == [])
        #expect(try notes("#ifndef PINS_H\n#define PINS_H\n" + pins + "#endif\n") == [])
        #expect(try notes(pins + "#if DEBUG\n") == [])
    }
}
