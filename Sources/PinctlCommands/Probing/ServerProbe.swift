import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A client that fetches chains from servers, with the settings of the command line. It evaluates nothing, and sends
/// only a handshake.
struct ServerProbe: Sendable {
    var dialing = DialOptions()
    /// The kinds of key to request, or `nil` if the command line doesn't say, in which case the rule decides.
    var keys: CheckSettings.Keys?
    /// Whether to connect to every address, or `nil` if the command line doesn't say, in which case the rule decides.
    var allAddresses: Bool?
    /// Whether to make one handshake for each target, whatever its rule says.
    var isSingle = false
    var startTLS: StartTLSProtocol?
    var proxy = ProxyChoice.none(ignoring: nil)
    var identity: ClientIdentity?
    /// The addresses to connect to for hosts and ports of targets without an address.
    var routes: [Endpoint: Route] = [:]
    /// The number of retries if a server doesn't answer.
    var retries = 2
    /// The limit on the connections to begin per second, if any.
    var rate: ConnectionRate?
    /// The number of targets to connect to at a time.
    var jobs = 64

    /// Parses the flags in ``Flag/probing(_:)``. `password` opens the key of `--cert`; if it is `nil`, the password is
    /// read as the flags say.
    init(
        _ arguments: Arguments, in environment: CommandEnvironment, password: KeyPassword? = nil
    ) throws(UsageError) {
        dialing.totalTimeout = try arguments.seconds(.timeout, default: 10)
        dialing.connectTimeout = try arguments.seconds(.connectTimeout, default: 5)
        // Only the total time is limited.
        dialing.resolveTimeout = dialing.totalTimeout
        dialing.handshakeTimeout = dialing.totalTimeout
        dialing.requestsStaple = true
        // Mail servers reject ALPN names of other protocols (RFC 7301, section 3.2), and all servers accept no ALPN.
        dialing.applicationProtocols = []
        dialing.minimumVersion = try arguments.version(.minimumTLS) ?? .tls12
        dialing.maximumVersion = try arguments.version(.maximumTLS)
        if dialing.minimumVersion == .tls13, dialing.maximumVersion == .tls12 {
            throw .unusable(["--min-tls is newer than --max-tls: change one of them"])
        }
        dialing.addressFamily = try arguments.addressFamily()
        dialing.serverNameIndication = try arguments.serverNameIndication()

        keys = try arguments.choice(.keys).flatMap(CheckSettings.Keys.init)
        startTLS = try arguments.choice(.startTLS).flatMap(StartTLSProtocol.init)
        // mutant check-first: !arguments.has(.first) by EveryAddressTests/keys EveryAddressTests/settings
        isSingle = arguments.has(.first)
        allAddresses = arguments.has(.allAddresses) ? true : isSingle ? false : nil
        if isSingle, arguments.has(.allAddresses) || keys == .both {
            throw .unusable(["--first makes one handshake for each target: omit --all-addresses and --keys both"])
        }
        proxy = try arguments.proxyChoice(environment.variables())
        if case .fixed = proxy, allAddresses == true {
            throw .unusable(["--all-addresses and --proxy cannot be used together: the proxy resolves the hostname"])
        }
        identity = try arguments.clientIdentity(password)
        for text in arguments.all(.resolve) {
            let (endpoint, route) = try Self.route(text)
            guard routes.updateValue(route, forKey: endpoint) == nil else {
                throw .invalidValue(.resolve, reason: "\(endpoint) is given twice: give it once")
            }
        }
        retries = try arguments.count(.retries, in: 0...100) ?? retries
        rate = try arguments.count(.rate, in: 1...1_000_000).map { ConnectionRate(perSecond: Double($0)) }
        jobs = min(try arguments.count(.jobs, in: 1...100_000) ?? jobs, connectionLimit())
    }

    /// Parses `HOST:PORT:ADDRESS`, as in curl. Brackets around an IPv6 address are optional.
    private static func route(_ text: String) throws(UsageError) -> (Endpoint, Route) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let name = try? ServerName(String(parts[0])), let port = UInt16(parts[1]), port > 0,
            let address = try? ServerName(String(parts[2])), address.isIPAddress
        else {
            throw .invalidValue(
                .resolve, reason: "\(quoted(text)) isn't HOST:PORT:ADDRESS: write www.example.com:443:192.0.2.1")
        }
        return (Endpoint(name: name, port: port), Route(host: address, port: port))
    }
}

