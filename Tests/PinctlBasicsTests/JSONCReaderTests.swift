import PinctlBasics
import Testing

@Suite("JSON with comments")
struct JSONCReaderTests {
    private static func read(_ text: String, _ dialect: JSONCReader.Dialect = .jsonc) -> JSONCReader.Document {
        JSONCReader.read(Array(text.utf8), dialect: dialect)
    }

    /// Returns the text without whitespace and comments, for comparing values.
    private static func compact(_ value: JSONValue) -> String {
        switch value.kind {
        case .object(let members): "{" + members.map { "\($0.key):\(compact($0.value))" }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map(compact).joined(separator: ",") + "]"
        case .string(let string): "'\(string)'"
        case .number(let text): text
        case .bool(let bool): "\(bool)"
        case .null: "null"
        }
    }

    @Test(
        "Values are read as written in both dialects",
        arguments: [
            ("{}", "{}"), (" [ ] ", "[]"), ("null", "null"), ("true", "true"), ("false", "false"),
            ("[1,-0,0.5,1e3,1E+3,-12.50e-7]", "[1,-0,0.5,1e3,1E+3,-12.50e-7]"),
            (#"{"a":{"b":[1,{"c":null}]}}"#, "{a:{b:[1,{c:null}]}}"),
            (#""\"\\\/\b\f\n\r\t\u0041\u00e9""#, "'\"\\/\u{8}\u{C}\n\r\tAé'"),
            (#""\ud83d\ude00 \uD834\uDD1E""#, "'😀 𝄞'"), (#""\u0000""#, "'\0'"), ("\"é€😀\"", "'é€😀'"),
            (#""//" "#, "'//'"), (#""/* no comment */""#, "'/* no comment */'"),
        ])
    func values(text: String, expected: String) throws {
        for dialect in [JSONCReader.Dialect.json, .jsonc] {
            let document = Self.read(text, dialect)
            #expect(document.problems.isEmpty)
            #expect(document.root.map(Self.compact) == expected)
        }
    }

    @Test(
        "Comments and trailing commas are allowed in JSONC and rejected in JSON",
        arguments: [
            ("// a\n[1]", 1, 1), ("[1] // a", 1, 5), ("[1 /* a */]", 1, 4), ("/**/[]", 1, 1), ("[/* * // */1]", 1, 2),
            ("[1,]", 1, 3), ("{\"a\":1 , }", 1, 8), ("[1,\n // a\n ]", 2, 2),
        ] as [(String, Int32, Int32)])
    func dialects(text: String, line: Int32, column: Int32) {
        #expect(Self.read(text).root != nil)
        let strict = Self.read(text, .json)
        #expect(strict.root == nil)
        #expect(strict.problems.map(\.position) == [SourcePosition(line: line, column: column)])
    }

    @Test(
        "Invalid JSON is an error at its position",
        arguments: [
            ("", 1, 1), ("  \n ", 2, 2), ("// only a comment", 1, 18), ("nul", 1, 1), ("nulls", 1, 1), ("True", 1, 1),
            ("NaN", 1, 1), ("[Infinity]", 1, 2), ("'a'", 1, 1), ("{a:1}", 1, 2), ("{1:1}", 1, 2), ("{\"a\" 1}", 1, 6),
            ("{\"a\":}", 1, 6), ("{\"a\":1 \"b\":2}", 1, 7), ("{,}", 1, 2), ("[,]", 1, 2), ("[1,,]", 1, 4),
            ("[1 2]", 1, 3),
            ("[1}", 1, 3), ("[1", 1, 3), ("{\"a\":1", 1, 7), ("[] []", 1, 4), ("{}}", 1, 3), ("01", 1, 1), ("1.", 1, 1),
            (".5", 1, 1), ("+1", 1, 1), ("-", 1, 1), ("1e", 1, 1), ("0x10", 1, 1), ("1.2.3", 1, 1), ("[1_000]", 1, 2),
            ("\"a", 1, 1), ("\"a\nb\"", 1, 3), ("\"\t\"", 1, 2), (#""\x""#, 1, 2), (#""\u12G4""#, 1, 2),
            (#""\u+123""#, 1, 2), (#""\ud800""#, 1, 2), (#""\ud800\n""#, 1, 8), (#""\udc00""#, 1, 2),
            (#""a\ud800\ud800""#, 1, 3), (#""\u00"#, 1, 2), (#""\"#, 1, 2), ("/", 1, 1), ("/* a", 1, 1),
            ("[1] /* a *", 1, 5), ("# a\n[]", 1, 1), ("\u{FEFF}{}", 1, 1), ("[]\u{FEFF}", 1, 3), ("[]\0", 1, 3),
            ("\u{A0}[]", 1, 1), ("[\n1,\n\"é\" x]", 3, 5),
        ] as [(String, Int32, Int32)])
    func syntaxErrors(text: String, line: Int32, column: Int32) {
        let document = Self.read(text)
        #expect(document.root == nil)
        #expect(document.problems.map(\.position) == [SourcePosition(line: line, column: column)])
    }

    @Test(
        "A missing comma is reported after the value before it",
        arguments: [
            ("{\"a\": 1\n  \"b\": 2}", 1, 8), ("[\"a\" // a comment\n \"b\"]", 1, 5), ("[{}\n{}]", 1, 4),
            ("[[1] [2]]", 1, 5), ("[1 -2]", 1, 3), ("[true /* no */ null]", 1, 6), ("{\"a\": {\n}\n\n\"b\": 2}", 2, 2),
            ("[\"é\" 1]", 1, 5),
        ] as [(String, Int32, Int32)])
    func missingComma(text: String, line: Int32, column: Int32) {
        for dialect in [JSONCReader.Dialect.jsonc] + (text.contains("/") ? [] : [.json]) {
            let document = Self.read(text, dialect)
            #expect(document.problems.map(\.position) == [SourcePosition(line: line, column: column)])
            #expect(document.problems.first?.message == "missing comma: write \",\" after this value")
        }
    }

    @Test(
        "Anything else behind a value isn't a missing comma",
        arguments: ["[1 x]", "{\"a\": 1 2}", "{\"a\": 1 {}}", "[1 }", "{\"a\": 1]", "[1 :"])
    func noMissingComma(text: String) {
        #expect(Self.read(text).problems.first?.message.contains("missing comma") == false)
    }

    @Test(
        "Bytes that aren't UTF-8 are an error in strings and comments",
        arguments: [
            [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xED, 0xA0, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x28, 0xA1],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        for (head, tail) in [("\"", "\""), ("\"", ""), ("//", "\n1"), ("/*", "*/1")] {
            let document = JSONCReader.read(Array(head.utf8) + bytes + Array(tail.utf8), dialect: .jsonc)
            #expect(document.root == nil)
            let column = Int32(head.utf8.count + 1)
            #expect(document.problems.map(\.position) == [SourcePosition(line: 1, column: column)])
        }
    }

    @Test("Every duplicate key is reported, and reading continues")
    func duplicateKeys() {
        let document = Self.read(#"{"a":1,"b":{"c":1,"c":2},"a":2,"\u0061":3}"#)
        #expect(
            document.problems.map(\.position) == [
                SourcePosition(line: 1, column: 19), SourcePosition(line: 1, column: 26),
                SourcePosition(line: 1, column: 32),
            ])
        #expect(document.problems.last?.message == "duplicate key \"a\", first at 1:2: keep one")
        #expect(document.root?["a"]?.integer == 1)
    }

    @Test("Reading stops after a thousand duplicate keys", arguments: [1000, 1001])
    func manyDuplicates(count: Int) {
        let members = [String](repeating: "\"a\":0", count: count + 1).joined(separator: ",")
        let document = Self.read("{\(members)}")
        #expect(document.problems.count == count)
        #expect((document.root == nil) == (count > 1000))
    }

    @Test(
        "PE13: Characters that let an editor show text on another line or in another order are an error",
        arguments: [
            "\u{85}", "\u{2028}", "\u{2029}", "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}",
            "\u{2067}", "\u{2068}", "\u{2069}",
        ])
    func deceptive(character: String) {
        for text in ["// \(character)\n1", "/* \(character) */ 1", "\"12\(character)\""] {
            let document = Self.read(text)
            #expect(document.root == nil)
            #expect(document.problems.map(\.position) == [SourcePosition(line: 1, column: 4)])
        }
        let code = character.unicodeScalars.map { String($0.value, radix: 16) }.joined()
        let escape = "\\u" + String(repeating: "0", count: 4 - code.count) + code
        #expect(Self.read("\"\(escape)\"").root.map(Self.compact) == "'\(character)'")
    }

    @Test(
        "Characters beside the deceptive ones are read, in comments and strings",
        arguments: [
            "\u{84}", "\u{86}", "\u{2027}", "\u{202F}", "\u{2065}", "\u{206A}", "\u{200E}", "\u{3028}", "\u{10085}",
            "\u{1FFA8}",
        ])
    func harmless(character: String) {
        #expect(Self.read("// \(character)\n\"\(character)\"").root.map(Self.compact) == "'\(character)'")
    }

    @Test(
        "PE13: A carriage return doesn't end a comment, because editors show what follows on its line",
        arguments: [("// a\r[1]", 5), ("[/* a\r*/1]", 6), ("// a\r\r\n[1]", 5)] as [(String, Int32)])
    func carriageReturn(text: String, column: Int32) {
        let document = Self.read(text)
        #expect(document.root == nil)
        #expect(document.problems.map(\.position) == [SourcePosition(line: 1, column: column)])
    }

    @Test("Outside comments a carriage return alone ends a line")
    func oldLineEnds() throws {
        let root = try #require(Self.read("[\r1,\r\r2]").root)
        #expect(
            root.elements?.map(\.position) == [
                SourcePosition(line: 2, column: 1), SourcePosition(line: 4, column: 1),
            ])
    }

    @Test("Lines end with LF or CR LF, and columns count characters", arguments: ["\n", "\r\n"])
    func positions(newline: String) throws {
        let text = ["// é", "{ /* 😀", "é */ \"é\": [1,", "\t\"x\" ]", "}"].joined(separator: newline)
        let root = try #require(Self.read(text).root)
        let member = try #require(root.members?.first)
        #expect(root.position == SourcePosition(line: 2, column: 1))
        #expect(member.keyPosition == SourcePosition(line: 3, column: 6))
        #expect(member.value.position == SourcePosition(line: 3, column: 11))
        #expect(
            member.value.elements?.map(\.position) == [
                SourcePosition(line: 3, column: 12), SourcePosition(line: 4, column: 2),
            ])
    }

    @Test("A depth of 32 levels is read, and 33 levels are rejected")
    func depth() {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        #expect(Self.read(nested(32)).root != nil)
        #expect(Self.read(nested(33)).problems.map(\.position) == [SourcePosition(line: 1, column: 33)])
        #expect(Self.read(String(repeating: "[", count: 1 << 20)).problems.count == 1)
        #expect(Self.read(String(repeating: "{\"a\":", count: 1 << 18)).problems.count == 1)
    }

    @Test("A file of 8 MiB is read, and one more byte is rejected")
    func size() {
        let limit = JSONCReader.maximumSize
        #expect(Self.read("[]" + String(repeating: " ", count: limit - 2)).root != nil)
        #expect(Self.read("[]" + String(repeating: " ", count: limit - 1)).root == nil)
    }

    @Test("No prefix and no changed byte of a file causes a trap")
    func mutations() {
        let text =
            "{ // é\n \"a\\u00e9\\ud83d\\ude00\": [1.5e-3, -0, true, null, \"😀\"], /* x */ \"b\": {\"c\": false,}, }"
        let bytes = Array(text.utf8)
        #expect(JSONCReader.read(bytes, dialect: .jsonc).problems.isEmpty)
        for end in 0..<bytes.count {
            let document = JSONCReader.read(Array(bytes[..<end]), dialect: .jsonc)
            #expect(document.root == nil)
        }
        for index in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = bytes
                changed[index] = byte
                let document = JSONCReader.read(changed, dialect: .jsonc)
                #expect(document.root != nil || document.problems.count == 1)
            }
        }
    }
}
