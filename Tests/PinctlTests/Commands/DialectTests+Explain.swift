import FoundationEssentials
import PinctlTestPKI
import Testing

extension DialectTests {
    @Test("explain shows the rule for port 443, or that of HOST:PORT, and the ports where other rules apply")
    func ports() async throws {
        let pin = try site.leaf.key.pin
        let file = try site.directory.add(
            """
            { "version": 1, "deny": ["\(unknownPin)"], "domains": [
              { "host": "api.test", "subdomains": true, "pins": ["\(pin)"] },
              { "host": "v1.api.test", "ports": [8443, 9443], "pins": ["\(pin)"] },
              { "host": "v2.api.test", "ports": [443], "pins": ["\(pin)"] },
              { "host": "www.test", "ports": [8443], "pins": ["\(pin)"] },
            ] }
            """, name: "ports.jsonc")
        let one = "one rule applies, as the policy file matches hosts"
        let none = "no rule covers it: the policy file verifies the chain and refuses only denied keys"
        // The headline, the rule of each line for other ports, and the line of the rule that applies.
        let rows: [(host: String, headline: String, rule: Int?, others: [String])] = [
            ("api.test", "api.test: \(one)", 2, []),
            ("other.test", "other.test: \(none)", nil, []),
            (
                "v1.api.test", "v1.api.test, port 443: \(one)", 2,
                ["port 8443, 9443: the rule for v1.api.test  \(file):3:3"]
            ),
            (
                "v1.api.test:8443", "v1.api.test, port 8443: \(one)", 3,
                ["every other port: the rule for api.test and all below  \(file):2:3"]
            ),
            (
                "v2.api.test", "v2.api.test, port 443: \(one)", 4,
                ["every other port: the rule for api.test and all below  \(file):2:3"]
            ),
            ("www.test", "www.test, port 443: \(none)", nil, ["port 8443: the rule for www.test  \(file):5:3"]),
            ("https://www.test:8443/", "www.test, port 8443: \(one)", 5, ["every other port: no rule"]),
        ]
        for (host, headline, rule, others) in rows {
            let run = await pinctl("explain", host, "--policy", file)
            #expect(run.lines[0] == headline, "\(run)")
            #expect(run.status == (rule == nil ? 1 : 0), "\(run)")
            #expect(run.lines.filter { $0.contains("port: ") || $0.hasPrefix("  port ") } == others.map { "  \($0)" })
            if let rule { #expect(run.lines[1].contains("  \(file):\(rule):3  "), "\(run)") }
            // verify decides by the same rule.
            guard let name = host.split(separator: ":").first, !host.contains(":") else { continue }
            let leaf = try site.intermediate.leaf(String(name))
            let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
            let verdict = await pinctl(
                "verify", chain, "--host", String(name), "--policy", file, "--ca-file", site.rootFile)
            #expect(verdict.output.contains("\(file):\(rule ?? 0):3)") == (rule != nil), "\(verdict)")
        }
        let json = await pinctl("explain", "www.test", "--policy", file, "--json")
        #expect(json.output.contains(#""port":443,"#) && json.output.contains(#""other_ports":[{"ports":[8443],"#))
    }

    @Test("explain matches hosts as the file's own system does")
    func host() async throws {
        let file = try site.directory.add(
            "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(unknownPin)\").build()", name: "Deep.kt")
        let apex = await pinctl("explain", "api.test", "--policy", file)
        #expect(apex.lines == ["api.test: no rule covers it: OkHttp only verifies the chain"])
        let below = await pinctl("explain", "www.api.test", "--policy", file)
        #expect(below.lines[0] == "www.api.test: one rule applies, as OkHttp matches hosts")
        #expect(below.lines[2].contains(unknownPin))
        #expect(apex.status == 1)
        let target = await pinctl("explain", "https://www.api.test:8443/path", "--policy", file)
        #expect(target.lines[0] == "www.api.test: one rule applies, as OkHttp matches hosts")
        #expect(target.status == 0)
        let pasted = await pinctl("explain", file)
        #expect(pasted.errors.contains("is a file: give it as pinctl explain - < "))
        #expect(pasted.status == 2)
        let other = await pinctl("explain", "api.test", "--policy", file, "--as", "android")
        #expect(other.lines[0].hasPrefix("api.test: one rule applies, as Android"))
        #expect(other.errors.contains("scope-widened"))
    }

    @Test("explain reports whether a digest is a pin, the digest of something else, or unknown")
    func digest() async throws {
        let pin = try site.leaf.key.pin
        let good = await pinctl("explain", pin, "--in", site.chainFile)
        #expect(good.lines == ["\(pin):", "  the pin of \(site.chainFile)[0]  CN=api.test"])
        #expect(good.status == 0)

        let file = site.directory.path + "/chain.pem"
        let command = "openssl x509 -in \(file) -outform der | openssl dgst -sha256 -binary | openssl base64"
        let certificate = try await shell(command).output.filter { !$0.isWhitespace }
        let mistaken = await pinctl("explain", certificate, "--in", site.chainFile)
        #expect(mistaken.lines[1].hasPrefix("  not the pin, but the SHA-256 of "))
        #expect(mistaken.lines[1].hasSuffix("write \(pin)"))
        #expect(mistaken.status == 1)

        let empty = await pinctl("explain", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        #expect(empty.lines[1].hasPrefix("  not a pin: "))
        #expect(empty.status == 1)
        let named = await pinctl("explain", unknownPin, "--policy", policy)
        #expect(named.lines[1].hasPrefix("  pinned: a pin of the rule for api.test"))
        let directory = try TestDirectory()
        _ = try directory.add(site.leaf.key.encryptedPrivateKeyPEM(passphrase: "open sesame"), name: "leaf.p8")
        _ = try directory.add("no key\n", name: "README")
        let password = try site.directory.add("open sesame\n")
        let opened = await pinctl("explain", pin, "--in", directory.path, "--password-file", password)
        #expect(opened.lines.contains("  the pin of \(directory.path)/leaf.p8[0]") && opened.status == 0, "\(opened)")
        let closed = await pinctl("explain", pin, "--in", directory.path)
        #expect(closed.errors.contains("leaf.p8[0]: is an encrypted private key") && closed.status == 2)
        let unknown = await pinctl("explain", unknownPin, "--in", site.chainFile)
        #expect(unknown.lines[1].contains("not a digest of the 2 keys and certificates"))
        #expect(unknown.status == 1)
    }

    @Test("explain searches a server's keys without sending a request")
    func server() async throws {
        try await site.serve { server in
            let pin = try site.intermediate.key.pin
            let run = await pinctl("explain", pin, "--timeout=60", "--connect-timeout=60", "--in", server.target())
            #expect(run.lines[1].hasPrefix("  the pin of api.test:\(server.port) via "))
            #expect(run.lines[1].hasSuffix("[1]  CN=Test Intermediate"))
            #expect(await server.ended(1)[0].applicationBytes.isEmpty)
        }
    }

    @Test("explain reads OkHttp's exception from standard input")
    func exception() async throws {
        let text = """
            E/App: javax.net.ssl.SSLPeerUnverifiedException: Certificate pinning failure!
              Peer certificate chain:
                \(try site.leaf.key.pin): CN=api.test
              Pinned certificates for api.test:
                \(unknownPin)
            """
        let run = try await shell(
            "pinctl explain - --in chain.pem < \(try site.directory.add(text))", in: site.directory)
        #expect(run.lines.first == "OkHttp rejected api.test: no pin matched")
        #expect(run.output.contains("none of the pinned keys was served"))
        #expect(run.status == 1)
        let nothing = try await shell("echo no | pinctl explain -")
        #expect(nothing.status == 2)
        #expect(nothing.errors.contains("contains no message of a program that rejected a server"))
    }

    @Test("explain compares the keys in a message with the policy, and says what to run for a message without keys")
    func messages() async throws {
        let pin = try site.leaf.key.pin
        let policy = try site.directory.add(
            "{ \"version\": 1, \"domains\": [{ \"host\": \"api.test\", \"pins\": [\"\(pin)\"] }] }", name: "log.jsonc")
        let served = "match server's certificate: pin-" + pin.replacing("sha256/", with: "sha256:")
        let openconnect =
            "SSL negotiation with api.test\nNone of the 1 fingerprint(s) specified via --servercert \(served)"
        let curl = "curl: (90) SSL: public key does not match pinned public key"
        let trustKit = "TrustKit: Pin validation failed for"
        let rows = [
            (openconnect, "accepts this chain, but the app has other pins"),
            (
                openconnect.replacing(served, with: served.replacing(pin.dropFirst(7), with: unknownPin.dropFirst(7))),
                "also refuses this chain"
            ),
            (curl, "pinctl check HOST"), ("\(trustKit) api.test", "log.jsonc has 1 pin for api.test: list it with"),
            ("\(trustKit) api.test", "pinctl check api.test"), ("\(trustKit) b.test", "has no rule for b.test"),
            ("curl: (60) SSL certificate problem: unable to get issuer", "whatever the pins are"),
            ("NSURLErrorDomain Code=-999", "delegates cancel requests if pins don't match"),
            ("\(trustKit) \u{1B}[31mapi.test\u{7}", "TrustKit rejected a server"),
        ]
        for (text, expected) in rows {
            let file = try site.directory.add(text)
            let run = try await shell("pinctl explain - --policy \(policy) < \(file)")
            #expect(run.status == 1 && run.output.contains(expected), "\(text): \(run)")
            #expect(!run.output.contains("\u{1B}"))
            let json = try await shell("pinctl explain - --json --policy \(policy) < \(file)")
            #expect(json.status == 1 && json.output.contains("\"cause\":"), "\(json)")
        }
    }

    @Test("The messages of programs on this machine are understood")
    func programs() async throws {
        let wrong = "sha256//AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await site.serve { server in
            let url = "https://api.test:\(server.port)/"
            let resolve = "api.test:\(server.port):127.0.0.1"
            let python = "import urllib.request as u; u.urlopen('https://127.0.0.1:\(server.port)/')"
            let rows = [
                (
                    "curl", "curl -sS --resolve \(resolve) --cacert root.pem --pinnedpubkey \(wrong) \(url)",
                    "curl rejected"
                ),
                ("curl", "curl -sS --resolve \(resolve) \(url)", "doesn't trust the certificate"),
                (
                    "curl",
                    "curl -sS --connect-to b.test:443:127.0.0.1:\(server.port) --cacert root.pem https://b.test/",
                    "curl rejected b.test: the certificate isn't valid for this hostname"
                ),
                (
                    "git",
                    "git -c http.curloptResolve=\(resolve) -c http.sslCAInfo=$PWD/root.pem "
                        + "-c http.pinnedPubkey=\(wrong) ls-remote \(url)",
                    "git rejected api.test: no pin matched"
                ),
                ("wget", "wget -nv -O- https://127.0.0.1:\(server.port)/", "wget rejected 127.0.0.1"),
                ("python3", "python3 -c \"\(python)\"", "doesn't trust the certificate"),
                (
                    "openconnect",
                    "openconnect --servercert pin-sha256:\(wrong.dropFirst(8)) "
                        + "https://127.0.0.1:\(server.port)/", try site.leaf.key.pin
                ),
            ]
            for (program, command, expected) in rows {
                guard TestCommand.isPresent(program, "--version") else {
                    print("SKIPPED: \(program) is not installed, so its message wasn't read")
                    continue
                }
                let run = try await shell("\(command) 2>&1 < /dev/null | pinctl explain -", in: site.directory)
                #expect(run.status == 1 && run.output.contains(expected), "\(command): \(run)")
            }
        }
    }

    @Test("explain reports a denied pin as denied, and lint reads exported Swift")
    func denied() async throws {
        let pin = try site.leaf.key.pin
        let file = try site.directory.add(
            #"{ "version": 1, "deny": ["\#(pin)"], "domains": [{ "host": "api.test", "pins": ["\#(unknownPin)"] }] }"#)
        let run = await pinctl("explain", pin, "--policy", file)
        #expect(run.lines[1] == "  denied by the policy, at any position")
        #expect(run.status == 1)
        let swift = await pinctl("export", "--to", "swift", file)
        #expect(swift.status == 0)
        let lint = await pinctl("lint", try site.directory.add(swift.output))
        #expect(lint.status == 0 && lint.errors == "", "\(lint)")
        let other = await pinctl(
            "lint", try site.directory.add(swift.output.replacing("try PinningPolicy", with: "more()")))
        #expect(other.output.contains("this isn't Swift as pinctl export writes it"), "\(other)")
        #expect(other.status == 2)
    }

    @Test("explain searches a server's chain and the trust store behind it, since a server doesn't send the root")
    func explainAtServer() async throws {
        try await site.serve { server in
            for (pin, place) in [
                (try site.leaf.key.pin, "the pin of api.test:\(server.port) via "),
                (try site.root.key.pin, "the pin of the trust store, on the path of "),
            ] {
                let run = await pinctl("explain", pin, "--in", server.target(), "--ca-file", site.rootFile)
                #expect(run.status == 0 && run.output.contains(place), "\(run.output)\(run.errors)")
            }
            let unknown = await pinctl("explain", unknownPin, "--in", server.target(), "--ca-file", site.rootFile)
            #expect(unknown.status == 1 && unknown.output.contains("not a digest of the 3 keys"), "\(unknown.output)")
        }
    }

    @Test(
        "explain reports the expiration day of a pin-set for devices of all time zones",
        arguments: [
            ("2026-11-19T11:00:00Z", ", until 2026-11-20 (stop-pinning)"),
            ("2026-11-19T13:00:00Z", ", expired 2026-11-20 (stop-pinning) where that day has begun"),
            ("2026-11-20T11:00:00Z", ", expired 2026-11-20 (stop-pinning) where that day has begun"),
            ("2026-11-20T13:00:00Z", ", expired 2026-11-20 (stop-pinning)"),
        ])
    func expiredConfig(time: String, expected: String) async throws {
        let file = try site.directory.add(androidText([unknownPin, try site.leaf.key.pin], expiration: "2026-11-20"))
        let run = await pinctl("explain", "api.test", "--policy", file, "--at", time)
        #expect(run.lines[1].hasSuffix(expected), "\(run.lines)")
    }
}
