import PinctlTLSTransport

/// The proxy to connect through, which may depend on the host.
enum ProxyChoice: Sendable {
    /// Direct connections. The proxies of the environment are ignored, and known only so that a failure can name them.
    case none(ignoring: IgnoredProxy?)
    case fixed(CleartextProxy)
    /// The proxy of the environment, if there is one. None of its proxies uses TLS.
    case environment(ProxyEnvironment)

    /// Returns the proxy for a server, or `nil` for a direct connection.
    func proxy(for endpoint: Endpoint) -> CleartextProxy? {
        switch self {
        case .none: nil
        case .fixed(let proxy): proxy
        case .environment(let environment):
            environment.proxy(forTLSTo: endpoint)?.url.cleartext
        }
    }

    /// Returns the name of the environment variable with a proxy for the server that isn't used.
    func ignoredVariable(for endpoint: Endpoint) -> String? {
        if case .none(let ignored?) = self, ignored.reaches(endpoint) { ignored.variable } else { nil }
    }

    /// Returns why a server isn't reached through a proxy of the environment, or `nil` if it is or if another proxy was
    /// given.
    func hint(for endpoint: Endpoint) -> String? {
        switch self {
        case .none:
            ignoredVariable(for: endpoint).map {
                "\($0) is set and ignored: if servers are reached through that proxy, add \(Flag.proxy.dashed) env"
            }
        case .fixed: nil
        case .environment(let environment):
            if environment.proxy(forTLSTo: endpoint) != nil {
                nil
            } else if environment.proxyForTLS != nil {
                "no proxy is used, because no_proxy exempts the host"
            } else {
                "no proxy is used, because https_proxy isn't set or no_proxy is *"
            }
        }
    }

    /// The environment variable that the proxy comes from, if it is used.
    var variable: String? {
        if case .environment(let environment) = self { environment.proxies.first?.name } else { nil }
    }
}

/// A proxy that the environment sets and that isn't used.
struct IgnoredProxy: Sendable {
    /// The name of the variable, such as `HTTPS_PROXY`.
    let variable: String
    /// The proxies, or `nil` if the variables can't be read.
    private let environment: ProxyEnvironment?

    /// Returns `nil` if no variable sets a proxy.
    init?(_ variables: [String: String]) {
        guard let variable = ProxyEnvironment.variableForTLS(in: variables) else { return nil }
        self.variable = variable
        environment = try? ProxyEnvironment(variables, onlyForTLS: true)
    }

    /// Returns whether the proxy would be used for a server.
    func reaches(_ endpoint: Endpoint) -> Bool {
        environment.map { $0.proxy(forTLSTo: endpoint) != nil } ?? true
    }
}
