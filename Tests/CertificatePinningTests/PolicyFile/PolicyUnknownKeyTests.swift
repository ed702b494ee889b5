import CertificatePinning
import Testing

/// Tests of unknown keys, generated from the reader's own table so that no object of the schema is left out (PE13).
@Suite("Unknown keys in every object of a policy file")
struct PolicyUnknownKeyTests {
    /// Returns the paths of all objects of the schema.
    private static func objects(_ shape: PolicyShape, _ path: String) -> [(path: String, keys: [PolicyKey])] {
        switch shape {
        case .string, .boolean, .number, .choice: []
        case .array(let element, _): objects(element, path + "[]")
        case .map(let element): objects(element, path + ".*")
        case .either(let first, let second): objects(first, path) + objects(second, path)
        case .object(let keys): [(path, keys)] + keys.flatMap { objects($0.shape, path + "." + $0.name) }
        }
    }

    /// Returns text for a shape in which the object at `target` has the text `extra` as its first members.
    private static func text(_ shape: PolicyShape, _ path: String, at target: String, adding extra: String) -> String {
        switch shape {
        case .string: return #""text""#
        case .boolean: return "false"
        case .number(let range): return "\(range.lowerBound)"
        case .choice(let choices): return #""\#(choices[0])""#
        case .array(let element, _): return "[\(text(element, path + "[]", at: target, adding: extra))]"
        case .map(let element): return #"{ "name": \#(text(element, path + ".*", at: target, adding: extra)) }"#
        case .either(let first, let second):
            let holdsObjects = !objects(second, path).isEmpty
            return text(holdsObjects ? second : first, path, at: target, adding: extra)
        case .object(let keys):
            let members = keys.map { key in
                #""\#(key.name)": \#(text(key.shape, path + "." + key.name, at: target, adding: extra))"#
            }
            return "{ \((path == target ? [extra] : []).joined()) \(members.joined(separator: ", ")) }"
        }
    }

    @Test("Each object of the schema rejects an unknown key and accepts one that starts with x-")
    func everyObject() {
        let objects = Self.objects(PolicySchema.file, "")
        #expect(
            Set(objects.map(\.path)) == [
                "", ".pins.*", ".deny[]", ".exports[]", ".domains[]", ".domains[].pins[]", ".domains[].anchors",
                ".domains[].check",
            ])
        #expect(objects.count == 8)
        func unknown(_ path: String, _ key: String) -> [String] {
            PolicyFileTests.problems(Self.text(PolicySchema.file, "", at: path, adding: #""\#(key)": 1,"#))
                .filter { $0.contains("unknown key ") }
        }
        for (path, keys) in objects {
            #expect(unknown(path, "unrelated").count == 1, "\(path)")
            #expect(unknown(path, "unrelated").first?.contains("unknown key \"unrelated\"") == true, "\(path)")
            #expect(unknown(path, "x-unrelated") == [], "\(path)")
            for key in keys {
                // A misspelling of each key, which would silently weaken a policy if it were accepted.
                #expect(unknown(path, key.name + "z").count == 1, "\(path).\(key.name)")
            }
        }
    }
}
