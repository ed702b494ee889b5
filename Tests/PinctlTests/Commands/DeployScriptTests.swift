import FoundationEssentials
import PinctlTestPKI
import Testing

/// The script of the article on renewals, without a program that renews.
@Suite("deploy-certificate")
struct DeployScriptTests {
    let site: PinctlSite
    private let start: String

    init() async throws {
        site = try PinctlSite()
        _ = try site.directory.add(RunbookWorld.deployment(), name: "deploy-certificate")
        _ = try site.directory.add(site.leaf.key.privateKeyPEM, name: "key.pem")
        start = """
            export TLS_SERVED=$PWD/served PIN_RELEASES=$PWD/releases SSL_CERT_FILE=$PWD/root.pem
            mkdir -p served releases
            export TLS_RELOAD="touch reloaded"

            """
        _ = try await shell("mkdir -p \(site.directory.path)/releases")
        _ = try site.directory.add(
            policyText([("api.test", ["\"\(try site.leaf.key.pin)\""])]), name: "releases/pins.jsonc")
    }

    private func run(_ script: String) async throws -> Run { try await shell(start + script, in: site.directory) }

    private static let deploy = "sh ./deploy-certificate chain.pem key.pem"

    @Test("A misspelled --host, or a chain that breaks a release, stops the script before the server changes")
    func stops() async throws {
        let renewed = try site.intermediate.leaf("api.test")
        _ = try site.directory.add(renewed.pemText + site.intermediate.pemText, name: "new.pem")
        _ = try site.directory.add(renewed.key.privateKeyPEM, name: "new.key")
        for (host, status) in [("apj.test", Int32(2)), ("api.test", 1)] {
            let run = try await run(
                "sh ./deploy-certificate new.pem new.key --host \(host); status=$?; ls served reloaded; exit $status")
            #expect(run.status == status && run.output.hasSuffix("served:\n"), "\(run)")
            #expect(run.errors.contains("cannot access 'reloaded'"))
        }
    }

    @Test("If the server can't be reloaded, the old certificate is restored and the script fails")
    func restores() async throws {
        let good = try await run("\(Self.deploy) --host api.test && ls -d reloaded && readlink served/current")
        #expect(good.status == 0, "\(good)")
        let first = try #require(good.lines.last)
        let failed = try await run(
            "TLS_RELOAD=false \(Self.deploy) --host api.test; status=$?; readlink served/current; exit $status")
        #expect(failed.status == 1 && failed.lines.last == first, "\(failed)")
        #expect(failed.errors.contains("deploy-certificate: the server isn't reloaded"))
        let again = try await run("\(Self.deploy) --host api.test && readlink served/current")
        #expect(again.status == 0 && again.lines.last != first, "\(again)")
    }

    @Test("Without a chain and a key, the script prints its usage")
    func usage() async throws {
        for words in ["", " chain.pem"] {
            let run = try await run("sh ./deploy-certificate" + words)
            #expect(run.status == 2 && run.errors.hasPrefix("usage: deploy-certificate CHAIN KEY "), "\(run)")
        }
    }
}
