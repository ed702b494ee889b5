import PinnedNetworking
import TestPKI
import Testing
@Suite struct XTests {
    @Test func x() async throws {
        print("a"); let site = try PeerSite()
        print("b"); let apache = try await Apache(site)
        print("c"); let session = try site.session(to: apache.ports.https)
        print("d"); print(try await session.get("https://pinned.test/basic/a"))
    }
    @Test func y() async throws {
        let site = try PeerSite()
        let server = try LoopbackServer(chain: [site.origin, site.intermediate])
        print("c"); let session = try site.session(to: server.port)
        print("d"); print(try await session.get("https://pinned.test/basic/a"))
    }
}
