import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Included policy files")
struct PolicyInclusionTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private static let names = #"{ "version": 1, "pins": { "one": "\#(PolicyFileTests.pinA)" } }"#

    /// Returns the problems of a policy that includes these files and uses these names, without the directory prefix.
    private func problems(include: [String], pins: [String] = ["one"], top: String = "") throws -> [String] {
        let list = { (texts: [String]) in texts.map { "\"\($0)\"" }.joined(separator: ", ") }
        let text = PolicyFileTests.rule(
            #""host": "a.test", "pins": [\#(list(pins))]"#, top: #""include": [\#(list(include))], \#(top)"#)
        let path = try put(text, name: "policy.jsonc")
        do throws(PolicyFileError) {
            _ = try PinningPolicy(contentsOfFile: path)
            return []
        } catch {
            return error.problems.map { String($0.description.replacing(directory.path + "/", with: "")) }
        }
    }

    /// Writes a file and replaces an existing one.
    @discardableResult
    private func put(_ text: String, name: String) throws -> String {
        #expect(try TestCommand.run(["rm", "-f", directory.path + "/" + name]).status == 0)
        return try directory.add(text, name: name)
    }

    private func makeDirectory(_ name: String) throws {
        #expect(try TestCommand.run(["mkdir", "-p", directory.path + "/" + name]).status == 0)
    }

    @Test("Named pins of an included file can be used, with their roles and the files that they are read from")
    func names() throws {
        let root = try TestCertificate.root("Root")
        try makeDirectory("roots/deep")
        _ = try directory.add(root.pemText, name: "roots/root.pem")
        _ = try directory.add(
            #"""
            { "version": 1, "include": ["deep/more.json"], "x-source": "made up",
              "pins": { "test-root": { "file": "root.pem", "role": "root", "note": "n", "from": "deep/x.pem" } } }
            """#, name: "roots/roots.jsonc")
        try put(Self.names, name: "roots/deep/more.json")
        let text = PolicyFileTests.rule(
            #""host": "a.test", "pins": ["test-root", "one", "own"]"#,
            top: """
                "include": ["roots/roots.jsonc", "./roots/deep/more.json"], \
                "pins": { "own": "\(PolicyFileTests.pinB)" },
                "deny": ["one"],
                """)
        let policy = try PinningPolicy(contentsOfFile: directory.add(text))
        let pins = policy.rules[0].pins
        #expect(pins.map(\.name) == ["test-root", "one", "own"])
        #expect(pins[0].fingerprint == .publicKey(try root.parsed.spkiFingerprint))
        #expect(pins[0].role == .root && pins[0].note == "n")
        #expect(pins[0].from == directory.path + "/roots/deep/x.pem")
        #expect(policy.deny.map(\.name) == ["one"])
    }

    @Test(
        "A setting in an included file is an error with its position, and isn't ignored",
        arguments: [
            ("deny", "[]"), ("deny", #"["\#(PolicyFileTests.pinA)"]"#), ("unlisted", #""refuse""#),
            ("unlisted", #""trust""#), ("domains", "[]"),
            ("domains", #"[{ "host": "b.test", "pins": ["\#(PolicyFileTests.pinB)"] }]"#),
            ("exports", #"[{ "to": "android", "file": "nsc.xml" }]"#), ("releases", #"["old.jsonc"]"#),
        ])
    func settings(key: String, value: String) throws {
        let text = "{ \"version\": 1,\n  \"\(key)\": \(value),\n  \"pins\": { \"one\": \"\(PolicyFileTests.pinA)\" } }"
        let problem =
            "error: \"\(key)\" isn't allowed in an included file, which only defines names of pins: "
            + "move it to the policy, or remove it"
        try put(text, name: "names.jsonc")
        #expect(try problems(include: ["names.jsonc"]) == ["names.jsonc:2:3: \(problem)"])
        // A file that an included file includes follows the same rule.
        try put(#"{ "version": 1, "include": ["names.jsonc"] }"#, name: "outer.jsonc")
        #expect(try problems(include: ["outer.jsonc"]) == ["names.jsonc:2:3: \(problem)"])
        // Such a file is for named pins, and for keys that start with x-.
        try put(text.replacing("\"\(key)\"", with: "\"x-\(key)\""), name: "names.jsonc")
        #expect(try problems(include: ["names.jsonc"]) == [])
    }

    @Test(
        "A file that isn't below the policy's directory can't be included",
        arguments: [
            "../names.jsonc", "/etc/hosts", "", ".", "./", "a//b.jsonc", "sub/../names.jsonc", "a/", "..", "link.jsonc",
            "away/names.jsonc",
        ])
    func outside(name: String) throws {
        let elsewhere = try TestDirectory()
        let target = try elsewhere.add(Self.names, name: "names.jsonc")
        try put(Self.names, name: "names.jsonc")
        try makeDirectory("sub")
        #expect(try TestCommand.run(["ln", "-s", target, directory.path + "/link.jsonc"]).status == 0)
        #expect(try TestCommand.run(["ln", "-s", elsewhere.path, directory.path + "/away"]).status == 0)
        let problems = try problems(include: [name])
        #expect(
            problems == [
                "policy.jsonc:1:29: error: \"\(name)\" isn't below this file's directory: move it there, and write "
                    + "its path relative to this file"
            ])
    }

    @Test("A link that stays in the directory is followed")
    func innerLink() throws {
        try put(Self.names, name: "names.jsonc")
        #expect(try TestCommand.run(["ln", "-s", "names.jsonc", directory.path + "/link.jsonc"]).status == 0)
        #expect(try problems(include: ["link.jsonc"]) == [])
    }

    @Test("A cycle of includes is rejected where it closes, and including a file twice isn't a cycle")
    func cycles() throws {
        _ = try directory.add(#"{ "version": 1, "include": ["b.jsonc"] }"#, name: "a.jsonc")
        _ = try directory.add(#"{ "version": 1, "include": ["c.jsonc"] }"#, name: "b.jsonc")
        _ = try directory.add(#"{ "version": 1, "include": ["a.jsonc"] }"#, name: "c.jsonc")
        let advice = "includes this file in turn: move the pins that both need to a third file, and include that one"
        #expect(try problems(include: ["a.jsonc"]) == ["c.jsonc:1:29: error: \"a.jsonc\" \(advice)"])
        #expect(try problems(include: ["policy.jsonc"]) == ["policy.jsonc:1:29: error: \"policy.jsonc\" \(advice)"])
        try put(Self.names, name: "c.jsonc")
        #expect(try problems(include: ["a.jsonc", "b.jsonc", "c.jsonc", "c.jsonc"]) == [])
    }

    @Test("A name for two pins is rejected, with both positions")
    func sameNames() throws {
        try put(Self.names, name: "a.jsonc")
        try put(Self.names, name: "b.jsonc")
        #expect(
            try problems(include: ["a.jsonc", "b.jsonc"]) == [
                "policy.jsonc:1:40: error: b.jsonc:1:27: a pin named \"one\" is also defined at a.jsonc:1:27: rename "
                    + "one of them"
            ])
        let own = try problems(include: ["a.jsonc"], top: #""pins": { "one": "\#(PolicyFileTests.pinA)" },"#)
        #expect(
            own == [
                "policy.jsonc:1:51: error: a pin named \"one\" is also defined at a.jsonc:1:27: rename one of them"
            ])
    }

    @Test(
        "Problems of an included file have its own positions, after the policy's, and its names aren't reported missing"
    )
    func problemsInside() throws {
        let broken = "{ \"version\": 1,\n\"pin\": {},\n\"pins\": { \"one\": \"sha256/AAAA\", \"two\": 7 } }"
        _ = try directory.add(broken, name: "broken.jsonc")
        _ = try directory.add("{", name: "cut.jsonc")
        let all = try problems(include: ["broken.jsonc", "cut.jsonc", "missing.jsonc"], pins: ["one", "two", "three"])
        #expect(
            all.map { $0.split(separator: " error: ")[0] } == [
                "policy.jsonc:1:58:", "broken.jsonc:2:1:", "broken.jsonc:3:18:", "broken.jsonc:3:40:",
                "cut.jsonc:1:2:",
            ])
        #expect(
            try problems(include: ["missing.jsonc"])[0].contains("cannot be included: no such file: check the path"))
        try put(Self.names, name: "names.json")
        #expect(try problems(include: ["names.json"], pins: ["ons"])[0].contains("did you mean \"one\"?"))
        _ = try directory.add(#"{ "version": 1, "pins": [] }"#, name: "none.jsonc")
        #expect(
            try problems(include: ["none.jsonc", "names.json"]) == [
                "none.jsonc:1:25: error: \"pins\" must be an object, found an array"
            ])
        #expect(try problems(include: ["."]).count == 1)
        _ = try directory.add("\n", name: "empty.jsonc")
        #expect(
            try problems(include: ["empty.jsonc"]) == [
                "empty.jsonc:1:1: error: the file is empty: write an object with \"version\" and \"pins\""
            ])
    }

    @Test("The number and the total size of included files are limited")
    func bounded() throws {
        let names = (0..<101).map { "f\($0).jsonc" }
        for name in names { try put(#"{ "version": 1 }"#, name: name) }
        try put(Self.names, name: "f0.jsonc")
        #expect(try problems(include: Array(names.prefix(100))) == [])
        let problems = try problems(include: names)
        #expect(problems.count == 1)
        #expect(problems.first?.contains("exceeds the limit of 100 included files: merge some") == true)

        let padding = String(repeating: " ", count: 3 << 20)
        for name in ["f0.jsonc", "f1.jsonc", "f2.jsonc"] {
            try put(padding + #"{ "version": 1 }"#, name: name)
        }
        #expect(try self.problems(include: Array(names.prefix(3)))[0].contains("is larger than "))
    }
}
