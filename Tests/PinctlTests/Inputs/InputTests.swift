import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

/// Inputs of `hash` other than plain PEM and DER, made with the openssl command where a user would use it.
@Suite("Inputs of pinctl hash")
struct InputTests {
    let directory: TestDirectory
    let root: TestCertificate
    let leaf: TestCertificate
    let password: String

    init() throws {
        directory = try TestDirectory()
        root = try TestCertificate.root("Test Root")
        leaf = try root.leaf("api.test")
        password = try directory.add("open sesame\n", name: "password")
    }

    private func pins(_ words: String...) async -> [String] {
        await pinctl(["hash"] + words).lines.map { String($0.prefix { $0 != " " }) }
    }

    @Test(
        "A file of the kernel that waits for events is an error, and the others are read",
        .enabled(if: (try? InputFile(path: "/proc/kmsg")) != nil, "only root may open /proc/kmsg"))
    func endless() async throws {
        _ = try directory.add(leaf.pemText, name: "leaf.pem")
        let script = "mkdir in; mv leaf.pem in; ln -s /proc/kmsg in/kmsg; timeout 20 pinctl hash in"
        let run = try await shell(script, in: directory)
        #expect(run.status == 2, "\(run)")
        #expect(run.output.contains(try leaf.key.pin) && run.errors.contains("in/kmsg: cannot read it"), "\(run)")
    }

    @Test("Encrypted keys are opened with the password file, and without it the error names the flag")
    func encryptedKeys() async throws {
        let key = leaf.key
        let inputs = [
            try key.encryptedPrivateKeyPEM(passphrase: "open sesame"),
            try key.encryptedTraditionalPEM(passphrase: "open sesame"),
        ]
        let wrong = try directory.add("other", name: "wrong")
        for input in inputs {
            let file = try directory.add(leaf.pemText + input)
            #expect(await pins("--password-file", password, file) == [try key.pin, try key.pin])
            let without = await pinctl("hash", file)
            #expect(without.errors.contains("is an encrypted private key: give --password-file FILE"))
            #expect(without.status == 2)
            let failed = await pinctl("hash", "--password-file", wrong, file)
            #expect(failed.errors.contains("another password"))
            #expect(failed.status == 2)
        }
    }

    @Test("A password can come from a descriptor, with or without a line ending")
    func descriptor() async throws {
        let file = try directory.add(leaf.key.encryptedPrivateKeyPEM(passphrase: "open sesame"))
        for end in ["", "\\n", "\\r\\n"] {
            let run = try await shell("pinctl hash --password-fd 3 \(file) 3< <(printf 'open sesame\(end)')")
            #expect(run.output == (try leaf.key.pin) + "\n")
        }
        let closed = try await shell("pinctl hash --password-fd 9 \(file) 9<&-")
        #expect(closed.errors.hasPrefix("pinctl: --password-fd: "))
        #expect(closed.status == 2)
    }

    @Test("PKCS #12 yields its certificates and its key")
    func pkcs12() async throws {
        let file = try directory.add(TestPKCS12.file(leaf, chain: [root], password: "open sesame"))
        let run = await pinctl("hash", "--password-file", password, file)
        #expect(run.lines.count == 3)
        #expect(run.lines.filter { $0.hasPrefix((try? leaf.key.pin) ?? "-") }.count == 2)
        #expect(run.lines.contains { $0.contains("private key") })
        let without = await pinctl("hash", file)
        #expect(without.errors.hasSuffix("is encrypted PKCS #12: give --password-file FILE\n"))
        #expect(without.status == 2)
        let open = try directory.add(TestPKCS12.file(leaf, password: ""))
        #expect(await pins(open).count == 2)
    }

    @Test(
        "CS5: A file with too many iterations is rejected before any work is done",
        arguments: [1 << 31 - 1, 10_000_001])
    func bombs(iterations: Int) async throws {
        let files = [
            TestPKCS12.macced(iterations: iterations), TestPKCS12.encryptedSafe(iterations: iterations),
            TestPKCS12.file(bags: [TestPKCS12.shroudedKeyBag(iterations: iterations)]),
            TestPKCS12.encryptedKey(iterations: iterations), TestPKCS12.encryptedKeyOfDES(iterations: iterations),
            TestPKCS12.encryptedKey(scryptCost: 1 << 20, blockSize: 8, parallelization: iterations),
        ]
        for file in files {
            let run = await pinctl("hash", "--password-file", password, try directory.add(file))
            #expect(run.errors.contains("iterations, more than the limit of 10000000"))
            #expect(run.output == "")
            #expect(run.status == 2)
        }
    }

