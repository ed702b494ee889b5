import CertificateTrust
import Glibc
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// EL1: a lock, a full disk or a slow file system blocks one task, and no other.
///
/// The test itself unblocks everything that waits, and nothing here reaches a time limit of its own: a test that hangs
/// has failed.
@Suite(.timeLimit(.minutes(10)))
struct BlockedWorkTests {
    private let site: TestSite
    private let parent: TestDirectory
    private let directory: URL

    init() throws {
        site = try TestSite.pinned([.dns("pinned.test"), .dns("start.test")])
        parent = try TestDirectory()
        directory = URL(filePath: parent.path + "/storage")
    }

    /// Requires a login below `/login`, and answers other requests with a greeting.
    private static let script = LoopbackServer.Script.answer { request in
        request.target.hasPrefix("/login") && request.values(of: "Authorization").isEmpty
            ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""]) : .init(body: "hello")
    }

    /// Locks a private directory, as another process would, until the file is closed.
    private func lock(_ directory: String) throws -> FileHandle {
        let path = directory + "/.lock"
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try #require(flock(file.fileDescriptor, LOCK_EX) == 0)
        return file
    }

    private func space(_ host: String) -> URLProtectionSpace {
        URLProtectionSpace(
            host: host, port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    }

    @Test("EL1: A lock held by another process on the credentials delays only the login that stores one")
    func lockedStorage() async throws {
        // Long enough that only the test releases the lock.
        let storage = try URLCredentialStorage(directory: directory, patience: .seconds(600))
        storage.set(credential("known", .permanent), for: space("start.test"))
        let delegate = TaskAsyncDelegate { challenge in
            challenge.protectionSpace.isServerTrust
                ? (.performDefaultHandling, nil)
                : challenge.protectionSpace.host == "pinned.test"
                    ? (.useCredential, credential("new", .permanent)) : (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server, delegate: delegate) { $0.urlCredentialStorage = storage }
            let lock = try lock(directory.path)
            let isOver = Collected<Void>()
            let first = Task {
                defer { isOver.append(()) }
                return try await session.get("https://pinned.test/login").body
            }
            // The server has accepted the login, which only remains to be stored.
            while !server.records.flatMap(\.requests).contains(where: { !$0.values(of: "Authorization").isEmpty }) {
                try await Task.sleep(for: .milliseconds(1))
            }
            // Another host, another host with a stored login, the same host, and a read of the storage.
            #expect(try await session.get("https://start.test/").body == "hello")
            #expect(try await session.get("https://start.test/login").body == "hello")
            #expect(try await session.get("https://pinned.test/").body == "hello")
            #expect(storage.defaultCredential(for: space("start.test"))?.user == "known")
            #expect(storage.defaultCredential(for: space("pinned.test")) == nil)
            #expect(storage.storageError == nil)
            #expect(isOver.values.isEmpty)
            try lock.close()
            #expect(try await first.value == "hello")
            #expect(storage.defaultCredential(for: space("pinned.test"))?.user == "new")
        }
        let later = try URLCredentialStorage(directory: directory)
        #expect(later.defaultCredential(for: space("pinned.test"))?.user == "new")
        #expect(later.defaultCredential(for: space("start.test"))?.user == "known")
    }

    @Test("Logins that wait for one lock give up together, and their credentials last for the session")
    func patience() async throws {
        let storage = try URLCredentialStorage(directory: directory, patience: .milliseconds(300))
        let lock = try lock(directory.path)
        await withTaskGroup { group in
            for number in 0..<20 {
                group.addTask { await storage.keep(credential("\(number)", .permanent), for: space("pinned.test")) }
            }
        }
        // One after the other they would have exceeded the suite's time limit.
        #expect(storage.credentials(for: space("pinned.test"))?.count == 20)
        try lock.close()
        storage.set(credential("last", .permanent), for: space("pinned.test"))
        #expect(storage.storageError == nil)
        #expect(try URLCredentialStorage(directory: directory).credentials(for: space("pinned.test"))?["last"] != nil)
    }

    @Test("A storage observer that doesn't return blocks no other request")
    func slowObserver() async throws {
        let storage = URLCredentialStorage()
        let gate = DispatchSemaphore(value: 0)
        let calls = Collected<Void>()
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
        ) { _ in
            calls.append(())
            gate.wait()
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        let delegate = TaskAsyncDelegate { challenge in
            challenge.protectionSpace.isServerTrust
                ? (.performDefaultHandling, nil) : (.useCredential, credential("new", .permanent))
        }
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server, delegate: delegate) { $0.urlCredentialStorage = storage }
            let first = Task { try await session.get("https://pinned.test/login").body }
            while calls.values.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            #expect(try await session.get("https://start.test/").body == "hello")
            #expect(calls.values.count == 1)
            gate.signal()
            #expect(try await first.value == "hello")
        }
    }

    @Test("Blocking work has its own threads, whatever its amount")
    func threads() async throws {
        let gate = DispatchSemaphore(value: 0)
        let begun = Collected<Void>()
        let count = 200
        await withTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    await BlockingWork.run {
                        begun.append(())
                        gate.wait()
                    }
                }
            }
            while begun.values.count < count { await Task.yield() }
            #expect(await BlockingWork.run { 1 } == 1)
            for _ in 0..<count { gate.signal() }
        }
        // A cancelled task stops waiting.
        let cancelled = Task {
            await BlockingWork.run {
                begun.append(())
                gate.wait()
            }
        }
        while begun.values.count == count { await Task.yield() }
        cancelled.cancel()
        let answer: Void? = await cancelled.value
        #expect(answer == nil)
        gate.signal()
    }

    @Test("EL1: Streams and files that wait for data don't block other bodies")
    func slowBodies() async throws {
        let pipe = parent.path + "/pipe"
        #expect(try TestCommand.run(["mkfifo", pipe]).status == 0)
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) { $0.httpMaximumConnectionsPerHost = 100 }
            let count = 32
            let waiting = (0..<count).map { number in
                Task {
                    var request = URLRequest(url: try #require(URL(string: "https://pinned.test/\(number)")))
                    request.httpMethod = "POST"
                    // Opening the pipe waits for a writer.
                    request.httpBodyStream = InputStream(fileAtPath: pipe)
                    return try await session.data(for: request).0
                }
            }
            while server.records.filter({ !$0.applicationBytes.isEmpty }).count < count {
                try await Task.sleep(for: .milliseconds(1))
            }
            let file = try parent.add("body", name: "file")
            var request = URLRequest(url: try #require(URL(string: "https://start.test/")))
            request.httpMethod = "PUT"
            let (data, _) = try await session.upload(for: request, fromFile: URL(filePath: file))
            #expect(String(decoding: data, as: UTF8.self) == "hello")
            // Opening the pipe for writing unblocks the readers, and closing it ends their input.
            let writer = try #require(FileHandle(forUpdatingAtPath: pipe))
            for task in waiting { task.cancel() }
            for task in waiting { _ = try? await task.value }
            try writer.close()
        }
    }
}

extension URLProtectionSpace {
    fileprivate var isServerTrust: Bool { authenticationMethod == NSURLAuthenticationMethodServerTrust }
}
