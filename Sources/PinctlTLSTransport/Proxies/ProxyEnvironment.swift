package import PinctlHTTPMessages

/// The proxies that an environment sets, in the variables of curl, and the hosts that are reached without them.
///
/// `http_proxy` is for `http`, `https_proxy` for `https`, `all_proxy` for every scheme, and `no_proxy` has the
/// exceptions. Lower case comes first, and an empty value counts as none. `HTTP_PROXY` isn't read, because a CGI
/// program gets it from a request's header (CVE-2016-5385). The form of a proxy is that of ``ProxyURL``.
///
/// `no_proxy` is `*` alone, for all hosts, or entries as ``ProxyDomain`` parses them, separated by commas or blanks.
/// Every entry that curl applies means the same here. curl ignores any other, and here it either means what it says
/// (a port, `*.example.com`, brackets, a range of all addresses) or is an error, since the route would be another one.
package struct ProxyEnvironment: Sendable {
    /// A variable that sets a proxy.
    package struct Variable: Sendable {
        /// The name of the variable, such as `HTTPS_PROXY`.
        package let name: String
        /// The scheme that the proxy is for, or `nil` for all.
        package let scheme: HTTPScheme?
        package let url: ProxyURL
    }

    /// The proxies. The first one for a scheme is used. There are none if `no_proxy` is `*`.
    package let proxies: [Variable]
    /// The entries of `no_proxy`, each valid.
    package let exceptions: [String]

    /// Reads the variables, or only those that decide about TLS connections, which are those for `https`.
    package init(_ variables: [String: String], onlyForTLS: Bool = false) throws(ProxyVariableError) {
        var exceptions: [String] = []
        if let (name, list) = Self.first(["no_proxy", "NO_PROXY"], in: variables) {
            exceptions = list.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
            guard exceptions != ["*"] else {
                (proxies, self.exceptions) = ([], [])
                return
            }
            if let entry = exceptions.first(where: { ProxyDomain($0) == nil }) {
                throw .malformedException(entry, variable: name)
            }
        }
        var proxies: [Variable] = []
        for (scheme, names) in onlyForTLS ? Self.namesForTLS : Self.names {
            guard let (name, value) = Self.first(names, in: variables) else { continue }
            do throws(ProxyURLError) {
                proxies.append(Variable(name: name, scheme: scheme, url: try ProxyURL(value)))
            } catch {
                throw ProxyVariableError(error, variable: name)
            }
            // The others don't matter, even if they can't be read.
            if onlyForTLS { break }
        }
        (self.proxies, self.exceptions) = (proxies, exceptions)
    }

    /// Returns the proxy for a TLS connection to a server, or `nil` for a direct one.
    package func proxy(forTLSTo endpoint: Endpoint) -> Variable? {
        // mutant proxy-exemption: true by EnvironmentProxyTests
        guard !ProxyDomain.contains(endpoint.name, port: endpoint.port, in: exceptions) else { return nil }
        return proxyForTLS
    }

    /// The proxy for TLS connections to hosts without an exception, or `nil` if there is none.
    package var proxyForTLS: Variable? { proxies.first { $0.scheme != .http } }

    /// Returns the name of the variable with the proxy for TLS connections, if one is set, whatever its value.
    package static func variableForTLS(in variables: [String: String]) -> String? {
        namesForTLS.lazy.compactMap { first($0.names, in: variables)?.name }.first
    }

    private static let names: [(scheme: HTTPScheme?, names: [String])] = [
        (.http, ["http_proxy"]), (.https, ["https_proxy", "HTTPS_PROXY"]), (nil, ["all_proxy", "ALL_PROXY"]),
    ]
    private static let namesForTLS = names.filter { $0.scheme != .http }

    private static func first(
        _ names: [String], in variables: [String: String]
    ) -> (name: String, value: String)? {
        names.lazy.compactMap { name in variables[name].flatMap { $0.isEmpty ? nil : (name, $0) } }.first
    }
}

/// The reason why a proxy variable can't be used. Values may have a password and aren't included.
package enum ProxyVariableError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(variable: String)
    case unsupportedScheme(String, variable: String)
    /// The login can't be sent to the proxy, with the remedy.
    case login(String, variable: String)
    case malformedException(String, variable: String)

    fileprivate init(_ error: ProxyURLError, variable: String) {
        self =
            switch error {
            case .malformed: .malformed(variable: variable)
            case .unsupportedScheme(let scheme): .unsupportedScheme(scheme, variable: variable)
            case .login(let flaw): .login(flaw, variable: variable)
            }
    }

    package var description: String {
        switch self {
        case .malformed(let variable):
            "the environment variable \(variable) is not a proxy: write http://host:port, with percent-encoded user "
                + "and password if it has them"
        case .unsupportedScheme(let scheme, let variable):
            "the environment variable \(variable) has the unsupported scheme \(HTTPExcerpt(scheme)): use http, https, "
                + "socks5h or socks4a"
        case .login(let flaw, let variable):
            "the environment variable \(variable) has a login that its proxy can't be sent, \(flaw)"
        case .malformedException("*", let variable):
            "the environment variable \(variable) has * beside other entries: write * alone, or leave it out"
        case .malformedException(let entry, let variable):
            "the environment variable \(variable) has \(HTTPExcerpt(entry)), which is not a DNS name, an IP address "
                + "or a range of addresses: use example.com, .example.com, example.com:8443, 192.0.2.1 or 192.0.2.0/24"
        }
    }
}