    @Test("CS5: The work is limited for all files of a run together")
    func totalWork() async throws {
        // The cost is charged before OpenSSL reports that it lacks DES, so the test needn't wait for fifty million
        // iterations.
        let block = TestPEM.block("ENCRYPTED PRIVATE KEY", TestPKCS12.encryptedKeyOfDES(iterations: 9_999_999))
        let run = await pinctl(
            "hash", "--password-file", password, try directory.add(String(repeating: block, count: 8)))
        let lines = run.errors.split(separator: "\n")
        #expect(lines.filter { $0.contains("OpenSSL 3 does not offer") }.count == 5)
        #expect(lines.filter { $0.contains("than remain for this run") }.count == 3)
    }

    @Test("PKCS #7 made by OpenSSL yields its certificates, as PEM and as DER")
    func pkcs7() async throws {
        let chain = try directory.add(leaf.pemText + root.pemText)
        for form in ["PEM", "DER"] {
            let out = directory.path + "/chain.p7b.\(form)"
            _ = try TestCommand.run([
                "openssl", "crl2pkcs7", "-nocrl", "-certfile", chain, "-outform", form, "-out", out,
            ])
            #expect(await pins(out) == [try leaf.key.pin, try root.key.pin])
        }
    }

    @Test("The record that --as tlsa=NAME prints can be read back")
    func records() async throws {
        let certificate = try directory.add(leaf.pemText)
        let record = await pinctl("hash", "--as", "tlsa=_443._tcp.api.test.", certificate)
        #expect(record.output.hasPrefix("_443._tcp.api.test. IN TLSA 3 1 1 "))
        #expect(await pins(try directory.add(record.output)) == [try leaf.key.pin])
        let other = await pinctl(
            "hash", try directory.add("_443._tcp.api.test. IN TLSA 3 0 1 \(String(repeating: "ab", count: 32))\n"))
        #expect(other.errors.contains("is a TLSA record with the sha256 of a certificate, which is not a pin"))
        #expect(other.status == 2)
        for name in ["a b", "a\nb", "", "a..b", "x;y"] {
            #expect(await pinctl("hash", "--as", "tlsa=\(name)", certificate).status == 2)
        }
    }

