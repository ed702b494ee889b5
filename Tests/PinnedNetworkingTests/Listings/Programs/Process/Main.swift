import PinnedNetworking
import PolicyUpdates

/// Adopts the policy of `PINCTL_POLICY` and lets the dependency try: `process COMMAND URL [POLICY…]`.
@main
struct Main {
    /// The policy files after the URL.
    static let files = Site.login

    static func main() async throws {
        guard let url = Site.url else { return print("no URL") }
        switch Site.command {
        case "ways": try await ways(url)
        case "earlier": try await earlier(url)
        case "addition": try await addition(url)
        case "override": try await override(url)
        case "attacks": try await attacks(url)
        case "race": try await race(url)
        case "environment": environment()
        case "proxy": try await proxy(url)
        case "store": try await ownStore(url)
        case "count": try count()
        case "contents": contents(url)
        case "spellings": try await Attacks.spellings(url)
        case "cleartext": try await Attacks.cleartext(url)
        case "roots": try await Attacks.roots(url)
        case "begun": try await Attacks.begun(url)
        case "ftp": try await ftp(url)
        case "updates": try await updates(url)
        default: print("no command")
        }
    }

    static func policy(_ index: Int) throws -> PinningPolicy { try PinningPolicy(contentsOfFile: files[index]) }

    /// The result of a request: the body, or `process` or `session` for the policy that refused, or the error's code.
    static func send(_ name: String, _ body: () async throws -> String) async {
        do {
            print("\(name): \(try await body())")
        } catch let error as URLError {
            let isProcess = error.localizedDescription.contains("olicy of the process: ")
            let isPinning = error.pinningError != nil
            print("\(name): \(isProcess ? "process" : isPinning ? "session" : "\(error.code.rawValue)")")
        } catch {
            print("\(name): \(error)")
        }
    }

    static func get(_ name: String, _ session: URLSession, _ url: URL) async {
        await send(name) { Dependency.text(try await session.data(from: url)) }
    }

    static func ways(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        for way in Dependency.ways { await send(way.name) { try await way.send(url) } }
        guard let plain = URL(string: "http://localhost:\(url.port ?? 0)/") else { return }
        do {
            _ = try await URLSession.shared.data(from: plain)
        } catch {
            print("cleartext: \(error.localizedDescription.contains("pins of the process") ? "process" : "sent")")
        }
    }

    /// A session with an open connection, a session to resume, and a request that begins before the adoption.
    static func earlier(_ url: URL) async throws {
        let session = URLSession(configuration: .default)
        await get("before", session, url)
        let pinning = try ProcessPinning.adopt(policy(0))
        await get("kept connection", session, url)
        await session.flush()
        await get("new connection", session, url)
        pinning.replace(with: try policy(1))
        await get("replaced", session, url)
        await get("again", session, url)
        pinning.replace(with: try policy(0))
        await get("replaced again", session, url)
        print("earlier: \(ProcessPinning.status?.earlierSessionCount ?? -1)")
    }

    /// A session with a policy of its own: both have to accept.
    static func addition(_ url: URL) async throws {
        try ProcessPinning.adopt(policy(0))
        let configuration = URLSessionConfiguration.default
        configuration.pinning = try policy(1)
        await get("own", URLSession(configuration: configuration), url)
    }

    static func override(_ url: URL) async throws {
        let pinning = try ProcessPinning.adopt(policy(0))
        let configuration = URLSessionConfiguration.default
        pinning.override(with: try policy(1), in: configuration)
        let session = URLSession(configuration: configuration)
        await get("configuration", session, url)
        await get("copy", URLSession(configuration: Dependency.copy(of: configuration)), url)
        await get("session's", URLSession(configuration: session.configuration), url)
        await get("other", URLSession(configuration: .default), url)
        pinning.replace(with: try policy(0))
        await get("after a replacement", session, url)
        print("overriding: \(ProcessPinning.status?.overridingSessionCount ?? -1)")
        let late = URLSessionConfiguration.default
        let lateSession = URLSession(configuration: late)
        pinning.override(with: try policy(1), in: late)
        await get("too late", lateSession, url)
    }

    /// The dependency tries to switch the policy off.
    static func attacks(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        do {
            try ProcessPinning.adopt(policy(0))
            print("adopted again")
        } catch {
            print(error.localizedDescription)
        }
        setenv("PINCTL_POLICY", files[0], 1)
        do {
            try ProcessPinning.adoptFromEnvironment()
            print("adopted again")
        } catch ProcessPinningError.alreadyAdopted {
            print("not from the environment")
        }
        unsetenv("PINCTL_POLICY")
        let session = URLSession(configuration: .default)
        await get("second adoption", session, url)
        session.pinning = try policy(0)
        await get("session with mode off", session, url)
        let configuration = session.configuration
        configuration.pinning = nil
        await get("its configuration without pins", URLSession(configuration: configuration), url)
        session.invalidateAndCancel()
        await send("respond") {
            let answer = Answering(policy: try policy(0))
            return Dependency.text(
                try await Dependency.session(.default, answer).data(from: url, delegate: Dependency.Careless()))
        }
        print("adopted: \(ProcessPinning.status?.file != nil)")
    }

