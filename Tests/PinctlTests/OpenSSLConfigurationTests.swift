import FoundationEssentials
import PinctlTestPKI
import Testing

/// The program on systems whose OpenSSL is configured in other ways, which must apply whatever library context is used.
@Suite("OpenSSL's configuration")
struct OpenSSLConfigurationTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let configuration: String
        /// The exit statuses of a check of files, and of one of a server.
        let files: Int32
        let server: Int32
    }

    static let rows = [
        Row(testDescription: "nothing", configuration: "", files: 0, server: 0),
        Row(
            testDescription: "a provider that is the default one", files: 0, server: 0,
            "openssl_conf = main", "[main]", "providers = all", "[all]", "default = on", "[on]", "activate = 1"),
        Row(
            testDescription: "only a provider without algorithms", files: 4, server: 3,
            "openssl_conf = main", "[main]", "providers = all", "[all]", "null = on", "[on]", "activate = 1"),
        Row(
            testDescription: "only a provider that isn't installed", files: 4, server: 3,
            "openssl_conf = main", "[main]", "providers = all", "[all]", "none-such = on", "[on]", "activate = 1"),
        Row(
            testDescription: "a provider that isn't installed, beside the inactive default one", files: 4, server: 3,
            "openssl_conf = main", "[main]", "providers = all", "[all]", "default = off", "none-such = on", "[off]",
            "[on]", "activate = 1"),
        Row(
            testDescription: "FIPS without its provider", files: 4, server: 3,
            "openssl_conf = main", "[main]", "alg_section = all", "[all]", "default_properties = fips=yes"),
        Row(
            testDescription: "properties that no provider has", files: 4, server: 3,
            "openssl_conf = main", "[main]", "alg_section = all", "[all]", "default_properties = provider=other"),
        Row(
            testDescription: "no version of TLS that the client speaks", files: 0, server: 3,
            "openssl_conf = main", "[main]", "ssl_conf = all", "[all]", "system_default = tls", "[tls]",
            "MaxProtocol = TLSv1.1"),
    ]

    @Test("A certificate is verified, and a server reached, only with what the configuration provides", arguments: rows)
    func configured(_ row: Row) async throws {
        let site = try PinctlSite()
        let configuration = try site.directory.add(row.configuration, name: "openssl.cnf")
        let words = "--ca-file \(site.rootFile) --pin \(try site.root.key.pin)"
        let files = try await shell("OPENSSL_CONF=\(configuration) pinctl check --files \(site.chainFile) \(words)")
        #expect(files.status == row.files, "\(files.output)\(files.errors)")
        try await site.serve { server in
            let run = try await shell("OPENSSL_CONF=\(configuration) pinctl check \(words) \(server.target())")
            #expect(run.status == row.server, "\(run.output)\(run.errors)")
        }
    }
}

extension OpenSSLConfigurationTests.Row {
    fileprivate init(testDescription: String, files: Int32, server: Int32, _ lines: String...) {
        self.init(
            testDescription: testDescription, configuration: lines.joined(separator: "\n") + "\n", files: files,
            server: server)
    }
}
