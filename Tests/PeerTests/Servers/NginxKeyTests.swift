import CertificateTrust
import Foundation
import PinctlCommands
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// nginx with an RSA and an ECDSA certificate on one port, and stapled OCSP responses.
@Suite(PeerProgram.nginx.isNeeded, .timeLimit(.minutes(10)))
struct NginxKeyTests {
    let site: PeerSite
    let rsa: TestCertificate
    let staple: [UInt8]
    let nginx: TestDaemon
    let endpoint: Endpoint

    init() async throws {
        site = try PeerSite()
        rsa = try site.origin.intermediate.leaf("pinned.test", key: try .shared(.rsa2048)) { $0.makeValidNow() }
        var response = TestOCSPResponse(site.origin.leaf, issuedBy: site.origin.intermediate)
        let now = Int64(Date().timeIntervalSince1970)
        (response.thisUpdate, response.nextUpdate) = (now - 3600, now + 3600)
        staple = try response.signed(by: site.origin.intermediate)
        let (directory, port) = (site.directory.path, TestDaemon.freePorts(1)[0])
        _ = try site.directory.add(rsa.pemText + site.origin.intermediate.pemText, name: "rsa.pem")
        _ = try site.directory.add(rsa.key.privateKeyPEM, name: "rsa.key")
        _ = try site.directory.add(staple, name: "staple.der")
        _ = try site.directory.add(site.origin.root.pemText, name: "clients.pem")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(directory);" }
        _ = try site.directory.add(
            """
            daemon off;
            master_process off;
            pid \(directory)/nginx.pid;
            error_log \(directory)/nginx.err;
            events {}
            http {
                access_log \(directory)/nginx.log;
                \(temporary.joined(separator: "\n    "))
                server {
                    listen 127.0.0.1:\(port) ssl;
                    ssl_protocols TLSv1.2 TLSv1.3;
                    ssl_certificate \(directory)/origin.pem;
                    ssl_certificate_key \(directory)/origin.key;
                    ssl_certificate \(directory)/rsa.pem;
                    ssl_certificate_key \(directory)/rsa.key;
                    ssl_client_certificate \(directory)/clients.pem;
                    ssl_verify_client optional;
                    ssl_verify_depth 2;
                    ssl_stapling on;
                    ssl_stapling_file \(directory)/staple.der;
                }
            }

            """, name: "nginx.conf")
        nginx = try await TestDaemon(
            [PeerProgram.nginx.path, "-e", directory + "/nginx.err", "-c", directory + "/nginx.conf"], ports: [port])
        endpoint = Endpoint(
            name: try ServerName("pinned.test"), port: port, route: Route(host: try ServerName("127.0.0.1"), port: port)
        )
    }

    private func dial(_ version: DialOptions.Version, _ key: ServerKeyKind? = nil) async throws -> PendingConnection {
        var options = DialOptions()
        options.maximumVersion = version
        options.serverKey = key
        options.requestsStaple = true
        return try await Transport.shared.dial(endpoint, options: options)
    }

    @Test("Each kind of key is served to a client that asks for it", arguments: [DialOptions.Version.tls12, .tls13])
    func keys(version: DialOptions.Version) async throws {
        for (key, leaf) in [(ServerKeyKind.rsa, rsa), (.ecdsa, site.origin.leaf)] {
            let pending = try await dial(version, key)
            let expected = [leaf.derBytes, site.origin.intermediate.derBytes]
            #expect(pending.presented.certificates.map(\.derBytes) == expected)
            #expect(pending.version == (version == .tls12 ? "TLSv1.2" : "TLSv1.3"))
            await pending.refuse()
        }
    }

    @Test(
        "The stapled response is read without completing a handshake",
        arguments: [DialOptions.Version.tls12, .tls13])
    func staple(version: DialOptions.Version) async throws {
        let found = try await dial(version, .ecdsa).staple()
        #expect(found == staple)
        nginx.stop()
        #expect(PeerLog(path: site.directory.path + "/nginx.log").lines.isEmpty)
    }

