import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

/// Tests of the files in pins/ against the policy reader.
@Suite("The policy schema, the example and the public roots")
struct PolicySchemaTests {
    private static func file(_ name: String) throws -> JSONValue {
        let bytes = try #require(FileManager.default.contents(atPath: "pins/" + name))
        let document = JSONCReader.read(Array(bytes), dialect: .init(ofFile: name))
        #expect(document.problems.isEmpty)
        return try #require(document.root)
    }

    @Test("The JSON schema matches the reader's own table, key by key")
    func sameKeys() throws {
        let root = try Self.file("policy.schema.json")
        #expect(root["$schema"]?.string == "http://json-schema.org/draft-07/schema#")
        var compared = 0
        func compare(_ shape: PolicyShape, _ node: JSONValue, _ path: String) throws {
            var node = node
            if let reference = node["$ref"]?.string {
                let name = try #require(reference.split(separator: "/").last.map(String.init))
                node = try #require(root["definitions"]?[name], "\(reference)")
            }
            compared += 1
            let type = node["type"]?.string
            switch shape {
            case .string: #expect(type == "string" && node["enum"] == nil, "\(path)")
            case .boolean: #expect(type == "boolean", "\(path)")
            case .number(let range):
                #expect(type == "integer", "\(path)")
                #expect(node["minimum"]?.integer == range.lowerBound && node["maximum"]?.integer == range.upperBound)
            case .choice(let choices):
                #expect(type == "string", "\(path)")
                #expect(node["enum"]?.elements?.compactMap(\.string) == choices, "\(path)")
            case .array(let element, let minimum):
                #expect(type == "array", "\(path)")
                #expect(node["minItems"]?.integer ?? 0 == minimum, "\(path)")
                try compare(element, try #require(node["items"], "\(path)"), path + "[]")
            case .map(let element):
                #expect(type == "object", "\(path)")
                try compare(element, try #require(node["additionalProperties"], "\(path)"), path + ".*")
            case .either(let first, let second):
                let choices = try #require(node["oneOf"]?.elements, "\(path)")
                #expect(choices.count == 2)
                for (shape, choice) in zip([first, second], choices) { try compare(shape, choice, path) }
            case .object(let keys):
                #expect(type == "object" && node["additionalProperties"]?.bool == false, "\(path)")
                #expect(node["patternProperties"]?.members?.map(\.key) == ["^x-"], "\(path)")
                let properties = try #require(node["properties"]?.members, "\(path)")
                #expect(Set(properties.map(\.key)) == Set(keys.map(\.name)), "\(path)")
                let required = node["required"]?.elements?.compactMap(\.string) ?? []
                #expect(Set(required) == Set(keys.filter(\.isRequired).map(\.name)), "\(path)")
                for key in keys {
                    guard let property = node["properties"]?[key.name] else { continue }
                    try compare(key.shape, property, "\(path).\(key.name)")
                }
            }
        }
        try compare(PolicySchema.file, root, "")
        #expect(compared > 60)
    }

    @Test("The example is a valid policy that uses every key of the schema")
    func example() throws {
        let text = String(
            decoding: try #require(FileManager.default.contents(atPath: "pins/example.jsonc")), as: UTF8.self)
        func keys(_ value: JSONValue) -> [String] {
            (value["properties"]?.members ?? []).map(\.key) + (value.members ?? []).flatMap { keys($0.value) }
                + (value.elements ?? []).flatMap(keys)
        }
        let all = Set(keys(try Self.file("policy.schema.json")))
        #expect(all.count > 30)
        for key in all { #expect(text.contains("\"\(key)\""), "\(key)") }
        let policy = try PinningPolicy(contentsOfFile: "pins/example.jsonc")
        #expect(policy.rules.count == 3)
        #expect(policy.rules[0].pins.map(\.name) == ["api-2026", "api-backup", "isrg-root-x1", "isrg-root-x2"])
        #expect(policy.rules[0].expiry?.action == .fail)
        #expect(policy.deny.count == 1)
    }

    @Test("The public roots have the pins of this machine's CA certificates with the same names")
    func publicRoots() throws {
        let pins = try #require(try Self.file("public-roots.jsonc")["pins"])
        #expect(pins["isrg-root-x1"]?["pin"]?.string == PolicyFileTests.pinA)
        #expect(pins["isrg-root-x2"]?["pin"]?.string == PolicyFileTests.pinB)
        let directory = "/usr/share/ca-certificates/mozilla"
        var known = 0
        for file in try FileManager.default.contentsOfDirectory(atPath: directory) {
            let words = file.dropLast(".crt".count).utf8.split { !Self.isWordByte($0) }
            let name = words.map { String(decoding: $0, as: UTF8.self).lowercased() }.joined(separator: "-")
            // Another version of the ca-certificates package has other roots.
            guard let pin = pins[name]?["pin"]?.string else { continue }
            let certificates = try CertificateFile.read(directory + "/" + file)
            #expect(certificates.map { $0.spkiFingerprint.description } == [pin], "\(name)")
            known += 1
        }
        #expect(known >= 100)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) && byte < 0x80
    }

    private static let hasValidator = (try? TestCommand.run(["python3", "-c", "import jsonschema"]).status) == 0

    @Test(
        "A JSON Schema validator accepts valid policies and rejects the invalid ones that a schema can detect",
        .enabled(if: hasValidator, "python3-jsonschema is not installed: no other validator reads the schema"))
    func validator() throws {
        let directory = try TestDirectory()
        func isValid(_ text: String) throws -> Bool {
            let value = try #require(JSONCReader.read(Array(text.utf8), dialect: .jsonc).root)
            let script = """
                import json, sys, jsonschema
                schema = json.load(open(sys.argv[1]))
                jsonschema.Draft7Validator.check_schema(schema)
                sys.exit(0 if jsonschema.Draft7Validator(schema).is_valid(json.load(open(sys.argv[2]))) else 3)
                """
            let run = try TestCommand.run(
                ["python3", "-c", script, "pins/policy.schema.json", try directory.add(value.jsonText)])
            #expect([0, 3].contains(run.status))
            return run.status == 0
        }
        for name in ["pins.jsonc", "example.jsonc"] {
            let bytes = try #require(FileManager.default.contents(atPath: "pins/" + name))
            #expect(try isValid(String(decoding: bytes, as: UTF8.self)), "\(name)")
        }
        let pins = #""pins": ["\#(PolicyFileTests.pinA)"]"#
        let refused = [
            "{}", #"{ "version": 1, "domains": [] }"#,
            PolicyFileTests.rule(#""host": "a.test", "pins": []"#), PolicyFileTests.rule(pins),
            PolicyFileTests.rule(#""host": "a.test", "subdomain": true, \#(pins)"#),
            PolicyFileTests.rule(#""host": "*.a.test", \#(pins)"#),
            PolicyFileTests.rule(#""host": "a.test", "pins": ["sha256/AAAA"]"#),
            PolicyFileTests.rule(#""host": "a.test", "pins": [{ "role": "leaf" }]"#),
            PolicyFileTests.rule(#""host": "a.test", "expires": "2027-01-01", \#(pins)"#),
            PolicyFileTests.rule(#""host": "a.test", "mode": "enforced", \#(pins)"#),
            PolicyFileTests.rule(#""host": "a.test", "ports": [0], \#(pins)"#),
            PolicyFileTests.rule(#""host": "a.test", "reports": ["http://r.test"], \#(pins)"#),
        ]
        for text in refused {
            #expect(try !isValid(text), "\(text)")
            #expect(!PolicyFileTests.problems(text).isEmpty)
        }
        for text in [
            PolicyFileTests.rule(#""host": "a.test", "x-owner": [1], \#(pins)"#),
            PolicyFileTests.rule(#""host": "a.test", "expires": "2027-01-01", "onExpiry": "fail", \#(pins)"#),
        ] {
            #expect(try isValid(text), "\(text)")
            #expect(PolicyFileTests.problems(text).isEmpty)
        }
    }
}

extension JSONValue {
    /// The value as strict JSON without comments.
    fileprivate var jsonText: String {
        switch kind {
        case .object(let members):
            "{\(members.map { "\(Self.text($0.key)):\($0.value.jsonText)" }.joined(separator: ","))}"
        case .array(let elements): "[\(elements.map(\.jsonText).joined(separator: ","))]"
        case .string(let string): Self.text(string)
        case .number(let number): number
        case .bool(let bool): "\(bool)"
        case .null: "null"
        }
    }

    private static func text(_ string: String) -> String {
        "\"" + string.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
    }
}
