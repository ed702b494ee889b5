import CertificatePinning
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("YAML")
struct YAMLReaderTests {
    /// Returns the text's values as one line of JSON, in which every text is a string, or the first problem.
    static func reading(_ text: String) -> String {
        do throws(PolicyFileError) {
            return json(try YAMLReader.read(Array(text.utf8), path: "f")).text
        } catch {
            return error.problems.first.map { "\($0.location): \($0.message)" } ?? "?"
        }
    }

    static func json(_ node: YAMLNode) -> JSON {
        switch node.kind {
        case .null: .string("")
        case .scalar(let text, _): .string(text)
        case .block: .string("(block)")
        case .sequence(let elements): .array(elements.map(json))
        case .mapping(let members): .object(members.map { ($0.key, json($0.value)) })
        }
    }

    /// Texts that are read, each with its values.
    static let accepted: [(String, String)] = [
        ("a: 1\nb:\n  c: x y # no\n  d: 'it''s'\n", #"{"a":"1","b":{"c":"x y","d":"it's"}}"#),
        ("---\n# first\n\na: b\n", #"{"a":"b"}"#),
        ("- a\n-  b: 1\n   c: 2\n-\n  - d\n- - e\n  - f\n-\n", #"["a",{"b":"1","c":"2"},["d"],["e","f"],""]"#),
        ("a:\n- 1\n- 2\nb:\n  - 3\n", #"{"a":["1","2"],"b":["3"]}"#),
        ("a:\nb:   \nc: # none\nd: x\n", #"{"a":"","b":"","c":"","d":"x"}"#),
        ("a: [1, 'two', \"th\\u0072ee\", {b: c, 'd':e}, []]\n", #"{"a":["1","two","three",{"b":"c","d":"e"},[]]}"#),
        ("{\"a\":[1,2,\n  {\"b\" : null}\n], \"c\": {} }\n", #"{"a":["1","2",{"b":"null"}],"c":{}}"#),
        ("a: |\n  one: 1\n\n   two\nb: >-\n  x\nc: 1\n", #"{"a":"(block)","b":"(block)","c":"1"}"#),
        ("a: http://x/#y\nb: -1\nc: a:b\nd: x#y\n", #"{"a":"http://x/#y","b":"-1","c":"a:b","d":"x#y"}"#),
        ("\"@type\": type.googleapis.com/x.Y\n\"a b\" : c\n", #"{"@type":"type.googleapis.com/x.Y","a b":"c"}"#),
        ("a: \"\\\"\\\\\\/\\n\\t\\x41\\uD83D\\uDE00\"\n", "{\"a\":\"\\\"\\\\/\\u000a\\u0009A\\ud83d\\ude00\"}"),
        ("a:\r\n  - b\r\n  - c: d\r\n", #"{"a":["b",{"c":"d"}]}"#),
        ("[a, b,]", #"["a","b"]"#), ("just text", #""just text""#), ("\u{FEFF}a: ü\n", "{\"a\":\"\\u00fc\"}"),
    ]

    @Test("The part of YAML that configurations use is read", arguments: accepted)
    func isRead(_ text: String, _ expected: String) { #expect(Self.reading(text) == expected) }

    @Test("P005: a key that appears twice is reported under its rule", arguments: ["a: 1\na: 2\n", "{a: 1, a: 2}"])
    func twice(text: String) {
        #expect {
            _ = try YAMLReader.read(Array(text.utf8), path: "f")
        } throws: { error in
            (error as? PolicyFileError)?.problems.map(\.rule) == [.duplicate]
        }
    }

    @Test(
        "XI6: Everything else is refused at its line and column",
        arguments: [
            ("a: 1\nb: *x\n", "f:2:4: the alias \"x\" has no anchor above it"),
            ("a: &x [1, *x]\n", "f:1:11: the alias \"x\" has no anchor above it"),
            ("a: &x\n  b: *x\n", "f:2:6: the alias \"x\" has no anchor above it"),
            ("a: &x 1\nb: &x 2\n", "f:2:4: the anchor \"x\" appears twice"),
            ("a: &x#y\n", "f:1:6: unexpected \"#\" in the name"), ("a: &x 1\nb: *x:\n", "f:2:6: unexpected \":\" in"),
            ("a: & 1\n", "f:1:4: an anchor needs a name"), ("[&]", "f:1:2: an anchor needs a name"),
            ("a: &x 1\nb: &y *x\n", "f:2:7: an anchor of an alias"),
            ("- &x a: 1\n", "f:1:2: an anchor before a key"), ("&x a: 1\n", "f:1:1: anchors (&) aren't supported"),
            ("a: !!str 1\n", "f:1:4: tags (!) aren't supported"),
            ("a:\n  <<: {b: c}\n", "f:2:3: merge keys (<<) aren't supported"),
            ("{<<: {b: c}}", "f:1:2: merge keys (<<) aren't supported"),
            ("%YAML 1.2\n---\na: 1\n", "f:1:1: directives (%) aren't supported"),
            ("a: 1\n---\nb: 2\n", "f:2:1: several documents"), ("a: 1\n...\n", "f:2:1: several documents"),
            ("? a\n: b\n", "f:1:1: complex keys (?) aren't supported"),
            ("a: one\n  two\n", "f:2:3: unexpected indentation"),
            ("a: \"one\n  two\"\n", "f:1:4: the quote isn't closed"),
            ("a: 1\na: 2\n", "f:2:1: the key \"a\" appears twice"),
            ("{a: 1, a: 2}", "f:1:8: the key \"a\" appears twice"),
            ("a:\n\tb: 1\n", "f:2:1: YAML is indented with spaces only"),
            ("a: b: c\n", "f:1:4: a second key on one line"),
            ("a: - b\n", "f:1:4: a list can't begin on the line of its key"),
            ("a: 1\n b: 2\n", "f:2:2: unexpected indentation"), ("  a: 1\nb: 2\n", "f:2:1: this line isn't indented"),
            ("a:\n    b: 1\n  c: 2\n", "f:3:3: unexpected indentation"),
            ("a: 1\nb\n", "f:2:1: expected a key and a colon"), ("a: 1\n- b\n", "f:2:1: unexpected list item"),
            ("- a\nb: 1\n", "f:2:1: this line isn't indented"), ("a: @b\n", "f:1:4: unexpected \"@\""),
            ("[a b: c]", "f:1:5: unexpected \":\""), ("{a}", "f:1:3: unexpected \"}\", expected a colon"),
            ("[a", "f:1:3: unexpected end of the text"), ("[a]]", "f:1:4: unexpected \"]\" after a value"),
            ("[a] b", "f:1:5: unexpected \"b\" after a value"), ("\"a\"b: c\n", "f:1:4: unexpected \"b\""),
            ("a: \"\\q\"\n", "f:1:5: unsupported escape"), ("a: \"\\uD83D\"\n", "f:1:5: unsupported escape"),
            ("a: |2\n   b\n", "f:1:5: unexpected \"2\""), ("", "f:1:1: the file is empty"),
            ("# a\n", "f:2:1: the file is empty"),
            ("a: b\tc\n", "f:1:5: a tab in a text"),
            ("[a?]", "f:1:3: a question mark in brackets"), ("a: |\n   b\n  c\n", "f:3:3: unexpected indentation"),
            ("a: \u{0}b\n", "f:1:4: control characters"),
            ("a: b\u{2028}c\n", "f:1:5: control characters"),
            ("a: ü\u{85}\n", "f:1:5: control characters"),
            (String(repeating: "[", count: 65), "f:1:65: the text is nested more than 64 levels deep"),
            (String(repeating: "- ", count: 65) + "a", "f:1:129: the text is nested more than 64 levels deep"),
        ])
    func refused(_ text: String, _ problem: String) {
        let found = Self.reading(text)
        #expect(found.hasPrefix(problem), "\(found)")
    }

    @Test(
        "Aliases stand for the values of their anchors, and merge keys for the members of mappings",
        arguments: [
            ("a: &x 1\nb: *x\n", "a: 1\nb: 1\n"),
            (
                "a: &x\n  - 1\n  - 2\nb: *x # again\nc: [*x, &y {k: v}, *y]\n",
                "{a: [1, 2], b: [1, 2], c: [[1, 2], {k: v}, {k: v}]}"
            ),
            ("a: &x # a list\n- 1\nb:\n- *x\n- &z \"2\"\n- *z\n", "{a: [1], b: [[1], \"2\", \"2\"]}"),
            ("a: &x |\n  t\nb: *x\n", "a: |\n  t\nb: |\n  t\n"),
            ("a: &x\nb: *x\n", "a:\nb:\n"), ("- &x {a: 1}\n- *x\n", "[{a: 1}, {a: 1}]"),
            ("a: &x\n  k: 1\n  l: 2\nb:\n  <<: *x\n  l: 3\n", "{a: {k: 1, l: 2}, b: {l: 3, k: 1}}"),
            ("a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc:\n  <<: [*x, *y]\n", "{a: {k: 1}, b: {k: 2, m: 3}, c: {k: 1, m: 3}}"),
            ("a: &x {k: 1}\nc: {<<: *x, n: 4}\n", "{a: {k: 1}, c: {n: 4, k: 1}}"),
            ("a: {\"<<\": 1}\n", "a: {\"<<\": 1}\n"),
        ])
    func references(_ text: String, _ plain: String) throws {
        func all(_ text: String) throws -> [String] {
            try YAMLReader.readAll(Array(text.utf8), path: "f").map { Self.json($0).text }
        }
        #expect(try all(text) == all(plain))
        // Merge keys are for those who know them.
        let found = Self.reading(text)
        #expect(text.contains("<<:") ? found.contains("merge keys (<<)") : found == Self.reading(plain), "\(found)")
        // Nothing is known if references aren't.
        if text.contains("&") {
            #expect(throws: PolicyFileError.self) { try YAMLReader.read(Array(text.utf8), path: "f", .none) }
        }
    }

    @Test("XI6: Aliases that multiply are refused in time, and so are merges of what isn't a mapping")
    func multiplied() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = [String](repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(Self.reading(text).contains("has more than 262144 values"))
        for text in ["a: &x 1\nb:\n  <<: *x\n", "a: &x [1]\nb: {<<: *x}\n"] {
            #expect {
                _ = try YAMLReader.readAll(Array(text.utf8), path: "f")
            } throws: { "\($0)".contains("a merge key (<<) takes mappings") }
        }
    }

    @Test("XI6: Texts that aren't UTF-8, and more values than the limit, are refused")
    func limits() {
        #expect(throws: PolicyFileError.self) { try YAMLReader.read([0x61, 0x3A, 0x20, 0xFF], path: "f") }
        let count = YAMLReader.maximumNodes
        #expect(Self.reading("[" + String(repeating: "a,", count: count - 1) + "]").hasPrefix("[\"a\""))
        #expect(Self.reading("[" + String(repeating: "a,", count: count) + "]").contains("has more than 262144 values"))
    }

    @Test("A value's range is its own text, without comments and blanks around it")
    func ranges() throws {
        let text = "a: # x\n  b:   \"c\"  # y\n  d:\n  - e # z\n  - f\n\n# end\nh: [1 , 2 ] #\n"
        let root = try YAMLReader.read(Array(text.utf8), path: "f")
        func part(_ node: YAMLNode?) -> String {
            node.map { String(decoding: Array(text.utf8)[$0.range], as: UTF8.self) } ?? "none"
        }
        #expect(part(root["a"]?["b"]) == "\"c\"")
        #expect(part(root["a"]?["d"]) == "- e # z\n  - f")
        #expect(part(root["a"]) == "b:   \"c\"  # y\n  d:\n  - e # z\n  - f")
        #expect(part(root["h"]) == "[1 , 2 ]")
    }

    @Test(
        "Every text that this reader accepts, of many damaged ones, has the same values for PyYAML",
        .enabled(if: TestCommand.isPresent("python3", "-c", "import yaml"), "python3-yaml is not installed"))
    func pyYAML() throws {
        let seeds = Self.accepted.map(\.0) + [EnvoyTests.bootstrap, EnvoyTests.bootstrapJSON]
        var state: UInt64 = 0x5EED
        func number(below limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }
        var texts = Self.accepted.map(\.0) + [EnvoyTests.bootstrap, EnvoyTests.bootstrapJSON]
        let pieces = [
            " ", "  ", "\n", ":", ": ", "- ", "-", "#", " #", "\"", "'", "[", "]", "{", "}", ",", "|", ">", "a", "0",
            "\t",
            "&", "*", "!", "%", "?", "? ", "---", "\\", "\r", "~", "=",
        ]
        while texts.count < 6_000 {
            var text = Array(seeds[number(below: seeds.count)].unicodeScalars)
            for _ in 0...number(below: 3) {
                let place = number(below: text.count + 1)
                if number(below: 2) == 0, !text.isEmpty {
                    text.removeSubrange(min(place, text.count - 1)..<min(place + 1 + number(below: 3), text.count))
                } else {
                    text.insert(contentsOf: pieces[number(below: pieces.count)].unicodeScalars, at: place)
                }
            }
            var damaged = ""
            damaged.unicodeScalars.append(contentsOf: text)
            texts.append(damaged)
        }
        var accepted: [(text: String, value: String)] = []
        for text in texts {
            do throws(PolicyFileError) {
                let root = try YAMLReader.read(Array(text.utf8), path: "f")
                accepted.append((text, Self.json(root).text))
            } catch {}
        }
        #expect(accepted.count > 1_500, "\(accepted.count)")
        let script = """
            import json, sys, yaml
            # PyYAML doesn't combine surrogates.
            def text(value): return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            def value(node):
                if isinstance(node, yaml.ScalarNode): return "(block)" if node.style in ("|", ">") else text(node.value)
                if isinstance(node, yaml.SequenceNode): return [value(item) for item in node.value]
                return {text(key.value): value(item) for key, item in node.value}
            for source, expected in json.load(sys.stdin):
                try: found = value(yaml.compose(source.lstrip("\\ufeff")))
                except yaml.YAMLError as error: found = "error: " + str(error)
                # PyYAML refuses tabs that YAML allows between values.
                if "'\\\\t'" in str(found): continue
                if found != json.loads(expected): print(json.dumps([source, expected, found]))
            """
        let input = JSON.array(accepted.map { .array([.string($0.text), .string($0.value)]) }).text
        let result = try TestCommand.run(["python3", "-c", script], input: input)
        #expect(result.status == 0)
        #expect(String(decoding: result.output, as: UTF8.self).prefix(3_000) == "")
    }
}

@Suite("Several YAML documents")
struct YAMLDocumentTests {
    @Test("Documents keep their lines, and a marker within a line separates nothing")
    func lines() throws {
        let text = "---\na: 1\n--- # two\nb: '--- x'\n---\n# empty\n---\nc: |\n  ---\n  x\n---x: 2\n"
        let documents = try YAMLReader.readAll(Array(text.utf8), path: "f")
        #expect(documents.map { $0.members?.map(\.key) ?? [] } == [["a"], ["b"], ["c", "---x"]])
        #expect(documents.map(\.position.line) == [2, 4, 8])
    }

    @Test("Errors in a later document have its line")
    func errors() {
        let error = #expect(throws: PolicyFileError.self) {
            try YAMLReader.readAll(Array("a: 1\r\n---\r\n\r\nb: *x\r\n".utf8), path: "f")
        }
        #expect(error?.problems.first?.location.description == "f:4:4")
    }

    @Test("More than a thousand documents are refused")
    func many() {
        func read(_ count: Int) throws -> Int {
            try YAMLReader.readAll(Array(String(repeating: "---\na: 1\n", count: count).utf8), path: "f").count
        }
        #expect((try? read(1000)) == 1000)
        #expect((try? read(1001)) == nil)
    }
}
