import CertificateTrust
import HTTPMessages
import TLSTransport

/// How a session works. A session copies it when it is made; later changes do not reach the session.
public final class URLSessionConfiguration: Sendable {
    private let settings: Locked<SessionSettings>

    init(settings: SessionSettings) {
        self.settings = Locked(settings)
    }

    /// A new configuration: no pins, the system's trust store, no proxy, the shared credential storage, 60 seconds for a
    /// request without progress.
    public static var `default`: URLSessionConfiguration { URLSessionConfiguration(settings: SessionSettings()) }

    /// The same as ``default`` with a credential storage of its own.
    public static var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.urlCredentialStorage = URLCredentialStorage()
        return configuration
    }

    // MARK: Trust

    /// The pins that hold for every request, whatever a delegate answers: delegates can only refuse more.
    ///
    /// A host that the policy does not list is verified, and refused where the policy says so.
    public var pinning: PinningPolicy? {
        get { self[\.trust.pinning] }
        set { self[\.trust.pinning] = newValue }
    }

    /// The certificates to trust; nil for the system's (`TrustStore.system()`).
    ///
    /// A pinning rule that names anchors of its own is judged with those.
    public var trustStore: TrustStore? {
        get { self[\.trust.store] }
        set { self[\.trust.store] = newValue }
    }

    /// Told of every decision about a server, refusals and acceptances alike, with its reason; nil for none.
    ///
    /// It is called from any thread before the decision takes effect, and changes nothing about it.
    public var serverTrustObserver: (@Sendable (ServerTrustDecision) -> Void)? {
        get { self[\.observer] }
        set { self[\.observer] = newValue }
    }

    /// Takes a report of every server whose pins did not match, refused or forgiven, where the rule says where to report
    /// to; nil for none. ``PinReportSpool`` sends them.
    public var pinReportSink: (any PinReportSink)? {
        get { self[\.reportSink] }
        set { self[\.reportSink] = newValue }
    }

    /// The oldest TLS version that is spoken, TLS 1.2 unless set.
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { self[\.minimumTLS] }
        set { self[\.minimumTLS] = newValue }
    }

    // MARK: Credentials

    /// Where credentials are looked up and, by their persistence, kept; nil for neither.
    ///
    /// Credentials for a session are kept by the session itself.
    public var urlCredentialStorage: URLCredentialStorage? {
        get { self[\.credentialStorage] }
        set { self[\.credentialStorage] = newValue }
    }

    // MARK: Connections

    /// Seconds without progress after which a request fails with `URLError.timedOut`; 60 unless set.
    ///
    /// A delegate has as long to answer a challenge of TLS.
    public var timeoutIntervalForRequest: TimeInterval {
        get { self[\.requestTimeout] }
        set { self[\.requestTimeout] = newValue }
    }

    /// Seconds that a whole request may take, body included; seven days unless set.
    ///
    /// A delegate has as long to answer a challenge of HTTP.
    public var timeoutIntervalForResource: TimeInterval {
        get { self[\.resourceTimeout] }
        set { self[\.resourceTimeout] = newValue }
    }

    /// The most connections to one host at a time, 6 unless set; further requests wait for one.
    public var httpMaximumConnectionsPerHost: Int {
        get { self[\.connectionsPerHost] }
        set { self[\.connectionsPerHost] = newValue }
    }

    /// Header fields of every request that does not set them itself: `String` to `String`.
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

    /// The proxies; the first one that reaches a host is used for it, and no other way is tried.
    ///
    /// If an entry of a proxy's domains isn't valid, every request fails with an error that names it.
    public var proxyConfigurations: [ProxyConfiguration] {
        get { self[\.proxies] }
        set { self[\.proxies] = newValue }
    }

    /// Where to connect instead of a URL's host, for tests: the name that is verified and sent stays the URL's.
    package var route: (host: ServerName, port: UInt16)? {
        get { self[\.route].map { ($0.host, $0.port) } }
        set { self[\.route] = newValue.map { Route(host: $0.host, port: $0.port) } }
    }

    var snapshot: SessionSettings { settings.withLock { $0 } }

    private subscript<Value: Sendable>(setting: any WritableKeyPath<SessionSettings, Value> & Sendable) -> Value {
        get { settings.withLock { $0[keyPath: setting] } }
        set { settings.withLock { $0[keyPath: setting] = newValue } }
    }
}

/// TLS versions, under the names that Apple's platforms use.
// swift-format-ignore: TypeNamesShouldBeCapitalized, AlwaysUseLowerCamelCase
public enum tls_protocol_version_t: UInt16, Sendable {
    /// RFC 5246
    case TLSv12 = 0x0303
    /// RFC 8446
    case TLSv13 = 0x0304
}

/// What a configuration holds, as a value.
struct SessionSettings: Sendable {
    var trust = SessionTrust()
    var observer: (@Sendable (ServerTrustDecision) -> Void)?
    var reportSink: (any PinReportSink)?
    var minimumTLS = tls_protocol_version_t.TLSv12
    var credentialStorage: URLCredentialStorage? = .shared
    var requestTimeout: TimeInterval = 60
    var resourceTimeout: TimeInterval = 7 * 24 * 60 * 60
    var connectionsPerHost = 6
    var additionalFields: [HTTPField]?
    var proxies: [ProxyConfiguration] = []
    var route: Route?
}

/// What servers are judged by. A session's can be replaced; a request is judged by the one it finds.
struct SessionTrust: Sendable {
    var pinning: PinningPolicy?
    var store: TrustStore?
}

extension URLSessionConfiguration: CustomReflectable {
    /// Shows nothing: `dump` must not print what header fields and proxies hold.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