    private final class Answering: NSObject, URLSessionDelegate {
        let policy: PinningPolicy
        init(policy: PinningPolicy) { self.policy = policy }
        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            policy.respond(to: challenge)
        }
    }

    /// Threads create sessions while another one adopts: every session is pinned afterwards.
    static func race(_ url: URL) async throws {
        let policy = try policy(0)
        let sessions = await withTaskGroup(of: [URLSession].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<50).map { _ in URLSession(configuration: .default) } }
            }
            group.addTask {
                do { try ProcessPinning.adopt(policy) } catch { print("not adopted") }
                return []
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        print("unpinned: \(sessions.count { $0.processPinning == nil }) of \(sessions.count)")
        await get("last", sessions[sessions.count - 1], url)
    }

    static func environment() {
        do {
            try ProcessPinning.adoptFromEnvironment()
            print("adopted")
        } catch {
            print(error.localizedDescription)
        }
        print(
            ProcessPinning.status == nil ? "not pinned" : "pinned", URLSession.shared.processPinning?.rules.count ?? 0)
    }

    /// A proxy over TLS, whose port is the last argument, and which the policy pins.
    static func proxy(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        let configuration = URLSessionConfiguration.default
        configuration.proxyConfigurations = [
            ProxyConfiguration(tlsCONNECTProxy: try ServerName("localhost"), port: UInt16(files[0]) ?? 0)
        ]
        await get("proxy", URLSession(configuration: configuration), url)
    }

    /// The dependency trusts a root of its own.
    static func ownStore(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        await get("system's roots", URLSession(configuration: .default), url)
        let configuration = URLSessionConfiguration.default
        configuration.trustStore = try TrustStore(files: [files[0]])
        await get("own roots", URLSession(configuration: configuration), url)
        let pinned = URLSessionConfiguration.default
        pinned.pinning = try policy(1)
        await get("own anchors", URLSession(configuration: pinned), url)
    }

    /// The URL's server is one of FTP, with TLS from the first byte.
    static func ftp(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        guard let url = URL(string: "ftps://localhost:\(url.port ?? 0)/a") else { return }
        await get("ftps", .shared, url)
    }

    /// An updater with the first policy asks the URL's server for updates: by a session like any other, and by one with
    /// the second policy in place of the process's. The key set is the last file.
    static func updates(_ url: URL) async throws {
        let pinning = try ProcessPinning.adoptFromEnvironment()
        let overriding = URLSessionConfiguration.default
        pinning.override(with: try policy(1), in: overriding)
        let keySet = try PolicyKeySet(json: Array(Data(contentsOf: URL(filePath: files[2]))))
        for (name, configuration) in [("default", .default), ("overriding", overriding)] {
            let updater = PolicyUpdater(
                from: url, keySet: keySet, builtIn: try policy(0), directory: "\(files[2])-\(name)",
                configuration: configuration
            ) { update in
                guard case .unreachable(let reason) = update else { return print("\(name): answered") }
                print("\(name): \(reason.contains("policy of the process: ") ? "process" : "session")")
            }
            await updater.update()
        }
    }

    /// Foundation's own ways to load a URL.
    static func contents(_ url: URL) {
        do {
            print(try Data(contentsOf: url))
        } catch {
            print((error as NSError).code)
        }
        do {
            print(try String(contentsOf: url, encoding: .utf8))
        } catch {
            print((error as NSError).code)
        }
    }

    /// Prints the sessions that are pinned, before and after.
    static func count() throws {
        print(ProcessPinning.status.map(\.description) ?? "nothing")
        var kept: [URLSession] = [.shared]
        let pinning = try ProcessPinning.adopt(policy(0))
        let configuration = URLSessionConfiguration.default
        pinning.override(with: try policy(1), in: configuration)
        kept += (0..<3).map { _ in URLSession(configuration: .default) }
        kept.append(URLSession(configuration: configuration))
        guard let status = ProcessPinning.status else { return }
        print(status.sessionCount, status.overridingSessionCount, status.earlierSessionCount)
        print(status)
        kept.removeSubrange(1...3)
        print(ProcessPinning.status?.sessionCount ?? 0, kept.count)
    }
}