    @Test(
        "A client certificate is sent without a request",
        arguments: [DialOptions.Version.tls12, .tls13])
    func identity(version: DialOptions.Version) async throws {
        let client = try site.origin.intermediate.client
        let chain = client.pemText + site.origin.intermediate.pemText
        let identity = try ClientIdentity(pem: Array((client.key.privateKeyPEM + chain).utf8))
        let (outcome, staple) = try await dial(version, .ecdsa).show(identity, patience: .milliseconds(300))
        #expect(outcome == .taken && staple == self.staple)
        nginx.stop()
        #expect(!PeerLog(path: site.directory.path + "/nginx.log").lines.contains { $0.contains("\" 200 ") })
    }

    @Test("pinctl check sees both keys, and checks each against the pins")
    func check() async throws {
        let anchors = try site.directory.add(site.origin.root.pemText, name: "anchors.pem")
        let target = "pinned.test:\(endpoint.port)@127.0.0.1"
        for (key, pin) in [("rsa", try rsa.key.pin), ("ecdsa", try site.origin.leaf.key.pin)] {
            let right = await pinctl("check", "--ca-file", anchors, "--pin", pin, "--keys", key, target)
            #expect(right.0 == .good, "\(right.text)")
            let wrong = await pinctl(
                "check", "--ca-file", anchors, "--pin", pin, "--keys", key == "rsa" ? "ecdsa" : "rsa", target)
            #expect(wrong.0 == .finding, "\(wrong.text)")
        }
    }

    @Test("pinctl show prints both keys and the stapled response, and agrees with openssl s_client")
    func show() async throws {
        let anchors = try site.directory.add(site.origin.root.pemText, name: "anchors.pem")
        let target = "pinned.test:\(endpoint.port)@127.0.0.1"
        for (key, suites) in [("rsa", "aRSA"), ("ecdsa", "aECDSA")] {
            let pem = await pinctl("show", "--ca-file", anchors, "--pem", "--keys", key, target).text
            let theirs = try certificates(shownByOpenSSL: endpoint.port, "-tls1_2", "-cipher", suites)
            #expect(theirs.count == 2 && certificates(in: pem) == theirs, "\(key): \(pem)")
        }
        let shown = try ShownServers(await pinctl("show", "--ca-file", anchors, "--json", target).text).results
        #expect(Set(shown.map(\.key)) == ["rsa", "ecdsa"] && shown.allSatisfy { $0.verdict == "ok" })
        #expect(shown.allSatisfy { $0.address == "127.0.0.1:\(endpoint.port)" && $0.tls == "TLSv1.3" })
        let staple = shown.first { $0.key == "ecdsa" }?.staple
        #expect(staple?.status == "good" && staple?.problem == nil)
        let text = await pinctl("show", "--ca-file", anchors, target).text
        #expect(text.contains("  stapled OCSP: good until 2") && text.contains("also serves"), "\(text)")
        #expect(text.contains("TLSv1.3") && text.contains("127.0.0.1:\(endpoint.port)"))
    }

    @Test("pinctl check reports a pin that matches only one of the keys")
    func oneKeyMatches() async throws {
        let (status, text) = await pinctl(
            "check", "--keys", "both", "--ndjson", "--ca-file", try site.directory.add(site.origin.root.pemText),
            "--pin",
            try rsa.key.pin, "pinned.test:\(endpoint.port)@127.0.0.1")
        let lines = text.split(separator: "\n")
        #expect(lines.count == 3)
        let verdicts = lines.dropLast().map { line in
            ["ok", "key_mismatch"].filter { line.contains("\"verdict\":\"\($0)\"") }
                + ["rsa", "ecdsa"].filter { line.contains("\"key\":\"\($0)\"") }
        }
        #expect(Set(verdicts) == [["ok", "rsa"], ["key_mismatch", "ecdsa"]])
        #expect(status == .finding)
    }
}
