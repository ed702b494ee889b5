import PinctlTestPKI
import Testing

@testable import PinnedNetworking

private func space(
    _ host: String = "example.com", realm: String? = nil, method: String? = NSURLAuthenticationMethodDefault
) -> URLProtectionSpace {
    URLProtectionSpace(
        host: host, port: 0, protocol: NSURLProtectionSpaceHTTP, realm: realm, authenticationMethod: method)
}

private func credential(
    _ number: Int = 1, password: String? = nil, _ persistence: URLCredential.Persistence = .forSession
) -> URLCredential {
    URLCredential(user: "user\(number)", password: password ?? "password\(number)", persistence: persistence)
}

/// How many change notifications a storage posted while `body` ran.
private func changes(of storage: URLCredentialStorage, during body: () throws -> Void) rethrows -> Int {
    let changes = Collected<Void>()
    let observer = NotificationCenter.default.addObserver(
        forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
    ) { _ in changes.append(()) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try body()
    return changes.values.count
}

// The first two groups contain the cases of swift-corelibs-foundation's TestURLCredentialStorage.
@Suite struct CredentialStorageTests {
    private let storage = URLCredentialStorage()
    private let one = credential(1)
    private let two = credential(2)

    // MARK: Stored credentials

    @Test("A new storage is empty, and the shared one is always the same object")
    func empty() {
        #expect(storage.allCredentials.isEmpty)
        #expect(storage.credentials(for: space()) == nil)
        #expect(storage.defaultCredential(for: space()) == nil)
        #expect(URLCredentialStorage.shared === URLCredentialStorage.shared)
    }

    @Test("A credential is found in its space, under its user's name, and in no other space")
    func found() {
        storage.set(one, for: space())
        #expect(storage.credentials(for: space()) == ["user1": one])
        #expect(storage.allCredentials == [space(): ["user1": one]])
        for other in [
            space("example2.com"), space(realm: "realm"), space(method: NSURLAuthenticationMethodHTTPBasic),
        ] {
            #expect(storage.credentials(for: other) == nil)
            #expect(storage.defaultCredential(for: other) == nil)
            #expect(storage.currentSnapshot().entry(for: other).bestCredential == nil)
            #expect(storage.currentSnapshot().entry(for: other)["user1"] == nil)
        }
    }

    @Test("The first credential of a space is its default until another one is set")
    func defaults() {
        storage.set(one, for: space())
        #expect(storage.defaultCredential(for: space()) == one)
        storage.set(two, for: space())
        #expect(storage.defaultCredential(for: space()) == one)
        storage.setDefaultCredential(two, for: space())
        #expect(storage.defaultCredential(for: space()) == two)
        #expect(storage.credentials(for: space()) == ["user1": one, "user2": two])
    }

    @Test("A default credential is listed with its space's credentials, and isn't another space's default")
    func defaultAlone() {
        storage.setDefaultCredential(one, for: space())
        #expect(storage.allCredentials == [space(): ["user1": one]])
        #expect(storage.defaultCredential(for: space("example2.com")) == nil)
    }

    @Test("A credential replaces the one of the same user, also as the default")
    func replaced() {
        let renewed = credential(1, password: "new")
        storage.setDefaultCredential(one, for: space())
        storage.set(renewed, for: space())
        #expect(storage.credentials(for: space()) == ["user1": renewed])
        #expect(storage.defaultCredential(for: space()) == renewed)
    }

    @Test("Removing a credential also removes it as the default")
    func removed() {
        storage.setDefaultCredential(one, for: space())
        storage.set(two, for: space())
        storage.remove(one, for: space())
        #expect(storage.defaultCredential(for: space()) == nil)
        #expect(storage.credentials(for: space()) == ["user2": two])
        storage.remove(two, for: space())
        #expect(storage.credentials(for: space()) == nil)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Removing a credential with another user, password, persistence or space has no effect")
    func removedOther() {
        storage.set(two, for: space())
        for other in [one, credential(2, password: "other"), credential(2, .permanent)] {
            storage.remove(other, for: space())
        }
        storage.remove(two, for: space("example2.com"))
        #expect(storage.credentials(for: space()) == ["user2": two])
    }

    @Test(
        "HA21: Every persistence except none is stored",
        arguments: [
            (URLCredential.Persistence.none, false), (.forSession, true), (.permanent, true), (.synchronizable, true),
        ])
    func persistence(persistence: URLCredential.Persistence, isKept: Bool) {
        let credential = credential(1, persistence)
        storage.set(credential, for: space())
        storage.setDefaultCredential(credential, for: space("example2.com"))
        #expect(storage.credentials(for: space()) == (isKept ? ["user1": credential] : nil))
        #expect(storage.defaultCredential(for: space("example2.com")) == (isKept ? credential : nil))
        #expect(storage.allCredentials.count == (isKept ? 2 : 0))
    }

    @Test("A synchronizable credential is removed only if the options allow it")
    func synchronizable() {
        let credential = credential(1, .synchronizable)
        let key = NSURLCredentialStorageRemoveSynchronizableCredentials
        storage.set(credential, for: space())
        storage.remove(credential, for: space())
        for options in [nil, [:], [key: "of course" as NSString], [key: NSNumber(value: false)], ["other": true]]
            as [[String: Any]?]
        {
            storage.remove(credential, for: space(), options: options)
        }
        #expect(storage.credentials(for: space()) == ["user1": credential])
        storage.remove(credential, for: space(), options: [key: NSNumber(value: true)])
        #expect(storage.allCredentials.isEmpty)
        storage.set(credential, for: space())
        storage.remove(credential, for: space(), options: [key: true])
        #expect(storage.allCredentials.isEmpty)
    }

    // MARK: Notifications

    @Test("A storage posts one notification for a change, and none otherwise")
    func notifications() {
        let equal = credential(1)
        #expect(changes(of: storage) { storage.set(one, for: space()) } == 1)
        #expect(changes(of: storage) { storage.set(equal, for: space()) } == 0)
        #expect(changes(of: storage) { storage.set(one, for: space("example2.com")) } == 1)
        #expect(changes(of: storage) { storage.setDefaultCredential(equal, for: space()) } == 0)
        #expect(changes(of: storage) { storage.setDefaultCredential(two, for: space()) } == 1)
        #expect(changes(of: storage) { storage.set(credential(3, .none), for: space()) } == 0)
        #expect(changes(of: storage) { storage.remove(two, for: space("example2.com")) } == 0)
        #expect(changes(of: storage) { storage.remove(two, for: space()) } == 1)
        #expect(changes(of: URLCredentialStorage()) { storage.remove(one, for: space()) } == 0)
        #expect(
            NSNotification.Name.NSURLCredentialStorageChanged.rawValue == "NSURLCredentialStorageChangedNotification")
    }

    @Test("The storage can be read during its notification")
    func notificationAsks() {
        let seen = Collected<Int>()
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
        ) { [storage] _ in seen.append(storage.allCredentials.count) }
        defer { NotificationCenter.default.removeObserver(observer) }
        storage.set(one, for: space())
        storage.remove(one, for: space())
        #expect(seen.values == [1, 0])
    }

    // MARK: Credentials without a user

    @Test("An identity can be a default, but isn't listed among a space's credentials")
    func identity() throws {
        let identity = URLCredential(
            identity: try TestSite.pinned().identity, certificates: nil, persistence: .permanent)
        storage.set(identity, for: space())
        #expect(storage.defaultCredential(for: space()) == identity)
        #expect(storage.currentSnapshot().entry(for: space()).bestCredential == identity)
        #expect(storage.credentials(for: space()) == nil)
        #expect(storage.allCredentials.isEmpty)
        storage.setDefaultCredential(one, for: space())
        storage.set(identity, for: space())
        #expect(storage.defaultCredential(for: space()) == one)
        storage.setDefaultCredential(identity, for: space())
        storage.remove(identity, for: space())
        #expect(storage.defaultCredential(for: space()) == nil)
        #expect(storage.credentials(for: space()) == ["user1": one])
    }

    @Test("A server trust credential isn't stored, because it answers one challenge")
    func trust() throws {
        let trust = URLCredential(trust: try TestSite.pinned().trust)
        storage.set(trust, for: space())
        storage.setDefaultCredential(trust, for: space())
        #expect(storage.defaultCredential(for: space()) == nil)
    }

    // MARK: The credential that a session tries

    @Test("A session tries the default, or else the only credential, or else none")
    func best() {
        #expect(storage.currentSnapshot().entry(for: space()).bestCredential == nil)
        storage.set(one, for: space())
        storage.set(two, for: space())
        #expect(storage.currentSnapshot().entry(for: space()).bestCredential == one)
        storage.set(credential(3), for: space())
        storage.remove(one, for: space())
        #expect(storage.currentSnapshot().entry(for: space()).bestCredential == nil)
        storage.remove(credential(3), for: space())
        #expect(storage.currentSnapshot().entry(for: space()).bestCredential == two)
        #expect(storage.currentSnapshot().entry(for: space())["user2"] == two)
        #expect(storage.currentSnapshot().entry(for: space())["user1"] == nil)
    }

    @Test("Many threads can share a storage")
    func threads() async {
        await withTaskGroup { group in
            for number in 0..<100 {
                group.addTask { [storage] in
                    storage.set(credential(number), for: space())
                    storage.setDefaultCredential(credential(number), for: space("\(number).test"))
                    storage.remove(credential(number), for: space("\(number).test"))
                }
            }
        }
        #expect(storage.allCredentials.keys.count == 1)
        #expect(storage.credentials(for: space())?.count == 100)
    }

    // MARK: Methods with a task

    @Test("The methods with a task have the same effect as the others")
    func tasks() async throws {
        let site = try TestSite.pinned()
        let tasks = Collected<URLSessionTask>()
        // The task retains its delegate.
        let delegate = DeferringDelegate { [weak tasks] task, _, handler in
            tasks?.append(task)
            handler(.cancelAuthenticationChallenge, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await site.session(server).failure(delegate: delegate)
        }
        let task = try #require(tasks.values.first)
        storage.set(one, for: space(), task: task)
        storage.setDefaultCredential(two, for: space(), task: task)
        #expect(await storage.credentials(for: space(), task: task) == ["user1": one, "user2": two])
        #expect(await storage.defaultCredential(for: space(), task: task) == two)
        let handled = Collected<URLCredential?>()
        storage.getCredentials(for: space(), task: task) { handled.append($0?["user1"]) }
        storage.getDefaultCredential(for: space(), task: task) { handled.append($0) }
        #expect(handled.values == [one, two])
        storage.remove(one, for: space(), task: task)
        storage.remove(two, for: space(), options: nil, task: task)
        #expect(storage.allCredentials.isEmpty)
    }
}
