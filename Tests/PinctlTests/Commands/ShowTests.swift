import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl show")
struct ShowTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    struct Document: Decodable {
        struct Row: Decodable {
            let role: String
            let pin: String
            let source: String
            let names: [String]
        }
        struct Result: Decodable {
            let verdict: String?
            let trusted: Bool?
            let chain: [Row]?
            let otherPaths: [[[String: String]]]?
            let error: String?
            let pem: String?
        }
        struct Summary: Decodable { let exitCode: Int32 }
        let results: [Result]
        let summary: Summary
    }

    @Test("show prints a chain from leaf to root, whatever the order of the file")
    func order() async throws {
        let file = try site.directory.add(
            site.root.pemText + site.intermediate.pemText + site.leaf.pemText, name: "c.pem")
        let run = await pinctl("show", "--ca-file", site.rootFile, file)
        #expect(run.lines[0] == "\(file)  3 certificates  trusted  hostname not checked (give --host)")
        let rows = run.lines.filter { $0.contains("sha256/") }
        #expect(rows.map { $0.split(separator: " ")[0] } == ["leaf", "intermediate", "root"])
        #expect(
            rows.map { String($0.split(separator: " ")[1]) } == [
                try site.leaf.key.pin, try site.intermediate.key.pin, try site.root.key.pin,
            ])
        #expect(run.lines.contains { $0.contains("for api.test") && $0.contains("by CN=Test Intermediate") })
        #expect(run.status == 0)
    }

    @Test("The chain of a file is checked for a hostname only with --host")
    func host() async throws {
        #expect(await pinctl("show", "--ca-file", site.rootFile, "--host", "api.test", site.chainFile).status == 0)
        let wrong = await pinctl("show", "--ca-file", site.rootFile, "--host", "www.test", site.chainFile)
        #expect(wrong.lines[0].hasSuffix("not trusted [name-mismatch]  not for www.test"))
        // The path that exists for the other hostname is printed anyway.
        #expect(wrong.lines.contains { $0.contains("  root ") && $0.contains("store") })
        #expect(wrong.status == 4)
        let unknown = await pinctl(
            "show", "--ca-file", try site.directory.add(TestCertificate.root("Other").pemText), site.chainFile)
        #expect(unknown.lines[0].contains("not trusted [unknown-issuer]"))
        #expect(unknown.status == 0)
    }

    @Test("show prints every other path to an anchor")
    func otherPaths() async throws {
        let other = try TestCertificate.root("Other Root")
        let cross = try other.crossSign(site.root)
        let anchors = try site.directory.add(site.root.pemText + other.pemText)
        let chain = try site.directory.add(site.leaf.pemText + site.intermediate.pemText + cross.pemText, name: "x.pem")
        let run = await pinctl("show", "--ca-file", anchors, chain)
        #expect(run.lines.contains { $0.contains("other path: ") && $0.contains("Other Root") })
        let json = try await pinctl("show", "--ca-file", anchors, "--json", chain).decoded(as: Document.self)
        #expect(json.results[0].otherPaths?.count == 1)
        #expect(json.results[0].otherPaths?[0].last?["pin"] == (try other.key.pin))
    }

    @Test("show prints a server's chain and the source of each certificate")
    func server() async throws {
        try await site.serve { server in
            let run = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(run.lines[0].contains("  TLSv1.3  EC P-256 key  trusted  hostname ok"))
            let rows = run.lines.filter { $0.contains("sha256/") }
            #expect(rows.map { $0.contains(" served ") } == [true, true, false])
            #expect(rows.last?.contains(" store ") == true)
            #expect(run.status == 0)
            let wrong = await pinctl("show", "--ca-file", site.rootFile, server.target("www.test"))
            #expect(wrong.lines[0].hasSuffix("not trusted [name-mismatch]  hostname mismatch"))
            #expect(wrong.status == 4)
            let json = try await pinctl("show", "--json", server.target()).decoded(as: Document.self)
            #expect(json.results[0].verdict == "untrusted")
            #expect(json.summary.exitCode == 4)
            for ended in await server.ended(1) { #expect(ended.applicationBytes.isEmpty) }
        }
        let run = await pinctl("show", "api.test:1@127.0.0.1")
        #expect(run.lines[0].hasPrefix("??  "))
        #expect(run.status == 3)
    }

    @Test("--pem prints the same as openssl s_client -showcerts, trusted or not")
    func parity() async throws {
        try await site.serve { server in
            let run = await pinctl("show", "--pem", server.target())
            #expect(run.status == 4)
            let peer = try await shell(
                "timeout 20 openssl s_client -connect \(server.address):\(server.port) -servername api.test -showcerts "
                    + "</dev/null 2>/dev/null | sed -n '/-----BEGIN CERT/,/-----END CERT/p'")
            #expect(run.output == site.leaf.pemText + site.intermediate.pemText)
            #expect(peer.output == run.output)
        }
    }

    @Test("CL3: --save writes only new files inside the directory, and reports what it doesn't write")
    func saving() async throws {
        let directory = try TestDirectory()
        try await site.serve { server in
            for form in [[], ["--der"]] {
                let words = ["show", "--ca-file", site.rootFile, "--save", directory.path, "--keys", "ecdsa"] + form
                #expect(await pinctl(words + [server.target()]).status == 0)
                #expect(await pinctl(words + [server.target()]).status == 0)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            #expect(names == ["0.der", "0.pem", "1.der", "1.pem"].map { "api.test_\(server.port)_ecdsa_\($0)" })
            let pin = await pinctl("hash", directory.path + "/" + names[0])
            #expect(pin.output.hasPrefix(try site.leaf.key.pin))
        }
        let file = try site.directory.add(site.leaf.pemText, name: "..%2f-x y;.pem")
        #expect(await pinctl("show", "--save", directory.path, file).status == 0)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/_..%2f-x y;.pem_0.pem") == false)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/_.._2f-x_y_.pem_0.pem"))
        _ = try directory.add("mine", name: "chain.pem_0.pem")
        let run = await pinctl("show", "--save", directory.path, site.chainFile)
        #expect(run.errors.contains("chain.pem_0.pem: already exists"))
        #expect(run.status == 2)
        #expect(await pinctl("show", "--save", "/no/such", site.chainFile).status == 2)
    }

    @Test("An operand that could be a file or a server is rejected with both spellings")
    func ambiguous() async throws {
        _ = try site.directory.add(site.leaf.pemText, name: "api.test")
        _ = try site.directory.add(site.leaf.pemText, name: "leaf.pem")
        let both = try await shell("pinctl show api.test", in: site.directory)
        #expect(both.errors.contains("is a file, but could also be a server: write ./api.test or https://api.test"))
        #expect(both.status == 2)
        #expect(try await shell("pinctl show ./api.test leaf.pem - < leaf.pem", in: site.directory).status == 0)
        #expect(await pinctl("show", "no.such.file.pem").errors.contains("no such file"))
        #expect(await pinctl("show", "a b").errors.contains("isn't a file, and as a server: "))
    }

    @Test("show prints keys and signing requests next to a chain, and bundles in their own order")
    func others() async throws {
        let request = try TestSigningRequest("csr.test", key: site.leaf.key)
        let file = try site.directory.add(site.leaf.pemText + request.pemText + (try site.leaf.key.privateKeyPEM))
        let run = await pinctl("show", "--ca-file", site.rootFile, file)
        #expect(run.lines[0].contains("  1 certificate, 1 CSR, 1 private key  "))
        #expect(run.lines.filter { $0.contains((try? site.leaf.key.pin) ?? "-") }.count == 3)
        let bundle = try site.directory.add(site.root.pemText + TestCertificate.root("Other").pemText)
        #expect(await pinctl("show", bundle).lines[0].hasSuffix("2 certificates  no single chain, so not verified"))
        // A CA certificate has no hostname, and isn't checked as a leaf unless --host is given.
        let root = await pinctl("show", "--ca-file", site.rootFile, site.rootFile)
        #expect(root.status == 0)
        #expect(root.lines[0].hasSuffix("root.pem  1 certificate  no leaf, so not verified (give --host)"))
        #expect(root.lines[1].hasPrefix("  root   ") && root.lines[1].hasSuffix(", in the store"), "\(root.lines)")
        let issuer = await pinctl("show", "--ca-file", site.rootFile, try site.directory.add(site.intermediate.pemText))
        #expect(issuer.lines[1].hasPrefix("  ca   ") && !issuer.output.contains("in the store"), "\(issuer.lines)")
        let asked = await pinctl("show", "--ca-file", site.rootFile, "--host", "api.test", site.rootFile)
        #expect(asked.status == 4 && asked.lines[0].contains("not trusted ["))
        let broken = try site.directory.add(site.leaf.pemText + site.root.pemText.replacing("\nMII", with: "\n!II"))
        let told = await pinctl("show", "--json", broken)
        #expect(told.status == 2)
        #expect(try told.decoded(as: Document.self).summary.exitCode == 2)
    }

    @Test("CL1: Names with terminal control characters are escaped")
    func hostile() async throws {
        let hostile = try TestCertificate.root("\u{1B}[2J\u{202E}moc\u{7}")
        for words in [["show"], ["show", "--json"]] {
            let run = await pinctl(words + [try site.directory.add(hostile.pemText)])
            #expect(run.output.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) || $0 == "\n" })
        }
    }
}
