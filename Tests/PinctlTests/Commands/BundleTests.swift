import Foundation
import PinctlTestPKI
import Testing

@Suite("Policies in bundles")
struct BundleTests {
    private let site: PinctlSite
    private let bundle: String
    private let keySet: String

    /// Signs a bundle of a policy that names files: a root, the file of a pin, and one that a pin comes from.
    init() throws {
        site = try PinctlSite()
        let key = try TestKey(.ed25519)
        let directory = site.directory
        _ = try directory.add(key.privateKeyPEM, name: "signer.key")
        keySet = try directory.add(
            """
            { "version": 1, "audience": "a", "number": 1, "threshold": 1,
              "keys": ["\(Data(try key.publicKeyDER).base64EncodedString())"] }
            """, name: "keys.json")
        _ = try directory.add(site.leaf.pemText, name: "leaf.pem")
        bundle = directory.path + "/bundle.json"
    }

    /// Writes a policy whose rule has these members, and signs it.
    private func sign(_ members: String, top: String = "") async throws {
        let policy = try site.directory.add(
            """
            { "version": 1, \(top) "domains": [{ "host": "api.test", "anchors": { "files": ["root.pem"] }, \
            \(members) }] }
            """, name: "pins.jsonc")
        let run = await pinctl(
            "sign", policy, "--keys", keySet, "--key", site.directory.path + "/signer.key", "-o", bundle)
        try #require(run.status == 0, "\(run)")
        try FileManager.default.removeItem(atPath: policy)
    }

