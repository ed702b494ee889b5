import CertificatePinning
import CertificateTrust
import Foundation
import PinDialects
import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite("Envoy agrees with this project", PeerProgram.envoy.isNeeded, .timeLimit(.minutes(10)))
struct EnvoyTests {
    let site: PeerSite
    private let roots: String

    init() throws {
        site = try PeerSite()
        roots = try site.directory.add(site.origin.root.pemText, name: "roots.pem")
    }

    /// A listener for cleartext that forwards to a server over TLS, and `lists` in the cluster's validation context.
    private func bootstrap(from port: UInt16, to server: UInt16, _ lists: String = "") -> String {
        """
        static_resources:
          listeners:
          - address: {socket_address: {address: 127.0.0.1, port_value: \(port)}}
            filter_chains:
            - filters:
              - name: envoy.filters.network.tcp_proxy
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
                  stat_prefix: tcp
                  cluster: origin
          clusters:
          - name: origin
            type: STATIC
            connect_timeout: 30s
            load_assignment:
              cluster_name: origin
              endpoints:
              - lb_endpoints:
                - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: \(server)}}}
            transport_socket:
              name: envoy.transport_sockets.tls
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                sni: pinned.test
                common_tls_context:
                  validation_context:
                    trusted_ca: {filename: "\(roots)"}
        \(lists)
        """
    }

    private func validates(_ text: String) throws -> Bool {
        let file = try site.directory.add(text, name: "\(UUID().uuidString).yaml")
        let result = try TestCommand.run([PeerProgram.envoy.path, "--mode", "validate", "-c", file])
        return result.status == 0
    }

    @Test("Envoy validates exactly the hashes that this project reads")
    func hashes() throws {
        let base64 = "C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
        let hex = "0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3"
        let pairs = stride(from: 0, to: 64, by: 2).map { String(Array(hex)[$0..<$0 + 2]) }
        let values = [
            base64, String(base64.dropLast()), " " + base64, base64 + " ", base64 + "\\n", "sha256/" + base64,
            base64.replacing("+", with: "-").replacing("/", with: "_"), base64.replacing("8M=", with: "8N="), "AAAA",
            "",
            hex, hex.uppercased(), String(hex.dropLast()), hex + "00", "sha256:" + hex, " " + hex,
            pairs.joined(separator: ":"), pairs.joined(separator: ":").uppercased(), pairs.joined(separator: " "),
            pairs.joined(separator: ":") + ":", hex.replacing("0b", with: "0:b"), String(repeating: ":", count: 95),
            String(repeating: "g", count: 64), String(repeating: "1", count: 64),
        ]
        var good = 0
        for key in ["verify_certificate_spki", "verify_certificate_hash"] {
            for value in values {
                for text in ["\"\(value)\"", value] where text == value || !value.isEmpty {
                    let file = bootstrap(from: 1, to: 1, "            \(key):\n            - \(text)\n")
                    let isRead = (try? PinDialect.envoy.read(Array(file.utf8), path: "f")) != nil
                    let isValid = try validates(file)
                    #expect(isRead == isValid || Self.isStricter(text), "\(key): [\(text)]")
                    if isValid { good += 1 }
                }
            }
        }
        #expect(good >= 8)
    }

    /// Texts that this project refuses although Envoy may read them: YAML that isn't supported.
    private static func isStricter(_ text: String) -> Bool { text.isEmpty }

    @Test("A written policy is a valid configuration")
    func written() throws {
        let pins = ["one", "two"].map { SPKIFingerprint(hashing: Array($0.utf8).span).description }
        let policy = try PolicyFile(
            bytes: Array(
                """
                { "version": 1, "domains": [
                  { "host": "pinned.test", "pins": ["\(pins[0])", "cert-\(pins[1])"] },
                  { "host": "192.0.2.7", "pins": ["\(pins[1])"] } ] }
                """.utf8), path: "p")
        let converted = CanonicalPolicy(policy).converted(to: .envoy, at: Date())
        let lines = String(decoding: try PinDialect.envoy.write(converted.policy), as: UTF8.self)
            .split(separator: "\n").map { "  \($0)\n" }
        #expect(try validates("static_resources:\n" + lines.joined()))
    }

    @Test("Envoy connects exactly if the replaced pins match the leaf")
    func connects() async throws {
        let server = try LoopbackServer(chain: site.origin.chain)
        let leaf = try X509Certificate(derBytes: site.origin.leaf.derBytes)
        let issuer = try X509Certificate(derBytes: site.origin.intermediate.derBytes)
        let other = SPKIFingerprint(hashing: [1, 2, 3].span).description
        let rows: [(pins: [String], connects: Bool)] = [
            ([leaf.spkiFingerprint.description], true), ([other], false),
            ([other, leaf.spkiFingerprint.description], true), ([leaf.fingerprint.description], true),
            ([other, leaf.fingerprint.description], true), (["cert-" + other, leaf.spkiFingerprint.description], true),
            (["cert-" + other], false), ([issuer.spkiFingerprint.description], false),
            ([issuer.fingerprint.description], false),
        ]
        for row in rows {
            let port = TestDaemon.freePorts(1)[0]
            let pins = row.pins.map { "\"\($0)\"" }.joined(separator: ", ")
            let policy = try PolicyFile(
                bytes: Array(
                    #"{ "version": 1, "domains": [ { "host": "pinned.test", "pins": [\#(pins)] } ] }"#.utf8), path: "p")
            let converted = CanonicalPolicy(policy).converted(to: .envoy, at: Date()).policy
            let text = Array(bootstrap(from: port, to: server.port).utf8)
            let file = try site.directory.add(
                String(
                    decoding: try PinDialect.envoy.replacing(text, path: "envoy.yaml", with: converted), as: UTF8.self),
                name: "envoy-\(port).yaml")
            let daemon = try await TestDaemon(
                [
                    PeerProgram.envoy.path, "-c", file, "--concurrency", "1", "--use-dynamic-base-id", "--log-level",
                    "error",
                ], ports: [port])
            let url = "http://127.0.0.1:\(port)/"
            if row.connects {
                #expect(try await site.session().get(url) == ("hello", 200), "\(row.pins)")
            } else {
                _ = try await site.session().failure(url)
            }
            daemon.stop()
        }
        // The daemon's first connection is also forwarded, so only what the server was told counts.
        #expect(server.records.count { !$0.applicationBytes.isEmpty } == rows.count { $0.connects })
    }
}