extension Arguments {
    fileprivate func count(_ flag: Flag, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self[flag] else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number)
        else {
            throw .invalidValue(
                flag,
                reason: "\(quoted(text)) isn't valid: give a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    fileprivate func version(_ flag: Flag) throws(UsageError) -> DialOptions.Version? {
        switch try choice(flag) {
        case "1.2": .tls12
        case "1.3": .tls13
        default: nil
        }
    }

    fileprivate func addressFamily() throws(UsageError) -> DialOptions.AddressFamily {
        switch (has(.ipv4), has(.ipv6)) {
        case (true, true): throw .unusable(["--ipv4 and --ipv6 cannot be used together: give one of them"])
        case (true, false): .ipv4
        case (false, true): .ipv6
        case (false, false): .any
        }
    }

    fileprivate func serverNameIndication() throws(UsageError) -> DialOptions.ServerNameIndication {
        guard let text = self[.sni] else { return .own }
        guard text != "none" else { return .none }
        guard let name = try? ServerName(text), !name.isIPAddress else {
            throw .invalidValue(.sni, reason: "\(quoted(text)) isn't a DNS name: give one, or \"none\"")
        }
        return .other(name)
    }

    fileprivate func proxyChoice(_ variables: [String: String]) throws(UsageError) -> ProxyChoice {
        guard let text = self[.proxy] else {
            guard self[.proxyLogin] == nil else { throw .missingFlag(.proxy) }
            return .none(ignoring: IgnoredProxy(variables))
        }
        guard text == "env" else { return .fixed(try cleartextProxy(text)) }
        guard self[.proxyLogin] == nil else {
            throw .unusable([
                "\(Flag.proxyLogin.dashed) and \(Flag.proxy.dashed) env cannot be used together: write the login in "
                    + "the variable, or give the proxy's URL with \(Flag.proxy.dashed)"
            ])
        }
        do throws(ProxyVariableError) {
            let environment = try ProxyEnvironment(variables, onlyForTLS: true)
            if let proxy = environment.proxies.first, proxy.url.usesTLS {
                throw .unsupportedScheme("https", variable: proxy.name)
            }
            return .environment(environment)
        } catch {
            switch error {
            case .malformed(let variable), .unsupportedScheme(_, let variable):
                throw .invalidValue(
                    .proxy,
                    reason: "\(variable) isn't the URL of a supported proxy: write http://HOST:PORT, "
                        + "socks5://HOST:PORT or socks4a://HOST:PORT")
            case .login, .malformedException: throw .invalidValue(.proxy, reason: error.description)
            }
        }
    }

    private func cleartextProxy(_ text: String) throws(UsageError) -> CleartextProxy {
        guard !text.utf8.contains(UInt8(ascii: "@")) else {
            throw .invalidValue(.proxy, reason: "a login isn't allowed in the URL: give it with --proxy-login FILE")
        }
        guard text.contains("://"), let url = try? ProxyURL(text), !url.usesTLS else {
            throw .invalidValue(
                .proxy,
                reason: "\(quoted(text)) isn't the URL of a supported proxy: write http://HOST:PORT, "
                    + "socks5://HOST:PORT, socks4a://HOST:PORT or env")
        }
        guard let port = url.ownPort else {
            let place = text.hasSuffix("/") ? text.dropLast() : text[...]
            throw .invalidValue(.proxy, reason: "\(quoted(text)) has no port: write \(quoted("\(place):PORT"))")
        }
        return CleartextProxy(url.kind, host: url.host, port: port, login: try proxyLogin(for: url.kind))
    }

    private func proxyLogin(for kind: CleartextProxy.Kind) throws(UsageError) -> CleartextProxy.Login? {
        guard let bytes = try secret(.proxyLogin)?.bytes else { return nil }
        // Bytes are compared, because a combining mark after the colon would join it.
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw .invalidValue(.proxyLogin, reason: "the first line has no colon: write USER:PASSWORD")
        }
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }),
            let user = String(validating: bytes[..<colon], as: UTF8.self),
            let password = String(validating: bytes[(colon + 1)...], as: UTF8.self)
        else {
            throw .invalidValue(.proxyLogin, reason: "the first line isn't text: write it in UTF-8")
        }
        let login = CleartextProxy.Login(user: user, password: password)
        if let flaw = kind.flaw(of: login) { throw .invalidValue(.proxyLogin, reason: flaw) }
        return login
    }

    fileprivate func clientIdentity(_ password: KeyPassword?) throws(UsageError) -> ClientIdentity? {
        guard let path = self[.certificate] else {
            guard self[.certificateKey] == nil else { throw .missingFlag(.certificate) }
            return nil
        }
        let password = if let password { password } else { try self.password() }
        // The password is wiped when it is released, so it must be kept alive until here.
        defer { withExtendedLifetime(password) {} }
        do throws(ClientIdentityError) {
            return try ClientIdentity(
                contentsOfFile: path, privateKeyFile: self[.certificateKey], password: password.bytes)
        } catch {
            throw .invalidValue(.certificate, reason: "\(error.file ?? path): \(error.reason)")
        }
    }
}

/// A limiter that spaces connections evenly so that at most a given number begin per second.
final class ConnectionRate: Sendable {
    private let pause: Duration
    private let next: Locked<ContinuousClock.Instant>

    init(perSecond rate: Double) {
        pause = .seconds(1 / rate)
        next = Locked(.now)
    }

    /// Waits for the next turn and returns how long that took. Returns at once if the task is cancelled.
    func turn() async -> Duration {
        let now = ContinuousClock.now
        let turn = next.withLock { next in
            let turn = max(next, now)
            next = turn + pause
            return turn
        }
        guard turn > now else { return .zero }
        await Transport.shared.pause(for: turn - now)
        return .now - now
    }
}
