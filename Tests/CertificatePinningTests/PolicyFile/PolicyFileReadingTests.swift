import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

/// Tests of policies on disk and of the files that they name.
@Suite("Reading policy files")
struct PolicyFileReadingTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func problems(_ path: String) -> [String] {
        do throws(PolicyFileError) {
            _ = try PinningPolicy(contentsOfFile: path)
            return []
        } catch {
            return error.description.split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "PE12: a file that pins nothing is rejected",
        arguments: [
            "", " \n", "// nothing yet\n", "{}", "[]", "null", #"{ "version": 1 }"#,
            #"{ "version": 1, "domains": [] }"#,
            #"{ "version": 1, "domains": [{ "host": "a.test" }] }"#,
            #"{ "version": 1, "domains": [{ "host": "a.test", "pins": [] }] }"#,
            "{ \"version\": 1, \"domains\": [{ \"host\": \"a.test\", \"pins\": [\n// \"\(PolicyFileTests.pinA)\"\n"
                + "] }] }",
            #"{ "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
            #"{ "version": 2, "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
            #"{ "version": "1", "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
        ])
    func pinsNothing(text: String) throws {
        let path = try directory.add(text)
        let problems = problems(path)
        #expect(!problems.isEmpty)
        #expect(problems.allSatisfy { $0.hasPrefix("\(path):") })
    }

