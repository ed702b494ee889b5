import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlZlib

/// The configuration of a session. A session copies it on creation, so later changes don't affect the session.
///
/// Each later change of a setting that protects requests (``pinning``, the trust settings, the minimum TLS version, the
/// observer and the report sink) is logged, because the program may rely on it. Set ``URLSession/pinning`` and its
/// neighbors of the session instead. To derive another configuration, change a ``copy()``.
public final class URLSessionConfiguration: NSObject, NSCopying, Sendable {
    private struct State: Sendable {
        var settings: SessionSettings
        /// Whether a session has copied the settings, or they are those of a session.
        var isCopied: Bool
    }

    private let state: Locked<State>

    /// `isCopied` is true for the configuration that a session returns.
    init(settings: SessionSettings, isCopied: Bool = false) {
        state = Locked(State(settings: settings, isCopied: isCopied))
    }

    /// Creates a configuration like ``default``.
    public override convenience init() { self.init(settings: SessionSettings()) }

    /// A new configuration without pins and proxies, with the system's trust store and the shared credential storage. A
    /// request times out after 60 seconds without progress.
    public static var `default`: URLSessionConfiguration { URLSessionConfiguration(settings: SessionSettings()) }

    /// A new configuration like ``default``, but with its own credential storage and its own cache.
    public static var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0)
        configuration.urlCredentialStorage = URLCredentialStorage()
        return configuration
    }

    // MARK: Trust

    /// The pins for every request. No answer of a delegate can weaken them: delegates can only refuse additional
    /// servers.
    ///
    /// The chain of a host that the policy doesn't list is verified. The host is refused if the policy requires that.
    public var pinning: PinningPolicy? {
        get { self[\.trust.pinning] }
        set { setTrust(\.trust.pinning, to: newValue, "pinning") }
    }

    /// The trust anchors, or `nil` for the system's (`TrustStore.system()`).
    ///
    /// A pinning rule with its own anchors uses those instead.
    public var trustStore: TrustStore? {
        get { self[\.trust.store] }
        set { setTrust(\.trust.store, to: newValue, "trustStore") }
    }

    /// The profile by which chains are verified, and whether revocation is checked. The default is
    /// `TrustPolicy.default`, which ignores revocation.
    public var trustPolicy: TrustPolicy {
        get { self[\.trust.policy] }
        set { setTrust(\.trust.policy, to: newValue, "trustPolicy") }
    }

    /// The revocation lists for `trustPolicy.revocation`. The default is none.
    ///
    /// Nothing is fetched, and the client doesn't request stapled OCSP responses. A certificate that requires one (RFC
    /// 7633) is rejected unless revocation is ignored.
    public var revocationEvidence: RevocationEvidence {
        get { self[\.trust.revocation] }
        set { setTrust(\.trust.revocation, to: newValue, "revocationEvidence") }
    }

    /// The logs of Certificate Transparency for `trustPolicy.certificateTransparency`, and for the rules that have a
    /// setting of their own. The default is none.
    ///
    /// Nothing is fetched. A list that is 70 days old proves nothing, and then `require` rejects every server, so a
    /// program that requires transparency must be able to replace its list. Timestamps in certificates and in the TLS
    /// extension count. The client doesn't request stapled OCSP responses.
    public var certificateTransparencyLogs: TransparencyLogList? {
        get { self[\.trust.logs] }
        set { setTrust(\.trust.logs, to: newValue, "certificateTransparencyLogs") }
    }

    /// A closure that is called for every decision about a server, both acceptances and refusals, with the reason.
    /// `nil` means none.
    ///
    /// It is called on any thread before the decision takes effect, and can't change it.
    public var serverTrustObserver: (@Sendable (ServerTrustDecision) -> Void)? {
        get { self[\.observer] }
        set { setTrust(\.observer, to: newValue, "serverTrustObserver", isInSession: false) }
    }

    /// The receiver of a report for every server whose pins didn't match, whether it was refused or allowed, if the
    /// rule has report URLs. `nil` means none. ``PinReportSpool`` sends the reports.
    public var pinReportSink: (any PinReportSink)? {
        get { self[\.reportSink] }
        set { setTrust(\.reportSink, to: newValue, "pinReportSink", isInSession: false) }
    }

    /// The minimum TLS version. The default is TLS 1.2.
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { self[\.minimumTLS] }
        set { setTrust(\.minimumTLS, to: newValue, "tlsMinimumSupportedProtocolVersion", isInSession: false) }
    }

    /// The policy in place of the process's, if ``ProcessPinning`` gave the configuration one.
    var processOverride: PinningPolicy? {
        get { self[\.processOverride] }
        set {
            setTrust(
                \.processOverride, to: newValue, "a policy in place of the process's",
                remedy: "give it to the configuration before you create the session")
        }
    }

    // MARK: Credentials

    /// The storage in which credentials are looked up and, depending on their persistence, stored. `nil` means none.
    ///
    /// Credentials with session persistence are stored by the session itself.
    public var urlCredentialStorage: URLCredentialStorage? {
        get { self[\.credentialStorage] }
        set { self[\.credentialStorage] = newValue }
    }

    // MARK: Cookies

    /// The storage of the session's cookies. `nil`, the default, means that the session has no cookies.
    ///
    /// Apple's sessions use ``HTTPCookieStorage/shared`` by default. Set it to get the same behavior. See
    /// <doc:UseCookies>.
    public var httpCookieStorage: HTTPCookieStorage? {
        get { self[\.cookieStorage] }
        set { self[\.cookieStorage] = newValue }
    }

    /// Whether requests carry the cookies of the storage. The default is `true`. Responses set cookies either way.
    public var httpShouldSetCookies: Bool {
        get { self[\.sendsCookies] }
        set { self[\.sendsCookies] = newValue }
    }

    /// The rule for accepting the cookies of responses. The default is
    /// ``HTTPCookie/AcceptPolicy/onlyFromMainDocumentDomain``. The storage's own rule must accept them too.
    public var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { self[\.cookieAcceptPolicy] }
        set { self[\.cookieAcceptPolicy] = newValue }
    }

    // MARK: Connections

    /// The number of seconds without progress after which a request fails with `URLError.timedOut`. The default is 60.
    ///
    /// The same limit applies to a delegate that answers a TLS challenge.
    public var timeoutIntervalForRequest: TimeInterval {
        get { self[\.requestTimeout] }
        set { self[\.requestTimeout] = newValue }
    }

    /// The maximum number of seconds for a whole request, including its body. The default is seven days.
    ///
    /// The same limit applies to a delegate that answers an HTTP challenge.
    public var timeoutIntervalForResource: TimeInterval {
        get { self[\.resourceTimeout] }
        set { self[\.resourceTimeout] = newValue }
    }

    /// The cache policy of requests without their own. Only ``URLRequest/CachePolicy/returnCacheDataElseLoad`` and
    /// ``URLRequest/CachePolicy/returnCacheDataDontLoad`` have an effect.
    public var requestCachePolicy: URLRequest.CachePolicy {
        get { self[\.cachePolicy] }
        set { self[\.cachePolicy] = newValue }
    }

    /// The responses that the program stores for requests with a cache policy. The default is ``URLCache/shared``. See
    /// ``URLCache``.
    public var urlCache: URLCache? {
        get { self[\.cache] }
        set { self[\.cache] = newValue }
    }

    /// The maximum number of simultaneous connections to one host. The default is 6. Further requests wait.
    public var httpMaximumConnectionsPerHost: Int {
        get { self[\.connectionsPerHost] }
        set { self[\.connectionsPerHost] = newValue }
    }

    /// Header fields for every request that doesn't set them itself: `String` to `String`.
    public var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { self[\.additionalFields].map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } } }
        set {
            let fields = newValue?.compactMap { name, value -> HTTPField? in
                guard let name = name.base as? String else { return nil }
                return HTTPField(name: name, value: value as? String ?? "\(value)")
            }
            self[\.additionalFields] = fields?.sorted { $0.name < $1.name }
        }
    }

    /// The proxies. For each host, the first one that applies to it is used, and no other route is tried.
    ///
    /// If an entry of a proxy's domains isn't valid, every request fails with an error that names it.
    public var proxyConfigurations: [ProxyConfiguration] {
        get { self[\.proxies] }
        set {
            self[\.proxies] = newValue
            self[\.proxyDictionary] = nil
        }
    }

    /// The subclasses of ``URLProtocol`` that handle requests in place of the network, for tests. The first one that
    /// accepts a request handles it. The default is an empty array. Other classes are ignored.
    ///
    /// A request that a class handles isn't sent, so ``pinning`` isn't checked for it. Classes that are registered with
    /// ``URLProtocol/registerClass(_:)`` aren't included. See <doc:StubTheNetwork>.
    public var protocolClasses: [AnyClass]? {
        get { self[\.protocolClasses] }
        set { self[\.protocolClasses] = newValue?.compactMap { $0 as? URLProtocol.Type } }
    }

    /// Whether the registered protocol classes follow those of the configuration.
    var usesRegisteredProtocolClasses: Bool {
        get { self[\.usesRegisteredProtocolClasses] }
        set { self[\.usesRegisteredProtocolClasses] = newValue }
    }

    /// The address to connect to in place of a URL's host, for tests. The name that is verified and sent is still the
    /// URL's.
    package var route: (host: ServerName, port: UInt16)? {
        get { self[\.route].map { ($0.host, $0.port) } }
        set { self[\.route] = newValue.map { Route(host: $0.host, port: $0.port) } }
    }

    /// The library that decodes bodies, for tests. `nil` as on a machine without it.
    var zlib: ZlibLibrary? {
        get { self[\.zlib] }
        set { self[\.zlib] = newValue }
    }

    /// Returns a new ``URLSessionConfiguration`` with the same settings.
    public override func copy() -> Any { copy(with: nil) }

    /// Returns a new ``URLSessionConfiguration`` with the same settings.
    public func copy(with zone: NSZone? = nil) -> Any { URLSessionConfiguration(settings: snapshot) }

    /// The name of the type. Header fields and proxies may have secrets and are left out.
    public override var description: String { "URLSessionConfiguration" }

    var snapshot: SessionSettings { state.withLock { $0.settings } }

    /// Returns the settings for a session. Later changes of those that protect requests are logged.
    func copyForSession() -> SessionSettings {
        state.withLock {
            $0.isCopied = true
            return $0.settings
        }
    }

    subscript<Value: Sendable>(setting: any WritableKeyPath<SessionSettings, Value> & Sendable) -> Value {
        get { state.withLock { $0.settings[keyPath: setting] } }
        set { state.withLock { $0.settings[keyPath: setting] = newValue } }
    }

    /// Changes a setting that protects requests, and logs that a session doesn't get it. `isInSession` is whether a
    /// session has a property for it, and `remedy` what to do if the configuration has none either.
    private func setTrust<Value: Sendable>(
        _ setting: any WritableKeyPath<SessionSettings, Value> & Sendable, to value: Value, _ name: String,
        isInSession: Bool = true, remedy: String? = nil
    ) {
        let isCopied = state.withLock { state in
            state.settings[keyPath: setting] = value
            return state.isCopied
        }
        guard isCopied else { return }
        let usual =
            isInSession
            ? "set session.\(name), or set configuration.\(name) before you create the session"
            : "set configuration.\(name) before you create the session"
        NSLog(
            "%@",
            "PinnedNetworking: \(name) HAS NO EFFECT on the session that has already copied this configuration: "
                + (remedy ?? usual)
        )
    }
}

