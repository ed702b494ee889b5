import Foundation
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

private let lost = "error \(URLError.Code.networkConnectionLost.rawValue)"
private let unwritable = "error \(URLError.Code.cannotWriteToFile.rawValue)"
private let userCancelled = "error \(URLError.Code.userCancelledAuthentication.rawValue)"
private let untrusted = "error \(URLError.Code.serverCertificateUntrusted.rawValue)"

/// Saves under the suggested name in a directory, or under no name.
private final class SavingDelegate: NSURLDownloadDelegate {
    let heard = Heard()
    private let directory: String?
    private let allowsOverwriting: Bool
    private let receive: ChallengeReceiver

    init(
        in directory: String?, allowsOverwriting: Bool = false,
        _ receive: @escaping ChallengeReceiver = { $0.sender?.continueWithoutCredential(for: $0) }
    ) {
        self.directory = directory
        self.allowsOverwriting = allowsOverwriting
        self.receive = receive
    }

    func downloadDidBegin(_ download: NSURLDownload) { heard.events.append("begin") }

    func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
        receive(challenge)
    }

    func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge) {
        heard.events.append("cancelled")
    }

    func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {
        heard.events.append("decide \(filename)")
        if let directory { download.setDestination("\(directory)/\(filename)", allowOverwrite: allowsOverwriting) }
    }

    func download(_ download: NSURLDownload, didCreateDestination path: String) {
        heard.events.append("created \(path.split(separator: "/").last ?? "")")
    }

    func downloadDidFinish(_ download: NSURLDownload) {
        heard.add("finished")
        heard.end(nil)
    }

    func download(_ download: NSURLDownload, didFailWithError error: any Error) { heard.end(error) }
}

/// Answers no to everything.
private final class RefusingDelegate: NSURLDownloadDelegate {
    let heard = Heard()

    func download(
        _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        heard.events.append(protectionSpace.shortMethod)
        return false
    }

    func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
    }

    func download(_ download: NSURLDownload, didFailWithError error: any Error) { heard.end(error) }
}

/// Cancels as soon as the file is created, and expects no more events.
private final class CancellingDelegate: NSURLDownloadDelegate {
    let heard = Heard()
    private let path: String

    init(at path: String) { self.path = path }

    func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {
        download.setDestination(path, allowOverwrite: false)
    }

    func download(_ download: NSURLDownload, didCreateDestination path: String) {
        heard.events.append("created")
        download.cancel()
    }

    func downloadDidFinish(_ download: NSURLDownload) { heard.end(nil) }
    func download(_ download: NSURLDownload, didFailWithError error: any Error) { heard.end(error) }
}

@Suite("Connections: downloads", .timeLimit(.minutes(10)))
struct ConnectionDownloadTests {
    private let site: TestSite
    private let directory: TestDirectory

    init() throws {
        site = try TestSite.pinned()
        directory = try TestDirectory()
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(directory.path)/\(name)", encoding: .utf8)
    }

    private func download(
        from server: LoopbackServer, _ delegate: any NSURLDownloadDelegate, secure: Bool = false,
        policy: PinningPolicy? = nil
    ) throws -> NSURLDownload {
        let configuration = try site.configuration(server, policy: policy) {
            $0.urlCredentialStorage = URLCredentialStorage()
        }
        let url = try #require(URL(string: "\(secure ? "https" : "http")://pinned.test/a/file.txt"))
        return NSURLDownload(request: URLRequest(url: url), delegate: delegate, configuration: configuration)
    }

