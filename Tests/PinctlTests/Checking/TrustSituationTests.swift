import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Situations in which a server presents a chain that `check` refuses. Each failure has at most one cause, whose remedy
/// leads to it.
@Suite("Chains that aren't trusted")
struct TrustSituationTests {
    typealias Name = TestCertificate.GeneralName

    struct NameRow: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let host: String
        let names: [Name]
        var commonName = "device"
        let reason: String
        let remedy: String
    }

    private static func dns(
        _ name: String, _ text: String, _ reason: String, host: String = "api.test"
    ) -> NameRow {
        NameRow(
            testDescription: name, host: host, names: [.dns(text)], reason: reason,
            remedy: "reissue it with subjectAltName \(host.first?.isNumber == true ? "IP" : "DNS"):\(host)")
    }

    private static let nameRows: [NameRow] = [
        dns(
            "an address in a DNS name", "192.168.1.1",
            "192.168.1.1 is in subjectAltName as a DNS name, not as an IP address", host: "192.168.1.1"),
        dns(
            "an address with a port in a DNS name", "10.0.0.7:8443", "10.0.0.7 is in subjectAltName as a DNS name",
            host: "10.0.0.7"),
        dns(
            "an address in a DNS name after a blank", " 127.0.0.1", "127.0.0.1 is in subjectAltName as a DNS name",
            host: "127.0.0.1"),
        dns("a blank after the name", "api.test ", "the DNS name \"api.test \" has a blank or line end"),
        dns("a line end after the name", "api.test\n", "has a blank or line end"),
        dns("a blank before the name", " api.test", "the DNS name \" api.test\" has a blank"),
        dns("a port", "api.test:8443", "the DNS name \"api.test:8443\" has a port"),
        dns("a URL", "https://api.test/v1", "the DNS name \"https://api.test/v1\" is a URL"),
        dns("a URL with a port", "https://api.test:8443", "is a URL"),
        dns(
            "two names in one entry", "www.test,api.test",
            "the DNS name \"www.test,api.test\" has several names in one entry"),
        dns("two names with a blank", "www.test api.test", "has several names in one entry"),
        dns(
            "the prefix of OpenSSL's configuration", "DNS:api.test", "the DNS name \"DNS:api.test\" has the prefix DNS:"
        ),
        dns(
            "a wildcard for another depth", "*.test",
            "\"*.test\" covers exactly one label in place of the *, so it doesn't cover a.api.test",
            host: "a.api.test"),
        NameRow(
            testDescription: "a wildcard below a single label", host: "api.test", names: [.dns("*.test")],
            reason: "certificate is valid for *.test, not api.test",
            remedy: "connect to one of its names, or serve a certificate for api.test"),
        dns("a wildcard for the domain itself", "*.api.test", "so it doesn't cover api.test"),
        NameRow(
            testDescription: "only the common name", host: "api.test", names: [], commonName: "api.test",
            reason: "api.test is only in the common name, which is ignored",
            remedy: "reissue it with subjectAltName DNS:api.test"),
        NameRow(
            testDescription: "only the common name, beside another name", host: "api.test", names: [.dns("www.test")],
            commonName: "api.test", reason: "api.test is only in the common name, which is ignored",
            remedy: "reissue it with subjectAltName DNS:api.test"),
        NameRow(
            testDescription: "an address in the common name", host: "192.0.2.9", names: [], commonName: "192.0.2.9",
            reason: "192.0.2.9 is only in the common name", remedy: "reissue it with subjectAltName IP:192.0.2.9"),
        NameRow(
            testDescription: "no names at all", host: "api.test", names: [],
            reason: "no DNS name or IP address in subjectAltName", remedy: "reissue it with subjectAltName DNS:api.test"
        ),
        NameRow(
            testDescription: "a URI", host: "api.test", names: [.uri("https://api.test/")],
            reason: "api.test is in subjectAltName as a URI, which is ignored",
            remedy: "reissue it with subjectAltName DNS:api.test"),
        NameRow(
            testDescription: "an email address", host: "api.test", names: [.email("api.test")],
            reason: "api.test is in subjectAltName as an email address",
            remedy: "reissue it with subjectAltName DNS:api.test"),
        NameRow(
            testDescription: "the text of an address as its bytes", host: "10.1.2.3",
            names: [.ip(Array("10.1.2.3".utf8))],
            reason: "its IP address entry for 10.1.2.3 has 8 bytes instead of 4",
            remedy: "reissue it with subjectAltName IP:10.1.2.3"),
        NameRow(
            testDescription: "an address with its mask", host: "10.1.2.3",
            names: [.ip([10, 1, 2, 3, 255, 255, 255, 0])],
            reason: "its IP address entry for 10.1.2.3 has 8 bytes",
            remedy: "reissue it with subjectAltName IP:10.1.2.3"),
        NameRow(
            testDescription: "another name", host: "api.test", names: [.dns("static.example")],
            reason: "certificate is valid for static.example, not api.test",
            remedy: "connect to one of its names, or serve a certificate for api.test"),
        NameRow(
            testDescription: "an address of another host", host: "192.0.2.1",
            names: [.dns("192.0.2.2"), .ip([192, 0, 2, 3])],
            reason: "certificate is valid for 192.0.2.2, 192.0.2.3, not 192.0.2.1",
            remedy: "connect to one of its names, or serve a certificate for 192.0.2.1"),
        NameRow(
            testDescription: "an email address at the host", host: "api.test",
            names: [.email("admin@api.test"), .dns("b.test")],
            reason: "certificate is valid for b.test, not api.test", remedy: "connect to one of its names"),
    ]

    @Test("A name that was meant for the host is shown with what is wrong with it", arguments: nameRows)
    func names(row: NameRow) async throws {
        let site = try PinctlSite()
        let leaf = try site.intermediate.leaf {
            $0.subject = TestName(.commonName(row.commonName))
            $0.alternativeNames = row.names
        }
        try await site.serve([leaf, site.intermediate]) { server in
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", try leaf.key.pin,
                "\(row.host):443@127.0.0.1:\(server.port)")
            #expect(run.status == 4)
            #expect(
                run.lines[0].contains("hostname mismatch (") && run.lines[0].contains(row.reason), "\(run.lines[0])")
            #expect(run.lines[0].contains("): \(row.remedy)"), "\(run.lines[0])")
            #expect(!run.lines[0].contains("valid for \(row.host)"), "\(run.lines[0])")
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int32
        /// The identifiers of the causes.
        let causes: [String]
        /// Words of the output, and words that aren't in it.
        let words: [String]
        let never: [String]
        let chain: @Sendable (PinctlSite) throws -> [TestCertificate]
        /// The pins of the rule, or the site's leaf.
        var pins: @Sendable (PinctlSite) throws -> [String] = { ["\"\(try $0.leaf.key.pin)\""] }
    }

    private static let rows: [Row] = [
        Row(
            testDescription: "a leaf without its intermediate", status: 4, causes: ["issuer-missing"],
            words: [
                "the chain lacks the certificate of CN=Test Intermediate, which the server doesn't send",
                "configure the server to send its intermediate",
            ],
            never: ["TLS-intercepting proxy", "isn't an expected root", "add the root to the trust store"],
            chain: { [try $0.intermediate.leaf("api.test")] }),
        Row(
            testDescription: "a leaf with the root, without its intermediate", status: 4, causes: ["issuer-missing"],
            words: ["CN=Test Intermediate", "configure the server to send its intermediate"],
            never: ["isn't an expected root"], chain: { [try $0.intermediate.leaf("api.test"), $0.root] }),
        Row(
            testDescription: "a leaf with another intermediate", status: 4, causes: ["issuer-missing"],
            words: ["CN=Test Intermediate", "configure the server to send its intermediate"],
            never: ["isn't an expected root"],
            chain: { [try $0.intermediate.leaf("api.test"), try $0.root.intermediate("Old Intermediate")] }),
        Row(
            testDescription: "a pinned leaf without its intermediate", status: 4, causes: ["issuer-missing"],
            words: ["configure the server to send its intermediate"], never: ["isn't an expected root"],
            chain: { [$0.leaf] }),
        Row(
            testDescription: "a chain to an unknown root", status: 4, causes: ["inspected"],
            words: ["the chain leads to CN=Unrelated, which isn't an expected root"],
            never: ["lacks the certificate", "send its intermediate"],
            chain: { _ in
                let root = try TestCertificate.root("Unrelated")
                let intermediate = try root.intermediate("Unrelated Intermediate")
                return [try intermediate.leaf("api.test"), intermediate]
            }),
        Row(
            testDescription: "a self-signed certificate", status: 4, causes: ["self-signed"],
            words: ["CN=api.test, is self-signed", "compare it with the file on the server"],
            never: ["lacks the certificate", "TLS-intercepting"],
            chain: { _ in [try TestCertificate.selfSigned(.server(["api.test"]))] }),
        Row(
            testDescription: "a self-signed default certificate", status: 4, causes: ["default-certificate"],
            words: ["presents a self-signed certificate, CN=localhost", "configure the certificate for this hostname"],
            never: ["trust it", "--ca-file", "reissue it"],
            chain: { _ in [try TestCertificate.selfSigned(.server(["localhost"]))] }),
        Row(
            testDescription: "Traefik's default certificate", status: 4, causes: ["default-certificate"],
            words: ["the default certificate of Traefik", "configure the certificate for this hostname"],
            never: ["--ca-file"],
            chain: { _ in
                var settings = TestCertificate.Settings.server(["0123abcd.traefik.default"])
                settings.subject = TestName(.commonName("TRAEFIK DEFAULT CERT"))
                return [try TestCertificate.selfSigned(settings)]
            }),
        Row(
            testDescription: "the ingress controller's default certificate", status: 4, causes: ["default-certificate"],
            words: ["the default certificate of the Kubernetes ingress controller"], never: ["--ca-file"],
            chain: { _ in
                var settings = TestCertificate.Settings.server(["ingress.local"])
                settings.subject = TestName(.commonName("Kubernetes Ingress Controller Fake Certificate"))
                return [try TestCertificate.selfSigned(settings)]
            }),
        Row(
            testDescription: "a replaced intermediate", status: 1, causes: ["intermediate-changed"],
            words: [
                "the intermediate CA changed to CN=Next Intermediate", "serve a chain with the pinned key again",
                "released apps keep their pins",
            ],
            never: [
                "new key",
                "(confirm on the server itself that pinctl hash of its certificate file prints the served leaf pin), "
                    + "pin the root",
            ],
            chain: {
                let next = try $0.root.intermediate("Next Intermediate")
                return [try next.leaf("api.test"), next]
            },
            pins: { [#"{ "pin": "\#(try $0.intermediate.key.pin)", "role": "intermediate" }"#] }),
        Row(
            testDescription: "a pin without a role, of which no key is served", status: 1, causes: ["no-key-served"],
            words: [
                "no certificate of the chain, which ends at CN=Test Root, has a pinned key",
                "serve a chain with a pinned key again",
            ],
            never: ["new key", "CA changed", "the leaf's"], chain: { $0.chain }, pins: { _ in ["\"\(unknownPin)\""] }),
        Row(
            testDescription: "the pin of a public root without a role", status: 1, causes: ["authority-changed"],
            words: ["the CA changed from isrg-root-x1 to CN=Test Root"], never: ["new key"], chain: { $0.chain },
            pins: { _ in ["\"sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=\""] }),
        Row(
            testDescription: "an expired leaf", status: 4, causes: [],
            words: [
                "certificate has expired",
                "): renew it with a pinned key or from a pinned CA, because its own key isn't pinned, or check the",
            ],
            never: ["--ca-file", "clock is probably"],
            chain: { [try $0.intermediate.leaf("api.test") { $0.notAfter = $0.notBefore + 86_400 }, $0.intermediate] }),
        Row(
            testDescription: "an expired intermediate", status: 4, causes: [],
            words: [
                "certificate 1 (CN=Old Intermediate): certificate has expired",
                "): serve a current certificate of this CA, or check the clock",
            ],
            never: ["renew it", "--ca-file"],
            chain: {
                let old = try $0.root.intermediate("Old Intermediate") { $0.notAfter = $0.notBefore + 86_400 }
                return [try old.leaf("api.test"), old]
            }),
        Row(
            testDescription: "an expired intermediate above another", status: 4, causes: [],
            words: ["certificate 2 (CN=Old Intermediate)", "serve a current certificate of this CA"],
            never: ["renew it"],
            chain: {
                let old = try $0.root.intermediate("Old Intermediate") { $0.notAfter = $0.notBefore + 86_400 }
                let sub = try old.intermediate("Sub Intermediate")
                return [try sub.leaf("api.test"), sub, old]
            }),
        Row(
            testDescription: "the certificate of another host", status: 4, causes: [],
            words: ["certificate is valid for www.test, not api.test", "or serve a certificate for api.test"],
            never: ["reissue it"], chain: { [try $0.intermediate.leaf("www.test"), $0.intermediate] }),
    ]

    private struct Document: Decodable {
        struct Result: Decodable {
            struct Cause: Decodable { let cause: String }
            let diagnosis: [Cause]?
        }
        let results: [Result]
    }

    @Test("A refused chain has one cause, and no words about another", arguments: rows)
    func chains(row: Row) async throws {
        let site = try PinctlSite()
        let policy = try site.policy(try row.pins(site).joined(separator: ", "))
        try await site.serve(try row.chain(site)) { server in
            let words = ["--ca-file", site.rootFile, "--policy", policy, server.target()]
            let run = await pinctl(["check"] + words)
            #expect(run.status == row.status)
            for wanted in row.words { #expect(run.output.contains(wanted), "\(wanted): \(run.output)") }
            for unwanted in row.never { #expect(!run.output.contains(unwanted), "\(unwanted): \(run.output)") }
            let json = try await pinctl(["check", "--json"] + words).decoded(as: Document.self)
            #expect(json.results.first?.diagnosis?.map(\.cause) ?? [] == row.causes)
        }
    }

    @Test(
        "A server that requires a client certificate is judged by its own, which it sends before",
        arguments: [
            LoopbackServer.TLSVersion.tls12, .tls13,
        ])
    func clientCertificate(version: LoopbackServer.TLSVersion) async throws {
        let site = try PinctlSite()
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.clientAuthentication = .init(roots: [site.root], isRequired: true)
        }
        try await server.run { server in
            for (pin, status) in [(try site.leaf.key.pin, Int32(0)), (unknownPin, 1)] {
                for flags in [[], ["--first"]] {
                    let words = ["check", "--ca-file", site.rootFile, "--pin", pin, server.target()] + flags
                    let run = await pinctl(words)
                    #expect(run.status == status && run.errors.isEmpty, "\(run)")
                    #expect(run.lines[0].contains(status == 0 ? "matched" : "pin mismatch"))
                }
            }
        }
    }

    @Test("The clock isn't blamed if the time was given", arguments: ["2020-01-01", "2099-01-01"])
    func givenTime(time: String) async throws {
        let site = try PinctlSite()
        try await site.serve { server in
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", unknownPin, "--at", time, server.target())
            #expect(run.status == 4)
            #expect(!run.output.contains("set the clock") && !run.output.contains("clock is probably"), "\(run.output)")
        }
    }

    @Test("--pin with a root on a chain to another root says nothing about the leaf")
    func rootPin() async throws {
        let site = try PinctlSite()
        let other = try TestCertificate.root("Other Root")
        try await site.serve { server in
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", try other.key.pin, server.target())
            #expect(run.status == 1)
            #expect(run.output.contains("no certificate of the chain, which ends at CN=Test Root, has a pinned key"))
            #expect(!run.output.contains("new key") && !run.output.contains("backup key"), "\(run.output)")
        }
    }

    @Test(
        "The renewal of an expired certificate keeps its key only if that is pinned",
        arguments: [
            ("leaf", "leaf", true), ("leaf", "any", true), ("leaf", "ca", false), ("root", "any", false),
            ("issuer", "intermediate", false),
        ])
    func expiredKey(key: String, role: String, keepsKey: Bool) async throws {
        let site = try PinctlSite()
        let keys = [
            "leaf": try site.leaf.key.pin, "issuer": try site.intermediate.key.pin, "root": try site.root.key.pin,
        ]
        let policy = try site.policy("{ \"pin\": \"\(keys[key] ?? "")\", \"role\": \"\(role)\" }, \"\(unknownPin)\"")
        let words = ["check", "--ca-file", site.rootFile, "--files", site.chainFile, "--at", "2048-01-01"]
        let run = await pinctl(words + ["--policy", policy])
        #expect(run.status == 4, "\(run)")
        for (text, isExpected) in [
            ("renew it with the same key, which is pinned, or check the clock", keepsKey),
            ("renew it with a pinned key or from a pinned CA, because its own key isn't pinned, or", !keepsKey),
        ] {
            #expect(run.output.contains(text) == isExpected, "\(run)")
        }
    }

    @Test("init advises --ca-file only if a root is missing", arguments: ["expired", "name", "unknown", "gone"])
    func initial(kind: String) async throws {
        let site = try PinctlSite()
        let leaf = try site.intermediate.leaf(kind == "name" ? "other.test" : "api.test") {
            if kind == "expired" { $0.notAfter = $0.notBefore + 86_400 }
        }
        try await site.serve([leaf, site.intermediate]) { server in
            let target = kind == "gone" ? "api.test:1@127.0.0.1" : server.target()
            let roots = kind == "unknown" ? [] : ["--ca-file", site.rootFile]
            let empty = try site.directory.add(try TestCertificate.root("Unrelated").pemText)
            // The advice isn't given if --ca-file is used, so the root is in the system's store.
            let run = await pinctl(
                ["init", target], variables: ["SSL_CERT_FILE": roots.isEmpty ? empty : site.rootFile])
            #expect(run.status == (kind == "gone" ? 3 : 4))
            #expect(run.output.isEmpty)
            #expect(run.errors.contains("--ca-file") == (kind == "unknown"), "\(run.errors)")
            #expect(run.errors.contains("nothing is written"))
        }
    }
}