    @Test("JSON Web Keys and SSH public keys have the pin of their key")
    func otherFormats() async throws {
        let key = try TestKey(.p256)
        let point = Array(try key.publicKeyDER.suffix(64))
        let web =
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(urlSafe(point[..<32]))\",\"y\":\"\(urlSafe(point[32...]))\"}"
        #expect(await pins(try directory.add(web)) == [try key.pin])
        #expect(await pins(try directory.add("{\"keys\": [\(web), \(web)]}")).count == 2)
        let edwards = try TestKey(.ed25519)
        let raw = Array(try edwards.publicKeyDER.suffix(32))
        #expect(
            await pins(try directory.add("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"\(urlSafe(raw[...]))\"}")) == [
                try edwards.pin
            ])
        let type = Array("ssh-ed25519".utf8)
        let blob = [0, 0, 0, UInt8(type.count)] + type + [0, 0, 0, 32] + raw
        #expect(await pins(try directory.add("ssh-ed25519 \(TestPEM.base64(blob)) me@home\n")) == [try edwards.pin])
        for broken in [
            "{\"kty\":\"oct\",\"k\":\"AAAA\"}", "{\"kty\":\"EC\"}", "{\"kty\":", "{}", "[]", "{\"domains\": []}",
            "ssh-rsa AAAA", "ssh-ed25519 \(TestPEM.base64(Array(blob.dropLast())))",
        ] {
            let run = await pinctl("hash", try directory.add(broken))
            #expect(run.status == 2)
            #expect(run.output == "")
        }
    }

    private func urlSafe(_ bytes: ArraySlice<UInt8>) -> String {
        TestPEM.base64(Array(bytes)).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    @Test("A directory's files are read by name, those without a key are reported, and an empty one is an error")
    func directories() async throws {
        let certificates = try TestDirectory()
        #expect(await pinctl("hash", certificates.path).status == 2)
        _ = try certificates.add(leaf.pemText, name: "b.pem")
        _ = try certificates.add(root.pemText, name: "a.pem")
        _ = try certificates.add("read me", name: "README")
        _ = try certificates.add(leaf.pemText, name: ".hidden.pem")
        try FileManager.default.createSymbolicLink(
            atPath: certificates.path + "/zero", withDestinationPath: "/dev/zero")
        let run = await pinctl("hash", certificates.path)
        #expect(
            run.lines.map { String($0.prefix { $0 != " " }) } == [
                try root.key.pin, try leaf.key.pin, try leaf.key.pin,
            ])
        #expect(run.errors.contains("README: skipped, it contains neither PEM nor DER"))
        // A device could hold anything.
        #expect(run.errors.contains("zero: isn't a regular file"))
        #expect(run.status == 2)
        try FileManager.default.removeItem(atPath: certificates.path + "/zero")
        #expect(await pinctl("hash", certificates.path).status == 0)
        // A link to the directory itself leads to no other files.
        try FileManager.default.createSymbolicLink(atPath: certificates.path + "/self", withDestinationPath: ".")
        #expect(await pinctl("hash", certificates.path).lines.count == 3)
        // A symbolic link to itself is not a file, and is reported.
        try FileManager.default.createSymbolicLink(atPath: certificates.path + "/loop", withDestinationPath: "loop")
        #expect(await pinctl("hash", certificates.path).status == 2)
    }

    @Test("Selection flags select keys, and an empty selection is an error")
    func selection() async throws {
        let chain = try directory.add(leaf.pemText + root.pemText)
        #expect(await pinctl("hash", "--leaf", chain).output == (try leaf.key.pin) + "\n")
        #expect(await pinctl("hash", "--ca", chain).output == (try root.key.pin) + "\n")
        #expect(await pinctl("hash", "--root", chain).output == (try root.key.pin) + "\n")
        #expect(await pinctl("hash", "--index", "1", chain).output == (try root.key.pin) + "\n")
        for words in [["--index", "2"], ["--index", "-1"], ["--leaf", "--ca"], ["--index", "x"]] {
            #expect(await pinctl(["hash"] + words + [chain]).status == 2)
        }
        #expect(await pinctl("hash", "--leaf", try directory.add(root.pemText)).status == 2)
    }

    @Test("--expect exits with 1 unless a key has the pin, and prints the pins that were found")
    func expectation() async throws {
        let chain = try directory.add(leaf.pemText + root.pemText)
        #expect(await pinctl("hash", "--expect", try root.key.pin, chain).status == 0)
        #expect(await pinctl("hash", "--expect", unknownPin, "--expect", try root.key.pin, chain).status == 0)
        let run = await pinctl("hash", "-q", "--expect", unknownPin, chain)
        #expect(run.status == 1)
        #expect(run.errors.contains("no key has the pin \(unknownPin): found 2 keys, \(try leaf.key.pin)"))
        #expect(await pinctl("hash", "--expect", try root.key.pin, "--leaf", chain).status == 1)
        #expect(await pinctl("hash", "--expect", unknownPin, "/no/such").status == 2)
        #expect(await pinctl("hash", "--expect", "sha256/AAAA", chain).status == 2)
    }

    @Test("--unique prints each pin once, and -0 ends lines with NUL")
    func shapes() async throws {
        let file = try directory.add(leaf.pemText + leaf.pemText + root.pemText)
        #expect(await pinctl("hash", "--unique", file).lines.count == 2)
        let run = await pinctl("hash", "-0", try directory.add(leaf.pemText))
        #expect(run.output == (try leaf.key.pin) + "\0")
    }

    @Test(
        "CB21, CL3: Bytes in no known format exit with 2 and print no pin",
        arguments: [
            [], [0x30], [0x30, 0x80], [0xFE, 0xED, 0xFE, 0xED], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 2, 1, 3], [0x7B],
        ])
    func garbage(bytes: [UInt8]) async throws {
        let run = await pinctl("hash", try directory.add(bytes))
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(await pinctl("show", try directory.add(bytes, name: "x.pem")).status == 2)
        #expect(await pinctl("hash", "/dev/zero").status == 2)
    }

    @Test("CB21: PKCS #12 and PKCS #7 truncated or changed at any position never trap")
    func mutations() async throws {
        let chain = try directory.add(leaf.pemText)
        let out = directory.path + "/m.p7b"
        _ = try TestCommand.run(["openssl", "crl2pkcs7", "-nocrl", "-certfile", chain, "-outform", "DER", "-out", out])
        let files = [
            try Array(Data(contentsOf: URL(filePath: out))), try TestPKCS12.file(leaf, password: "open sesame"),
        ]
        for file in files {
            for start in stride(from: 0, to: file.count, by: 37) {
                var changed = file
                changed[start] ^= 0x81
                for bytes in [changed, Array(file.prefix(start))] {
                    let run = await pinctl("hash", "--password-file", password, try directory.add(bytes))
                    #expect([0, 2].contains(run.status))
                }
            }
        }
    }
}