    /// Replaces a text in the signed payload.
    private func tamper(_ old: String, _ new: String) throws {
        var text = try String(contentsOfFile: bundle, encoding: .utf8)
        let start = try #require(text.range(of: "\"payload\": \""))
        let end = try #require(text.range(of: "\"", range: start.upperBound..<text.endIndex))
        let payload = String(
            decoding: try #require(Data(base64Encoded: String(text[start.upperBound..<end.lowerBound]))), as: UTF8.self)
        let changed = payload.replacingOccurrences(of: old, with: new)
        try #require(changed != payload)
        text.replaceSubrange(start.upperBound..<end.lowerBound, with: Data(changed.utf8).base64EncodedString())
        try text.write(toFile: bundle, atomically: true, encoding: .utf8)
    }

    private let unverified = "; signatures of 1 bundle not verified"

    private var note: String {
        "\(bundle): the signatures of this bundle weren't verified: verify them with "
            + "pinctl verify \(bundle) --keys KEYSET"
    }

    @Test("Each command that reads a bundle without its key set says that nothing was verified")
    func unverified() async throws {
        try await sign("\"pins\": [\"\(try site.leaf.key.pin)\", { \"pin\": \"\(unknownPin)\", \"backup\": true }]")
        let chain = site.directory.path + "/chain.pem"
        let commands = [
            ["check", "--files", chain, "--policy", bundle, "--ca-file", site.rootFile],
            ["verify", chain, "--host", "api.test", "--policy", bundle, "--ca-file", site.rootFile],
            ["lint", bundle], ["explain", "api.test", "--policy", bundle],
            ["plan", "--new", chain, "--against", bundle, "--ca-file", site.rootFile],
            ["plan", "--new", chain, "--policy", bundle, "--ca-file", site.rootFile],
            ["export", "--to", "android", "--lossy", bundle], ["import", bundle],
        ]
        for command in commands {
            let run = await pinctl(command)
            #expect(run.status == 0, "\(run)")
            #expect(run.errors.components(separatedBy: note).count == 2, "\(command): \(run.errors)")
            if ["check", "lint", "plan"].contains(command[0]) {
                #expect(run.output.contains("; signatures of 1 bundle not verified\n"), "\(run.output)")
                let json = await pinctl(command + ["--json"])
                #expect(json.output.contains(#""unverified_bundles":1"#), "\(json.output)")
            }
        }
        #expect(await pinctl("verify", bundle, "--keys", keySet).errors == "")
        let policy = try site.policy("\"\(try site.leaf.key.pin)\"")
        let plain = await pinctl("check", "--files", chain, "--policy", policy, "--ca-file", site.rootFile)
        #expect(plain.status == 0)
        #expect(!(plain.output + plain.errors).contains("verified"))
        let both = await pinctl("lint", bundle, bundle)
        #expect(both.lines.last?.hasSuffix("; signatures of 2 bundles not verified") == true, "\(both)")
    }

    @Test(
        "verify says that a bundle was changed after signing, whatever was changed",
        arguments: [
            ("\"sequence\": 1", "\"sequence\": 2"), ("2026-", "2027-"), ("\"audience\": \"a\"", "\"audience\":  \"a\""),
        ])
    func tampered(old: String, new: String) async throws {
        try await sign("\"pins\": [\"\(try site.leaf.key.pin)\", { \"pin\": \"\(unknownPin)\", \"backup\": true }]")
        #expect(await pinctl("verify", bundle, "--keys", keySet).status == 0)
        try tamper(old, new)
        let run = await pinctl("verify", bundle, "--keys", keySet)
        #expect(run.status == 1)
        #expect(run.output.contains("the signatures of key set 1 don't match, so the bundle was changed after signing"))
        #expect(!run.output.contains("sign it with"))
    }

    @Test("verify with the key set of other keys doesn't say that the bundle was changed")
    func otherKeys() async throws {
        try await sign("\"pins\": [\"\(try site.leaf.key.pin)\", { \"pin\": \"\(unknownPin)\", \"backup\": true }]")
        let key = Data(try TestKey(.ed25519).publicKeyDER).base64EncodedString()
        let keys = try site.directory.add(
            "{ \"version\": 1, \"audience\": \"a\", \"number\": 1, \"threshold\": 1, \"keys\": [\"\(key)\"] }",
            name: "other.json")
        let run = await pinctl("verify", bundle, "--keys", keys)
        #expect(run.status == 1)
        #expect(run.output.contains("has none of the 1 valid signature that key set 1 requires"))
        #expect(run.output.contains("or give the set whose keys signed it"))
    }

    @Test("A bundle that its signature makes larger than programs accept isn't written")
    func signedSize() async throws {
        let pins = ["\"\(try site.leaf.key.pin)\"", "\"\(unknownPin)\""]
        func sign(_ comment: Int) async throws -> (run: Run, size: Int?) {
            let directory = try TestDirectory()
            let policy = try directory.add(
                "//" + String(repeating: "x", count: comment) + "\n" + policyText([("api.test", pins)]),
                name: "pins.jsonc")
            let file = directory.path + "/bundle.json"
            let run = await pinctl(
                "sign", policy, "--keys", keySet, "--key", site.directory.path + "/signer.key", "-o", file)
            return (run, try? Data(contentsOf: URL(filePath: file)).count)
        }
        // A byte of the policy is 16/9 bytes of the bundle, and the signature at least 150.
        let base = try #require(await sign(0).size)
        let most = ((1 << 20) - base) * 9 / 16
        let fits = try await sign(most - 9)
        #expect(fits.run.status == 0 && fits.size.map { $0 > (1 << 20) - 40 } == true, "\(fits)")
        let (run, size) = try await sign(most + 40)
        #expect(run.status == 2 && size == nil, "\(run)")
        #expect(run.errors.contains("the bundle has more than 1048576 bytes"), "\(run)")
        // Without the signature, it isn't too large.
        #expect(run.errors.contains("signed by "), "\(run)")
    }

    @Test("lint reads the files that pins name from the bundle, and says which the bundle doesn't contain")
    func lint() async throws {
        let backup = "{ \"pin\": \"\(unknownPin)\", \"backup\": true }"
        try await sign("\"pins\": [{ \"file\": \"leaf.pem\" }, \(backup)]")
        // The bundle is all that there is: its files may be gone.
        let elsewhere = try TestDirectory()
        let alone = try elsewhere.add(try String(contentsOfFile: bundle, encoding: .utf8), name: "bundle.json")
        let run = await pinctl("lint", alone)
        #expect(run.output == "1 linted: errors 0, warnings 0\(unverified)\n", "\(run)")
        #expect(run.status == 0)

        try FileManager.default.removeItem(atPath: bundle)
        let pin = try site.leaf.key.pin
        try await sign("\"pins\": [{ \"pin\": \"\(pin)\", \"from\": \"leaf.pem\" }, \(backup)]")
        let from = await pinctl("lint", bundle)
        #expect(from.output == "1 linted: errors 0, warnings 0\(unverified)\n", "\(from)")
        #expect(from.errors.contains("pins come from files that the bundle doesn't contain"))

        // A pin that isn't the key in a file of the bundle is still found.
        try FileManager.default.removeItem(atPath: bundle)
        try await sign(
            "\"pins\": [{ \"file\": \"leaf.pem\" }, { \"pin\": \"\(pin)\", \"role\": \"leaf\", "
                + "\"from\": \"leaf.pem\" }, \(backup)]")
        let other = try site.intermediate.leaf("api.test")
        try tamper(
            Data(site.leaf.pemText.utf8).base64EncodedString(), Data(other.pemText.utf8).base64EncodedString())
        let wrong = await pinctl("lint", bundle)
        #expect(wrong.output.contains("error[P013]"), "\(wrong)")
        #expect(wrong.status == 1)
    }

    @Test("The files that a bundled policy exports aren't looked for beside the bundle, and a note says so")
    func exports() async throws {
        _ = try site.directory.add("<network-security-config/>", name: "nsc.xml")
        try await sign(
            "\"pins\": [\"\(try site.leaf.key.pin)\", { \"pin\": \"\(unknownPin)\", \"backup\": true }]",
            top: "\"exports\": [{ \"to\": \"android\", \"file\": \"nsc.xml\" }],")
        let chain = site.directory.path + "/chain.pem"
        for command in [["check", "--files", chain, "--policy", bundle], ["lint", bundle]] {
            let run = await pinctl(command)
            #expect(run.status == 0, "\(run)")
            #expect(run.errors.contains("the files that its policy exports aren't in the bundle"))
        }
    }
}