/// TLS versions, with the names that Apple's platforms use.
// swift-format-ignore: TypeNamesShouldBeCapitalized, AlwaysUseLowerCamelCase
public enum tls_protocol_version_t: UInt16, Sendable {
    /// TLS 1.2 (RFC 5246).
    case TLSv12 = 0x0303
    /// TLS 1.3 (RFC 8446).
    case TLSv13 = 0x0304
    /// TLS 1.0, which RFC 8996 forbids.
    @available(*, unavailable, message: "TLS 1.0 is not supported (RFC 8996): use TLSv12")
    case TLSv10 = 0x0301
    /// TLS 1.1, which RFC 8996 forbids.
    @available(*, unavailable, message: "TLS 1.1 is not supported (RFC 8996): use TLSv12")
    case TLSv11 = 0x0302
    /// DTLS 1.0, which isn't for TCP.
    @available(*, unavailable, message: "DTLS is for datagrams, which URLSession doesn't send: use TLSv12")
    case DTLSv10 = 0xFEFF
    /// DTLS 1.2, which isn't for TCP.
    @available(*, unavailable, message: "DTLS is for datagrams, which URLSession doesn't send: use TLSv12")
    case DTLSv12 = 0xFEFD
}

/// The values of a configuration.
struct SessionSettings: Sendable {
    var trust = TrustSettings()
    /// The policy in place of the process's, if any.
    var processOverride: PinningPolicy?
    var observer: (@Sendable (ServerTrustDecision) -> Void)?
    var reportSink: (any PinReportSink)?
    var minimumTLS = tls_protocol_version_t.TLSv12
    var credentialStorage: URLCredentialStorage? = .shared
    var cookieStorage: HTTPCookieStorage?
    var sendsCookies = true
    var cookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
    var requestTimeout: TimeInterval = 60
    var resourceTimeout: TimeInterval = 7 * 24 * 60 * 60
    var connectionsPerHost = 6
    var additionalFields: [HTTPField]?
    var proxies: [ProxyConfiguration] = []
    /// The dictionary that the proxies are from, if any.
    var proxyDictionary: ProxyDictionary?
    var protocolClasses: [URLProtocol.Type]? = []
    var usesRegisteredProtocolClasses = false
    var route: Route?
    var cachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
    var cache: URLCache? = .shared
    var unused = UnusedSettings()
    var isDiscretionary = false
    var usesExtendedIdleMode = false
    var waitsForConnectivity = false
    /// The library that decodes bodies, or `nil` without one.
    var zlib = ZlibLibrary.system
}

extension URLSessionConfiguration: CustomReflectable {
    /// An empty mirror, because `dump` must not print the contents of header fields and proxies.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
