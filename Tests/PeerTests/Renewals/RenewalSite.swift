import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

/// A server's directory, the pins of a released app and an ACME server, for the recipes of the article on renewals.
struct RenewalSite: Sendable {
    let directory: TestDirectory
    let pebble: Pebble
    /// The article in pieces, by their headings.
    private let sections: [String: [String]]

    init() async throws {
        directory = try TestDirectory()
        pebble = try await Pebble(in: directory)
        let path = Repository.root + "/Sources/PinctlCommands/PinctlCommands.docc/RenewCertificates.md"
        var sections: [String: [String]] = [:]
        for section in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n##") {
            let heading = section.prefix { $0 != "\n" }.drop { $0 == "#" || $0 == " " }
            sections[String(heading)] = section.components(separatedBy: "```").enumerated()
                .filter { $0.offset % 2 == 1 }.map { $0.element }
        }
        self.sections = sections
        let script = try listing(0, of: "Check each certificate before it is served")
        let made = try await run("mkdir bin www releases served letsencrypt config config/letsencrypt home")
        try #require(made.status == 0, "\(made.text)")
        _ = try directory.add(Array(script.utf8), name: "bin/deploy-certificate", mode: 0o755)
    }

    /// Returns a fenced listing of a section, with this site's paths instead of the system's.
    func listing(_ index: Int, of section: String) throws -> String {
        let listings = try #require(sections[section], "\(sections.keys)")
        // The first line names the language.
        let text = try #require(listings.indices.contains(index) ? listings[index] : nil)
        let body = text.drop { $0 != "\n" }.dropFirst()
        return [
            "/var/www/acme": "www", "/etc/letsencrypt": "letsencrypt", "/etc/lego": "lego", "/etc/acme": "acme",
            "/etc/nginx/tls": "served", "/usr/local/bin": "bin",
        ].reduce(String(body)) { $0.replacing($1.key, with: "\(directory.path)/\($1.value)") }
    }

    /// Runs a script in the site's directory.
    func run(_ script: String) async throws -> TestCommand.Result {
        let path = directory.path
        let start = """
            cd \(path)
            export PATH=\(path)/bin:\(try TestBuild.directory()):$PATH HOME=\(path)/home XDG_CONFIG_HOME=\(path)/config
            export SSL_CERT_FILE=\(pebble.roots) REQUESTS_CA_BUNDLE=\(pebble.roots) LEGO_CA_CERTIFICATES=\(pebble.roots)
            export TLS_SERVED=\(path)/served PIN_RELEASES=\(path)/releases TLS_RELOAD='touch \(path)/reloaded'

            """
        return try await TestCommand.runAside(["timeout", "240", "bash", "-c", start + script])
    }

    /// Serves a first certificate, as an administrator sets it up.
    func serve(_ chain: String, _ key: String) async throws {
        let result = try await run(
            "rm -rf served/* && mkdir served/first && cp \(chain) served/first/fullchain.pem"
                + " && cp \(key) served/first/privkey.pem && ln -s first served/current")
        try #require(result.status == 0, "\(result.text)")
    }

    /// The chain that is served.
    var servedChain: String { directory.path + "/served/current/fullchain.pem" }

    /// The fingerprints of the certificate that is served and of its key.
    func served() throws -> (certificate: SPKIFingerprint, key: SPKIFingerprint) {
        let chain = try CertificateFile.read(servedChain)
        let leaf = try #require(chain.first)
        return (SPKIFingerprint(hashing: leaf.derBytes.span), leaf.spkiFingerprint)
    }

    /// Writes the pins of each release, and removes those of earlier ones.
    func release(_ releases: [[String]]) throws {
        let directory = directory.path + "/releases/"
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try FileManager.default.removeItem(atPath: directory + name)
        }
        for (number, pins) in releases.enumerated() {
            let text =
                "{ \"version\": 1, \"domains\": [ { \"host\": \"api.example.com\", \"pins\": ["
                + pins.map { "\"\($0)\"" }.joined(separator: ", ") + "] } ] }\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "app-\(number + 1).jsonc"))
        }
    }
}