    @Test(
        "A download asks for its destination, and the file exists when the download has finished",
        arguments: ["hello", ""])
    func saves(body: String) async throws {
        try await LoopbackServer(chain: site.chain, .respond(.init(body: body))).run { server in
            let delegate = SavingDelegate(in: directory.path)
            let download = try download(from: server, delegate, secure: true)
            #expect(await delegate.heard.end == "finished")
            #expect(
                delegate.heard.events.values == ["begin", "decide file.txt", "created file.txt", "finished"])
            #expect(delegate.heard.methods == [] && download.request.url?.path == "/a/file.txt")
            #expect(try names == ["file.txt"])
            #expect(try text("file.txt") == body)
        }
    }

    @Test("An existing file is replaced only if overwriting is allowed, and only by a complete one")
    func overwriting() async throws {
        _ = try directory.add("old", name: "file.txt")
        try await LoopbackServer(plain: .respond(.init(body: "new"))).run { server in
            let careful = SavingDelegate(in: directory.path)
            _ = try download(from: server, careful)
            #expect(await careful.heard.end == "finished")
            #expect(careful.heard.events.values.contains("created file-1.txt"))
            #expect(try text("file.txt") == "old")
            #expect(try text("file-1.txt") == "new")
        }
        let half = LoopbackServer.Response(body: "newer, but only half of it").cut(at: 60)
        try await LoopbackServer(plain: .respond(half)).run { server in
            for allowsOverwriting in [false, true] {
                let delegate = SavingDelegate(in: directory.path, allowsOverwriting: allowsOverwriting)
                _ = try download(from: server, delegate)
                #expect(await delegate.heard.end == lost)
                #expect(delegate.heard.events.values.contains { $0.hasPrefix("created") })
                #expect(try names == ["file-1.txt", "file.txt"])
                #expect(try text("file.txt") == "old")
            }
        }
        try await LoopbackServer(plain: .respond(.init(body: "new"))).run { server in
            let delegate = SavingDelegate(in: directory.path, allowsOverwriting: true)
            _ = try download(from: server, delegate)
            #expect(await delegate.heard.end == "finished")
            #expect(try text("file.txt") == "new")
        }
    }

    @Test("A download fails without a destination, with one in a missing directory and with one that is a directory")
    func destinations() async throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/file.txt", withIntermediateDirectories: false)
        for place in [nil, "\(directory.path)/none", directory.path] {
            try await LoopbackServer(plain: .respond(.init(body: "hello"))).run { server in
                let delegate = SavingDelegate(in: place, allowsOverwriting: true)
                _ = try download(from: server, delegate)
                #expect(await delegate.heard.end == unwritable)
                #expect(!delegate.heard.events.values.contains { $0.hasPrefix("created") || $0 == "cancelled" })
            }
        }
        #expect(try names == ["file.txt"])
    }

    @Test("A cancelled download leaves no file, and its delegate receives no more events")
    func cancelled() async throws {
        var endless = LoopbackServer.Response.headOnly("200 OK", fields: ["Content-Length: 1000000000"])
        endless.endless = Array(repeating: 65, count: 1024)
        try await LoopbackServer(plain: .respond(endless)).run { server in
            let delegate = CancellingDelegate(at: "\(directory.path)/file.txt")
            _ = try download(from: server, delegate)
            _ = await server.ended()
            while try !names.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            #expect(delegate.heard.events.values == ["created"])
        }
    }

    @Test("A login is requested, and a cancelled one is reported before the failure")
    func logins() async throws {
        let right = "Basic " + Data("me:secret".utf8).base64EncodedString()
        let server: LoopbackServer.Script = .answer { request in
            request.values(of: "Authorization") == [right]
                ? .init(body: "hello")
                : .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "denied")
        }
        try await LoopbackServer(plain: server).run { server in
            let delegate = SavingDelegate(in: directory.path) { challenge in
                let login = URLCredential(user: "me", password: "secret", persistence: .none)
                challenge.sender?.use(login, for: challenge)
            }
            _ = try download(from: server, delegate)
            #expect(await delegate.heard.end == "finished")
            #expect(try text("file.txt") == "hello")
            let cancelling = SavingDelegate(in: directory.path) { $0.sender?.cancel($0) }
            _ = try download(from: server, cancelling)
            #expect(await cancelling.heard.end == userCancelled)
            #expect(cancelling.heard.events.values == ["begin", "cancelled", userCancelled])
            #expect(try names == ["file.txt"])
        }
    }

    @Test("A server that doesn't match its pins is rejected, whatever the delegate answers, and nothing is written")
    func pins() async throws {
        let policy = try PinningPolicy.pinning(unknownPin)
        try await LoopbackServer(chain: site.chain).run { server in
            let saving = SavingDelegate(in: directory.path)
            _ = try download(from: server, saving, secure: true, policy: policy)
            #expect(await saving.heard.end == untrusted)
            let refusing = RefusingDelegate()
            _ = try download(from: server, refusing, secure: true, policy: policy)
            #expect(await refusing.heard.end == untrusted)
            #expect(refusing.heard.events.values == ["ServerTrust", untrusted] && refusing.heard.methods == [])
            #expect(server.applicationBytes.isEmpty)
            #expect(try names == [])
        }
    }
}
