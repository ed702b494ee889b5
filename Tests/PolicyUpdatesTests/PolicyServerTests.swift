import CertificatePinning
import CertificateTrust
import Foundation
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

@testable import PolicyUpdates

/// nginx as the server of a bundle that is a static file, and as a cache in front of it.
private struct NginxFiles {
    let origin: UInt16
    let cache: UInt16
    let directory: TestDirectory
    private let daemon: TestDaemon

    static let path = "/usr/sbin/nginx"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    init(_ site: TestSite) async throws {
        directory = try TestDirectory()
        let ports = TestDaemon.freePorts(2)
        (origin, cache) = (ports[0], ports[1])
        let path = directory.path
        _ = try directory.add(site.leaf.pemText + site.intermediate.pemText, name: "chain.pem")
        _ = try directory.add(site.leaf.key.privateKeyPEM, name: "key.pem")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(path)/\($0);" }
        _ = try directory.add(
            """
            daemon off;
            master_process off;
            pid \(path)/nginx.pid;
            error_log \(path)/nginx.err;
            events {}
            http {
                log_format short '$server_port $status $http_if_none_match $upstream_cache_status';
                access_log \(path)/nginx.log short;
                \(temporary.joined(separator: "\n    "))
                proxy_cache_path \(path)/cache keys_zone=bundles:1m;
                ssl_certificate \(path)/chain.pem;
                ssl_certificate_key \(path)/key.pem;
                server {
                    listen 127.0.0.1:\(origin) ssl;
                    root \(path)/files;
                }
                server {
                    listen 127.0.0.1:\(cache) ssl;
                    location / {
                        proxy_pass https://127.0.0.1:\(origin);
                        proxy_cache bundles;
                        proxy_cache_valid 200 1h;
                    }
                }
            }

            """, name: "nginx.conf")
        try FileManager.default.createDirectory(atPath: path + "/files", withIntermediateDirectories: false)
        daemon = try await TestDaemon([Self.path, "-e", path + "/nginx.err", "-c", path + "/nginx.conf"], ports: ports)
    }

    /// Publishes a bundle, one second later than the one before, because the entity tag has the time and the size.
    func publish(_ bundle: String, at time: Int) throws {
        let file = directory.path + "/files/bundle.json"
        try Data(bundle.utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000 + Double(time))], ofItemAtPath: file)
    }

    func log() throws -> [String] {
        try String(contentsOfFile: directory.path + "/nginx.log", encoding: .utf8).split(separator: "\n").map(
            String.init)
    }
}

@Suite(
    .enabled(if: NginxFiles.isInstalled, "nginx is not installed: tools/test --peers installs it"),
    .timeLimit(.minutes(10)))
struct PolicyServerTests {
    private let site: TestSite
    private let publisher: Publisher

    init() throws {
        site = try TestSite("localhost", isValidNow: true)
        publisher = try Publisher()
    }

    private func program(port: UInt16, in directory: TestDirectory? = nil) throws -> UpdatedProgram {
        try UpdatedProgram(publisher, at: port, of: site, in: directory)
    }

    @Test("A bundle is a static file, which nginx sends again only after it has changed (PU5)")
    func staticFile() async throws {
        let server = try await NginxFiles(site)
        let program = try program(port: server.origin)
        let updater = try await program.start()
        try server.publish(try publisher.bundle(sequence: 1), at: 1)
        await updater.update()
        await updater.update()
        try server.publish(try publisher.bundle(sequence: 2), at: 2)
        await updater.update()
        #expect(updater.host == "host2.example")
        #expect(program.outcomesSoFar() == ["adopted 1", "unchanged 1", "adopted 2"])
        let statuses = try server.log().map { $0.split(separator: " ")[1] }
        #expect(statuses == ["200", "304", "200"])
    }

    @Test("A cache that replays an old bundle changes nothing, and is reported only if it is older (PU5)")
    func cache() async throws {
        let server = try await NginxFiles(site)
        let (near, far) = (try program(port: server.origin), try program(port: server.cache))
        let (direct, cached) = (try await near.start(), try await far.start())
        try server.publish(try publisher.bundle(sequence: 1), at: 1)
        await cached.update()
        try server.publish(try publisher.bundle(sequence: 2), at: 2)
        await direct.update()
        await cached.update()
        #expect(cached.host == "host1.example")
        #expect(direct.host == "host2.example")
        // The program that already has the new bundle is moved behind the cache.
        let moved = try program(port: server.cache, in: near.directory)
        let updater = try await moved.start()
        await updater.update()
        #expect(updater.host == "host2.example")
        #expect(far.outcomesSoFar() == ["adopted 1", "unchanged 1"])
        #expect(moved.outcomesSoFar() == ["resumed 2", "refused"])
        #expect(try server.log().contains { $0.hasSuffix("HIT") })
    }
}
