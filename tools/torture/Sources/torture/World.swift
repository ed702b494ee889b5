import FoundationEssentials
import Glibc
import PinctlTestPKI

/// The certificates of all runs, and the files that each run finds in its directory.
struct World: Sendable {
    let site: TestSite
    /// A site of another CA with the same names.
    let unknown: TestSite
    /// The CA of the client's certificate. The server verifies that at the fixed time of the tests.
    private let readers: TestCertificate
    let files: [String: String]

    static let propertyList = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
            <key>CFBundleName</key>
            <string>Reader</string>
        </dict>
        </plist>

        """

    init() throws {
        site = try TestSite("localhost", isValidNow: true)
        unknown = try TestSite("localhost", isValidNow: true)
        // The names of the CA match, and the signature doesn't.
        let forged = try unknown.intermediate.leaf("localhost", key: site.leaf.key) { settings in
            settings.makeValidNow()
            // It would exclude the issuer before the signature is checked.
            settings.hasAuthorityKeyIdentifier = false
        }
        readers = try .root("Readers")
        let identity = try readers.issue(.client("reader"), key: TestKey(.rsa2048))
        var list = TestRevocationList(issuer: site.intermediate.subject)
        let now = Int64(time(nil))
        (list.thisUpdate, list.nextUpdate) = (now - 3600, now + 86_400)
        list.entries = [.init(site.leaf)]
        let revoked = TestPEM.block("X509 CRL", try list.signed(by: site.intermediate.key))
        let pin = try site.leaf.key.pin
        let backup = try TestKey().pin
        let policy = { (first: String) in
            """
            { "version": 1,
              "pins": {
                "now": { "pin": "\(first)", "role": "leaf" },
                "next": { "pin": "\(backup)", "role": "leaf", "backup": true } },
              "domains": [ { "host": "localhost", "pins": ["now", "next"] } ] }
            """
        }
        let chain = site.chain.map(\.pemText).joined()
        files = [
            "root.pem": site.root.pemText, "chain.pem": chain, "unknown.pem": unknown.chain.map(\.pemText).joined(),
            "revoked.pem": revoked, "forged.pem": forged.pemText + site.intermediate.pemText,
            "server.key": try site.leaf.key.privateKeyPEM,
            "identity.pem": try identity.pemText + identity.key.privateKeyPEM,
            "body": String(repeating: "x", count: 100_000),
            "pins.jsonc": policy(pin), "other.jsonc": policy(try TestKey().pin),
            "curl.txt": pin.replacing("/", with: "//", maxReplacements: 1),
            "nsc.xml": """
            <network-security-config>
              <domain-config>
                <domain>api.test</domain>
                <pin-set expiration="2099-01-01">
                  <pin digest="SHA-256">\(pin.dropFirst("sha256/".count))</pin>
                  <pin digest="SHA-256">\(backup.dropFirst("sha256/".count))</pin>
                </pin-set>
              </domain-config>
            </network-security-config>
            """,
            "Info.plist": Self.propertyList,
        ]
    }

    /// Starts the server of a scenario.
    func start(_ server: Scenario.Server) throws -> LoopbackServer {
        let chain = server.site == .trusted ? site.chain : unknown.chain
        return try LoopbackServer(chain: chain, server.script) { settings in
            guard server.requestsCertificate else { return }
            settings.clientAuthentication = .init(issuers: [readers], roots: [readers], isRequired: true)
        }
    }
}
