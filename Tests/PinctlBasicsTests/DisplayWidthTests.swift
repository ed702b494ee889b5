import PinctlBasics
import Testing

@Suite("The width of text on a terminal")
struct DisplayWidthTests {
    static let rows: [(text: String, width: Int)] = [
        ("", 0), ("api.test", 8), ("bücher", 6), ("日本語", 6), ("서버", 4), ("Ａ", 2), ("ｱ", 1), ("example 例え", 12),
        // Combining marks: e with an acute accent, Hebrew points, a Thai vowel, Hangul in parts.
        ("e\u{301}", 1), ("\u{5D0}\u{5B7}", 1), ("\u{E01}\u{E34}", 1), ("\u{1112}\u{1161}\u{11AB}", 2),
        ("🔒", 2), ("⌚", 2), ("é", 1), ("\u{20000}", 2), ("’", 1), ("…", 1), ("（株）", 6),
    ]

    @Test("Wide characters take two columns, and combining marks none", arguments: rows)
    func width(text: String, width: Int) {
        #expect(text.width == width)
        #expect(text[...].width == width)
    }
}
