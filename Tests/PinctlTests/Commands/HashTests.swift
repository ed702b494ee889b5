import CertificatePinning
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("pinctl hash")
struct HashTests {
    let directory: TestDirectory
    let root: TestCertificate
    let leaf: TestCertificate

    init() throws {
        directory = try TestDirectory()
        root = try TestCertificate.root("Test Root")
        leaf = try root.leaf("api.test")
    }

    @Test("hash prints only the pin for a single key")
    func bare() async throws {
        let key = leaf.key
        let request = try TestSigningRequest("api.test", key: key)
        let pin = try key.pin
        let inputs = [
            leaf.pemText, "Subject: api.test\n\n" + leaf.pemText + "trailing words\n",
            leaf.pemText.replacing("\n", with: "\r\n"),
            leaf.pemText.replacing("CERTIFICATE", with: "TRUSTED CERTIFICATE"),
            request.pemText, try key.publicKeyPEM, try key.privateKeyPEM, try key.traditionalPrivateKeyPEM,
            TestPEM.block("EC PARAMETERS", TestDER.objectIdentifier("1.2.840.10045.3.1.7"))
                + (try key.traditionalPrivateKeyPEM),
        ]
        for input in inputs {
            let run = await pinctl("hash", try directory.add(input))
            #expect(run.output == pin + "\n")
            #expect(run.errors == "")
            #expect(run.status == 0)
        }
        for input in [leaf.derBytes, request.derBytes, try key.publicKeyDER, try key.privateKeyDER] {
            let run = await pinctl("hash", try directory.add(input))
            #expect(run.output == pin + "\n")
            #expect(run.status == 0)
        }
    }

    @Test("RSA keys in their traditional format are accepted")
    func rsa() async throws {
        let key = try TestKey.shared(.rsa2048)
        for input in [try key.traditionalPrivateKeyPEM, try key.privateKeyPEM, try key.publicKeyPEM] {
            #expect(await pinctl("hash", try directory.add(input)).output == (try key.pin) + "\n")
        }
    }

