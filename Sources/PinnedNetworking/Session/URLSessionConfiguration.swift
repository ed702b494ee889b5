/// How a session works. A session copies it when it is made; later changes do not reach the session.
public final class URLSessionConfiguration: Sendable {
    private let settings: Locked<SessionSettings>

    init(settings: SessionSettings) {
        self.settings = Locked(settings)
    }

    /// A new configuration: no pins, the system's trust store, 60 seconds for a request without progress.
    public static var `default`: URLSessionConfiguration { URLSessionConfiguration(settings: SessionSettings()) }

    /// The same as ``default``: this client keeps no cookies, cache or credentials to begin with.
    public static var ephemeral: URLSessionConfiguration { .default }

    /// The pins that hold for every request, whatever a delegate answers: delegates can only refuse more.
    ///
    /// A host that the policy does not list is verified, and refused where the policy says so.
    public var pinning: PinningPolicy? {
        get { self[\.pinning] }
        set { self[\.pinning] = newValue }
    }

    /// The certificates to trust; nil for the system's (``TrustStore/system()``).
    ///
    /// A pinning rule that names anchors of its own is judged with those.
    public var trustStore: TrustStore? {
        get { self[\.trustStore] }
        set { self[\.trustStore] = newValue }
    }

    /// Seconds without progress after which a request fails with `URLError.timedOut`; 60 unless set.
    ///
    /// A delegate has as long to answer a challenge.
    public var timeoutIntervalForRequest: TimeInterval {
        get { self[\.requestTimeout] }
        set { self[\.requestTimeout] = newValue }
    }

    /// Seconds that a whole request may take, body included; seven days unless set.
    public var timeoutIntervalForResource: TimeInterval {
        get { self[\.resourceTimeout] }
        set { self[\.resourceTimeout] = newValue }
    }

    /// Where to connect instead of a URL's host, for tests: the name that is verified and sent stays the URL's.
    package var route: (host: ServerName, port: UInt16)? {
        get { self[\.route] }
        set { self[\.route] = newValue }
    }

    var snapshot: SessionSettings { settings.withLock(\.self) }

    private subscript<Value: Sendable>(setting: any WritableKeyPath<SessionSettings, Value> & Sendable) -> Value {
        get { settings.withLock { $0[keyPath: setting] } }
        set { settings.withLock { $0[keyPath: setting] = newValue } }
    }
}

/// What a configuration holds, as a value.
struct SessionSettings: Sendable {
    var pinning: PinningPolicy?
    var trustStore: TrustStore?
    var requestTimeout: TimeInterval = 60
    var resourceTimeout: TimeInterval = 7 * 24 * 60 * 60
    var route: (host: ServerName, port: UInt16)?
}
