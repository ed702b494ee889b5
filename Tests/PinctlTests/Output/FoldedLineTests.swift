import Foundation
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Folding to the terminal's width")
struct FoldedLineTests {
    private static let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    static let rows: [(line: String, columns: Int, pieces: [String])] = [
        ("short", 40, ["short"]), ("", 40, [""]),
        (
            String(repeating: "ab ", count: 20) + "end", 40,
            [String(repeating: "ab ", count: 12) + "ab", "  " + String(repeating: "ab ", count: 7) + "end"]
        ),
        // Exactly as wide.
        (String(repeating: "a", count: 40), 40, [String(repeating: "a", count: 40)]),
        (String(repeating: "a", count: 40) + " b", 40, [String(repeating: "a", count: 40), "  b"]),
        ("  leaf  " + pin + "  EC", 60, ["  leaf  " + pin, "    EC"]),
        // Wide characters take two columns, and combining marks none.
        (
            String(repeating: "日本 ", count: 9) + "end", 40,
            [String(repeating: "日本 ", count: 7) + "日本", "  日本 end"]
        ),
        (String(repeating: "e\u{301} ", count: 20), 40, [String(repeating: "e\u{301} ", count: 20)]),
        // A word that is wider than the terminal stays whole.
        ("  leaf  " + pin + "  EC", 50, ["  leaf", "    " + pin, "    EC"]),
        (pin, 40, [pin]), (pin + pin, 40, [pin + pin]),
        // No terminal is that narrow.
        (String(repeating: "ab ", count: 20), 20, [String(repeating: "ab ", count: 20)]),
    ]

    @Test("The screens of README are as on a terminal of 80 columns")
    func readme() throws {
        let text = try String(contentsOfFile: Repository.root + "/README.md", encoding: .utf8)
        let screens = text.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            .filter { $0.hasPrefix("\n$ ") }
        #expect(screens.count >= 4)
        for line in screens.flatMap({ $0.split(separator: "\n") }) {
            #expect(FoldedLine.fold(String(line), columns: 80) == [String(line)])
        }
    }

    @Test("Notes are folded if standard error is a terminal")
    func notes() async {
        let words = ["hash", String(repeating: "a ", count: 60)]
        let wide = await pinctl(words, terminal: Terminal(columns: 60))
        #expect(wide.errors.split(separator: "\n").count == 1)
        let narrow = await pinctl(words, terminal: Terminal(columns: 60, showsProgress: true))
        #expect(narrow.errors.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(narrow.errors)")
        #expect(narrow.errors.split(separator: "\n").count == 3)
    }

    @Test("A line is divided at spaces only", arguments: rows)
    func fold(line: String, columns: Int, pieces: [String]) {
        #expect(FoldedLine.fold(line, columns: columns) == pieces)
    }
}