    @Test("For several keys, each line shows the source and the kind of key")
    func list() async throws {
        let chain = try directory.add(leaf.pemText + root.pemText, name: "chain.pem")
        let request = try directory.add(TestSigningRequest("csr.test", key: leaf.key).pemText, name: "a.csr")
        let run = await pinctl("hash", chain, request)
        #expect(
            run.lines == [
                "\(try leaf.key.pin)  \(chain)[0]  cert leaf    EC P-256  CN=api.test  2036-01-01 (3329 d)",
                "\(try root.key.pin)  \(chain)[1]  cert CA      EC P-256  CN=Test Root  2036-01-01 (3329 d)",
                "\(try leaf.key.pin)  \(request)         CSR          EC P-256  CN=csr.test",
            ])
        #expect(run.status == 0)
        let long = await pinctl("hash", "-l", request)
        #expect(long.lines == ["\(try leaf.key.pin)  \(request)  CSR          EC P-256  CN=csr.test"])
        let expired = await pinctl("hash", chain, now: Date(timeIntervalSince1970: 2_100_000_000))
        #expect(expired.lines.allSatisfy { $0.hasSuffix("expired 2036-01-01") })
    }

    @Test("The labelled lines of a bundle and its JSON describe each object alike, and a broken one is named in both")
    func linesAndJSON() async throws {
        struct Document: Decodable {
            struct Result: Decodable {
                let index: Int
                let pin: String?
                let key: String?
                let subject: String?
                let notAfter: String?
                let error: String?
            }
            let results: [Result]
        }
        let foreign = try root.leaf("zurich.test") {
            $0.subject = TestName(.organization("Zürich, AG"), .commonName("z"))
        }
        let broken = leaf.pemText.replacing("-----BEGIN CERTIFICATE-----\n", with: "-----BEGIN CERTIFICATE-----\n!")
        let request = try TestSigningRequest("csr.test", key: leaf.key)
        let bundle = try directory.add(
            leaf.pemText + broken + foreign.pemText + request.pemText + root.pemText, name: "bundle.pem")
        let text = await pinctl("hash", bundle)
        let json = await pinctl("hash", "--json", bundle)
        let results = try json.decoded(as: Document.self).results
        #expect(results.map(\.index) == [0, 1, 2, 3, 4])
        #expect(results[1].error?.hasPrefix("\(bundle)[1], line ") == true)
        #expect(results[2].subject == #"CN=z,O=Zürich\, AG"#)
        #expect(text.lines.count == 4)
        for (line, result) in zip(text.lines, results.filter { $0.error == nil }) {
            #expect(line.hasPrefix("\(try #require(result.pin))  \(bundle)[\(result.index)]  "))
            #expect(line.contains("  \(try #require(result.key))  \(try #require(result.subject))"))
            #expect(line.contains("2036-01-01 (3329 d)") == (result.notAfter != nil))
        }
        #expect(text.errors == json.errors)
        #expect(text.status == 2 && json.status == 2)
    }

    @Test("Standard input appears as - in lists")
    func standardInput() async throws {
        _ = try directory.add(leaf.pemText, name: "a.pem")
        let run = try await shell("cat a.pem | pinctl hash - a.pem", in: directory)
        #expect(run.lines.map { $0.split(separator: " ")[1] } == ["-", "a.pem"])
    }

    @Test("--as prints pins in the notation of other systems")
    func spellings() async throws {
        let file = try directory.add(root.pemText)
        let pin = try root.key.pin
        let base64 = pin.dropFirst("sha256/".count)
        #expect(await pinctl("hash", "--as", "okhttp", file).output == "\(pin)\n")
        #expect(await pinctl("hash", "--as=base64", file).output == "\(base64)\n")
        #expect(await pinctl("hash", "--as", "curl", file).output == "sha256//\(base64)\n")
        #expect(await pinctl("hash", "--as", "hpkp", file).output == "pin-sha256=\"\(base64)\"\n")
        let hex = await pinctl("hash", "--as", "hex", file).output.dropLast()
        #expect(hex.count == 64)
        #expect(await pinctl("hash", "--as", "tlsa", file).output == "2 1 1 \(hex)\n")
        #expect(await pinctl("hash", "--as", "tlsa", try directory.add(leaf.pemText)).output.hasPrefix("3 1 1 "))
        let colon = await pinctl("hash", "--as", "colon", file).output.dropLast()
        #expect(colon.replacing(":", with: "").lowercased() == hex)
    }

    @Test("An unreadable file is named, the other pins are printed, and the exit code is 2")
    func partial() async throws {
        let good = try directory.add(leaf.pemText, name: "good.pem")
        let run = await pinctl("hash", "/no/such.pem", good)
        #expect(run.status == 2)
        #expect(run.lines.count == 1)
        #expect(run.output.hasPrefix(try leaf.key.pin))
        #expect(run.errors == "pinctl: /no/such.pem: no such file: check the path\n")
    }

    @Test("CL6: One broken block of 150 is named, and the others are printed")
    func brokenBlock() async throws {
        let broken = leaf.pemText.replacing("\nMII", with: "\n!II")
        let blocks = (0..<150).map { $0 == 97 ? broken : leaf.pemText }
        let file = try directory.add(blocks.joined())
        let run = await pinctl("hash", file)
        #expect(run.status == 2)
        #expect(run.lines.count == 149)
        #expect(run.lines[96].contains("\(file)[96] "))
        #expect(run.lines[97].contains("\(file)[98] "))
        let line = 97 * leaf.pemText.split(separator: "\n").count + 1
        #expect(run.errors.hasPrefix("pinctl: \(file)[97], line \(line): has invalid base64 in line \(line + 1): "))
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test("Nothing of a private key is ever printed")
    func secrets() async throws {
        let key = try TestKey(.p256)
        let pkcs8 = try key.privateKeyPEM
        let body = pkcs8.split(separator: "\n")[1...2].joined()
        let encrypted = try key.encryptedPrivateKeyPEM(passphrase: "secret")
        let inputs = [
            pkcs8.replacing("PRIVATE KEY", with: "OPENSSH PRIVATE KEY"), pkcs8.replacing("PRIVATE KEY", with: body),
            pkcs8.replacing("-----END", with: "----END"), String(pkcs8.dropLast(60)), encrypted,
            TestPEM.block("PRIVATE KEY", Array(try key.privateKeyDER.dropLast())),
            TestPEM.block("CERTIFICATE", try key.privateKeyDER), body,
            "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n\(body)\n"
                + "-----END EC PRIVATE KEY-----\n",
        ]
        for input in inputs {
            for words in [["hash", "-l"], ["hash", "--json"]] {
                let run = await pinctl(words + [try directory.add(input)])
                #expect(run.status == 2)
                #expect(!run.output.contains("sha256/"))
                // Even eight characters of the key's text are too many. A label is printed, but a key doesn't belong
                // there.
                guard !input.contains("BEGIN \(body)") else { continue }
                for start in 0..<(body.count - 8) {
                    let part = body.dropFirst(start).prefix(8)
                    #expect(!run.output.contains(part) && !run.errors.contains(part))
                }
            }
        }
        let run = await pinctl("hash", try directory.add(encrypted, name: "key.p8"))
        #expect(
            run.errors.contains("key.p8: is an encrypted private key: give --password-file FILE, or its public key"))
    }

    @Test("A key written on one line isn't mistaken for a PEM label")
    func keyOnOneLine() async throws {
        let file = try directory.add(TestKey(.ed25519).privateKeyPEM.replacing("\n", with: ""))
        for words in [["hash"], ["hash", "--json"], ["verify", "--host", "api.test"]] {
            let run = await pinctl(words + [file])
            #expect(run.status == 2)
            #expect(run.errors.hasPrefix("pinctl: "))
            #expect(!(run.output + run.errors).contains("PRIVATE KEY"))
        }
    }

    @Test("Unsupported PEM labels and files with only parameters are named")
    func labels() async throws {
        let crl = await pinctl("hash", try directory.add(TestPEM.block("X509 CRL", [0x30, 0]), name: "crl.pem"))
        #expect(crl.errors.contains("crl.pem: is a certificate revocation list (CRL), which has no key to pin"))
        #expect(crl.status == 2)
        let parameters = await pinctl(
            "hash", try directory.add(TestPEM.block("DH PARAMETERS", [0x30, 0]), name: "dh.pem"))
        #expect(parameters.errors.contains("dh.pem: contains parameters but no key"))
        #expect(parameters.status == 2)
    }

    @Test("CL1: A subject with control or direction characters is printed escaped and is valid JSON")
    func hostileSubject() async throws {
        let name = "\u{1B}[2J\u{1B}]52;c;x\u{7}\r\u{9B}\u{202E}moc\u{200B}\nok    bank.test"
        let hostile = try TestCertificate.root(name)
        let file = try directory.add(hostile.pemText)
        let run = await pinctl("hash", "-l", file)
        #expect(run.lines.count == 1)
        #expect(run.output.dropLast().unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) })
        let json = await pinctl("hash", "--json", file)
        let document = try json.decoded(as: Document.self)
        #expect(document.results.count == 1)
        #expect(json.output.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) || $0 == "\n" })

        let path = try directory.add(leaf.pemText, name: "\u{1B}[31m\u{202E}.pem")
        let named = await pinctl("hash", "-l", path)
        #expect(named.output.contains("\\u{1B}[31m\\u{202E}.pem"))
        let missing = await pinctl("hash", "/\u{1B}[31m")
        #expect(missing.errors == "pinctl: /\\u{1B}[31m: no such file: check the path\n")
    }

    struct Document: Decodable {
        struct Result: Decodable {
            let input: String?
            let index: Int?
            let kind: String?
            let pin: String?
            let hex: String?
            let subject: String?
            let role: String?
            let notAfter: String?
            let error: String?
        }
        struct Summary: Decodable {
            let verdict: String
            let exitCode: Int
        }
        let schema: String
        let tool: [String: String]
        let results: [Result]
        let summary: Summary
    }

    @Test("CL5: The output is one JSON document that agrees with the exit code, even when inputs fail")
    func json() async throws {
        let file = try directory.add(leaf.pemText + TestPEM.block("X509 CRL", [0x30, 0]) + (try root.key.publicKeyPEM))
        let run = await pinctl("hash", file, "/no/such", "--json", "--as", "hex")
        let document = try run.decoded(as: Document.self)
        #expect(document.schema == "pinctl.hash/1")
        #expect(document.tool["name"] == "pinctl")
        #expect(document.results.map(\.index) == [0, 1, 2, nil])
        #expect(document.results.map(\.pin) == [try leaf.key.pin, nil, try root.key.pin, nil])
        #expect(document.results.map(\.kind) == ["certificate", nil, "public_key", nil])
        #expect(document.results[0].role == "leaf")
        #expect(document.results[0].subject == "CN=api.test")
        #expect(document.results[0].notAfter == "2036-01-01T00:00:00Z")
        #expect(document.results[0].hex?.count == 64)
        #expect(document.results[1].error?.contains("certificate revocation list") == true)
        #expect(document.results[3].input == "/no/such")
        #expect(document.summary.exitCode == 2)
        #expect(document.summary.verdict == "bad_input")
        #expect(run.status == 2)

        for words in [["hash", "--json"], ["hash", "--json", "--no-such-flag"], ["--json"], ["no-such", "--json"]] {
            let failed = await pinctl(words)
            let document = try failed.decoded(as: Document.self)
            #expect(document.summary.exitCode == 2)
            #expect(failed.status == 2)
        }
    }

    @Test("--quiet prints nothing but errors")
    func quiet() async throws {
        let file = try directory.add(leaf.pemText)
        #expect(await pinctl("hash", "-q", file).output == "")
        let run = await pinctl("hash", "-q", file, "/no/such")
        #expect(run.output == "")
        #expect(run.errors != "")
        #expect(run.status == 2)
        #expect(await pinctl("hash", "-q", "--json", file).output.hasPrefix("{"))
    }
}