    @Test("PE12: a path without a file, or to one that can't be read whole, is rejected")
    func noFile() throws {
        let missing = directory.path + "/missing.jsonc"
        #expect(problems(missing) == ["\(missing): error: no such file: check the path"])
        #expect(problems(directory.path) == ["\(directory.path): error: is a directory: specify the files in it"])
        #expect(
            problems("/dev/zero") == [
                "/dev/zero: error: is larger than 8388608 bytes, the limit for such a file: check that it is the file "
                    + "you mean"
            ])
        let loop = directory.path + "/loop.jsonc"
        #expect(try TestCommand.run(["ln", "-s", loop, loop]).status == 0)
        #expect(problems(loop).count == 1)
        let pipe = directory.path + "/pipe.jsonc"
        #expect(try TestCommand.run(["mkfifo", pipe]).status == 0)
        #expect(problems(pipe) == ["\(pipe): error: no process writes to this pipe: start the writer first"])
        #expect(problems("nul\0.jsonc").count == 1)
        #expect(problems("").count == 1)
    }

    @Test("A pin is read from a certificate, a request or a public key in a file next to the policy")
    func pinsFromFiles() throws {
        let root = try TestCertificate.root("Root")
        let fingerprint = try root.parsed.spkiFingerprint
        let key = try root.parsed.subjectPublicKeyInfo.derBytes
        _ = try directory.add(root.derBytes, name: "root.der")
        _ = try directory.add(root.pemText, name: "root.pem")
        _ = try directory.add(TestPEM.block("PUBLIC KEY", key), name: "key.pem")
        _ = try directory.add(key, name: "key.der")
        _ = try directory.add(TestSigningRequest(root.subject, key: root.key).pemText, name: "root.csr")
        for name in ["root.der", "root.pem", "root.csr", "key.pem", "key.der", directory.path + "/root.pem"] {
            let pin = #"{ "file": "\#(name)", "role": "root", "backup": true, "note": "n" }"#
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": [\#(pin)]"#)
            let rule = try PinningPolicy(contentsOfFile: directory.add(text)).rules[0]
            let read = try #require(rule.pins.first)
            #expect(rule.pins.count == 1 && read.fingerprint == .publicKey(fingerprint), "\(name)")
            #expect(read.role == .root && read.isBackup && read.note == "n" && read.name == nil)
            #expect(read.from == (name.hasPrefix("/") ? name : directory.path + "/" + name))
        }
    }

    @Test("A pin file without exactly one public key is a problem at its position in the policy")
    func brokenPinFiles() throws {
        let root = try TestCertificate.root("Root")
        _ = try directory.add(root.pemText, name: "root.pem")
        _ = try directory.add(root.pemText + root.pemText, name: "two.pem")
        _ = try directory.add(root.pemText.replacing("\nM", with: "\n!"), name: "broken.pem")
        _ = try directory.add(Array(root.derBytes.dropLast()), name: "cut.der")
        _ = try directory.add("", name: "empty.pem")
        _ = try directory.add("just text\n", name: "text.pem")
        _ = try directory.add(root.key.privateKeyPEM, name: "private.pem")
        let rows = [
            ("missing.pem", "no such file"), (".", "is a directory"), ("two.pem", "contains more than one object"),
            ("broken.pem", "invalid base64"), ("cut.der", "bytes short"), ("empty.pem", "is empty"),
            ("text.pem", "neither PEM nor DER"), ("private.pem", "is a private key"), ("/dev/zero", "/dev/zero"),
            ("root.pem\\u0000", "cannot open"),
        ]
        for (name, message) in rows {
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": [{ "file": "\#(name)" }]"#)
            let path = try directory.add(text)
            let problems = problems(path)
            #expect(problems.count == 1)
            #expect(problems.allSatisfy { $0.hasPrefix("\(path):2:40: error: ") && $0.contains(message) }, "\(name)")
        }
    }

    @Test("Anchors can be files next to the policy, the system's trust store, or both")
    func anchors() throws {
        let root = try TestCertificate.root("Root")
        _ = try directory.add(root.pemText, name: "root.pem")
        func store(_ anchors: String) throws -> TrustStore? {
            let members = #""host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"], "anchors": \#(anchors)"#
            let path = try directory.add(PolicyFileTests.rule(members))
            return try PinningPolicy(contentsOfFile: path).rules[0].anchors
        }
        let own = try root.parsed
        let known = try #require(try CertificateFile.read("/etc/ssl/certs/ISRG_Root_X1.pem").first)
        for (anchors, hasOwn, hasKnown) in [
            (#"{ "files": ["root.pem"] }"#, true, false), (#"{ "files": ["root.pem"], "system": true }"#, true, true),
            (#"{ "system": true }"#, false, true), ("\"system\"", false, true),
        ] {
            let store = try #require(try store(anchors))
            #expect(store.contains(own) == hasOwn)
            #expect(store.contains(known) == hasKnown)
        }
        #expect(throws: PolicyFileError.self) { try store(#"{ "files": ["missing.pem"] }"#) }
        #expect(throws: PolicyFileError.self) { try store(#"{ "files": ["missing.pem"], "system": true }"#) }
    }

    @Test("A policy that names files more than 1000 times is rejected", arguments: ["pins", "anchors"])
    func manyFiles(_ key: String) throws {
        _ = try directory.add(TestCertificate.root("Root").pemText, name: "root.pem")
        func policy(_ count: Int) throws -> String {
            let rules = (0..<count).map { number in
                let slashes = String(repeating: "/", count: number + 1)
                let pins = key == "pins" ? #"{ "file": "root.pem" }"# : "\"\(PolicyFileTests.pinA)\""
                let anchors = key == "pins" ? "" : #", "anchors": { "files": [".\#(slashes)root.pem"] }"#
                return #"{ "host": "a\#(number).test", "pins": [\#(pins)]\#(anchors) }"#
            }
            return try directory.add(#"{ "version": 1, "domains": [\#n\#(rules.joined(separator: ",\n"))] }"#)
        }
        #expect(problems(try policy(1000)) == [])
        let path = try policy(1001)
        let problems = problems(path)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("\(path):1002:") == true)
        #expect(problems.first?.contains("refers to files more than 1000 times") == true)
    }

    @Test("Policies that trust different roots have different digests")
    func anchorDigests() throws {
        var digests: Set<[UInt8]> = []
        for name in ["One", "Two"] {
            let file = try directory.add(TestCertificate.root(name).pemText)
            let anchors = #""anchors": { "files": ["\#(file)"] }"#
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"], \#(anchors)"#)
            digests.insert(try PinningPolicy(contentsOfFile: directory.add(text)).digest)
        }
        #expect(digests.count == 2)
    }
}
