import CertificatePinning
import CertificateTrust
import FoundationEssentials
import Glibc
import TestPKI
import Testing

/// Policies on disk, and the files they name.
@Suite("Reading policy files")
struct PolicyFileReadingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func problems(_ path: String) -> [String] {
        do throws(PolicyFileError) {
            _ = try PinningPolicy(contentsOfFile: path)
            return []
        } catch {
            return error.description.split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "PE12: a file that pins nothing is no policy",
        arguments: [
            "", " \n", "// nothing yet\n", "{}", "[]", "null", #"{ "version": 1 }"#, #"{ "version": 1, "domains": [] }"#,
            #"{ "version": 1, "domains": [{ "host": "a.test" }] }"#,
            #"{ "version": 1, "domains": [{ "host": "a.test", "pins": [] }] }"#,
            "{ \"version\": 1, \"domains\": [{ \"host\": \"a.test\", \"pins\": [\n// \"\(PolicyFileTests.pinA)\"\n] }] }",
            #"{ "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
            #"{ "version": 2, "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
            #"{ "version": "1", "domains": [{ "host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"] }] }"#,
        ])
    func pinsNothing(text: String) throws {
        let path = try folder.write(text.utf8, "pins.jsonc")
        let problems = problems(path)
        #expect(!problems.isEmpty)
        #expect(problems.allSatisfy { $0.hasPrefix("\(path):") })
    }

    @Test("PE12: what is no file, or none that ends, is no policy")
    func noFile() throws {
        let missing = folder.path + "/missing.jsonc"
        #expect(problems(missing) == ["\(missing): error: no such file: check the path"])
        #expect(problems(folder.path) == ["\(folder.path): error: is a directory: name the files in it"])
        #expect(problems("/dev/zero") == ["/dev/zero: error: larger than 8388608 bytes, the most that is read: split it"])
        let loop = folder.path + "/loop.jsonc"
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
        #expect(problems(loop).count == 1)
        let pipe = folder.path + "/pipe.jsonc"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(problems(pipe) == ["\(pipe): error: nobody writes to this pipe: start the writer first"])
        #expect(problems("nul\0.jsonc").count == 1)
        #expect(problems("").count == 1)
    }

    @Test("A pin is hashed from a certificate, a request or a public key beside the policy")
    func pinsFromFiles() throws {
        let root = try TestCertificate.root("Root")
        let fingerprint = try root.parsed.spkiFingerprint
        let key = try root.parsed.subjectPublicKeyInfo.derBytes
        try folder.write(root.derBytes, "root.der")
        try folder.write(root.pemText.utf8, "root.pem")
        try folder.write(TestPEM.block("PUBLIC KEY", key).utf8, "key.pem")
        try folder.write(key, "key.der")
        for name in ["root.der", "root.pem", "key.pem", "key.der", folder.path + "/root.pem"] {
            let pin = #"{ "file": "\#(name)", "role": "root", "backup": true, "note": "n" }"#
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": [\#(pin)]"#)
            let rule = try PinningPolicy(contentsOfFile: folder.write(text.utf8, "pins.jsonc")).rules[0]
            #expect(
                rule.pins == [Pin(.publicKey(fingerprint), role: .root, isBackup: true, note: "n")], "\(name)")
        }
    }

    @Test("A file that gives no one key is a problem where the policy names it")
    func brokenPinFiles() throws {
        let root = try TestCertificate.root("Root")
        try folder.write(root.pemText.utf8, "root.pem")
        try folder.write((root.pemText + root.pemText).utf8, "two.pem")
        try folder.write(root.pemText.replacing("\nM", with: "\n!").utf8, "broken.pem")
        try folder.write(root.derBytes.dropLast(), "cut.der")
        try folder.write("".utf8, "empty.pem")
        try folder.write("just text\n".utf8, "text.pem")
        let privateKey = try root.key.privateKeyPEM
        try folder.write(privateKey.utf8, "private.pem")
        let rows = [
            ("missing.pem", "no such file"), (".", "is a directory"), ("two.pem", "holds more than one object"),
            ("broken.pem", "not base64"), ("cut.der", "bytes short"), ("empty.pem", "is empty"),
            ("text.pem", "neither PEM nor DER"), ("private.pem", "is a private key"), ("/dev/zero", "/dev/zero"),
            ("root.pem\\u0000", "cannot open"),
        ]
        for (name, message) in rows {
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": [{ "file": "\#(name)" }]"#)
            let path = try folder.write(text.utf8, "pins.jsonc")
            let problems = problems(path)
            #expect(problems.count == 1)
            #expect(problems.allSatisfy { $0.hasPrefix("\(path):2:40: error: ") && $0.contains(message) }, "\(name)")
        }
    }

    @Test("Anchors are files beside the policy, the system's store, or both")
    func anchors() throws {
        let root = try TestCertificate.root("Root")
        try folder.write(root.pemText.utf8, "root.pem")
        func store(_ anchors: String) throws -> TrustStore? {
            let members = #""host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"], "anchors": \#(anchors)"#
            let path = try folder.write(PolicyFileTests.rule(members).utf8, "pins.jsonc")
            return try PinningPolicy(contentsOfFile: path).rules[0].anchors
        }
        let own = try #require(try store(#"{ "files": ["root.pem"] }"#))
        #expect(own.count == 1)
        #expect(own.contains(try root.parsed))
        let both = try #require(try store(#"{ "files": ["root.pem"], "system": true }"#))
        #expect(both.count == (try TrustStore.system().count) + 1)
        #expect(try store(#"{ "system": true }"#)?.count == (try TrustStore.system().count))
        #expect(try store("\"system\"")?.count == (try TrustStore.system().count))
        #expect(throws: PolicyFileError.self) { try store(#"{ "files": ["missing.pem"] }"#) }
        #expect(throws: PolicyFileError.self) { try store(#"{ "files": ["missing.pem"], "system": true }"#) }
    }

    @Test("Two policies that trust other roots have other digests")
    func anchorDigests() throws {
        var digests: Set<[UInt8]> = []
        for name in ["One", "Two"] {
            try folder.write(TestCertificate.root(name).pemText.utf8, "root.pem")
            let anchors = #""anchors": { "files": ["root.pem"] }"#
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": ["\#(PolicyFileTests.pinA)"], \#(anchors)"#)
            digests.insert(try PinningPolicy(contentsOfFile: folder.write(text.utf8, "pins.jsonc")).digest)
        }
        #expect(digests.count == 2)
    }
}
