import CertificateTrust
import Foundation
import PinctlHTTPMessages

extension ProxyConfiguration {
    /// Returns the proxies of the environment, for ``URLSessionConfiguration/proxyConfigurations``. Sessions don't read
    /// the environment themselves.
    ///
    /// The variables are those of curl: `http_proxy` for `http` URLs, `https_proxy` for `https` URLs, `all_proxy` for
    /// both, and `no_proxy` for the exceptions. Lower case comes first. `HTTP_PROXY` isn't read, because a CGI program
    /// gets it from a request's header. A value is `[scheme://][user:password@]host[:port]`, where the scheme is
    /// `http`, `https`, `socks5`, `socks5h` or `socks4a`. A proxy of any kind resolves the names itself.
    ///
    /// `nil` means the environment of the process. A set-user-ID program has none, because its caller chose the
    /// variables.
    ///
    /// Throws a `URLError` that names the variable if a value can't be used, since the route would be another one.
    public static func fromEnvironment(
        _ environment: [String: String]? = nil
    ) throws -> [ProxyConfiguration] {
        do {
            return try ProxyEnvironment(environment ?? processEnvironment).proxies
        } catch {
            throw URLError(error, url: nil)
        }
    }
}

/// The proxy variables of an environment.
private struct ProxyEnvironment {
    var proxies: [ProxyConfiguration] = []

    init(_ environment: [String: String]) throws(ProxyVariableError) {
        func value(_ names: String...) -> (name: String, value: String)? {
            for name in names {
                if let value = environment[name], !value.isEmpty { return (name, value) }
            }
            return nil
        }
        var excluded: [String] = []
        if let (_, list) = value("no_proxy", "NO_PROXY") {
            excluded = list.split { $0 == "," || $0 == " " }.map(String.init)
            if excluded == ["*"] { return }
        }
        let variables: [(variable: (name: String, value: String)?, schemes: Set<HTTPScheme>?)] = [
            (value("http_proxy"), [.http]), (value("https_proxy", "HTTPS_PROXY"), [.https]),
            (value("all_proxy", "ALL_PROXY"), nil),
        ]
        for case (let (name, value)?, let schemes) in variables {
            var proxy = try Self.proxy(name, value)
            proxy.schemes = schemes
            proxy.excludedDomains = excluded
            if let error = proxy.domainError { throw .malformedException(error.domain) }
            proxies.append(proxy)
        }
    }

    private static func proxy(_ name: String, _ value: String) throws(ProxyVariableError) -> ProxyConfiguration {
        let text = value.contains("://") ? value : "http://" + value
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), let host = url.host(),
            let server = try? ServerName(host), url.path().isEmpty || url.path() == "/", url.query() == nil,
            url.fragment() == nil
        else { throw .malformed(variable: name) }
        guard let port = UInt16(exactly: url.port ?? (scheme == "https" ? 443 : 1_080)), port > 0 else {
            throw .malformed(variable: name)
        }
        var proxy: ProxyConfiguration
        switch scheme {
        case "http": proxy = ProxyConfiguration(httpCONNECTProxy: server, port: port)
        case "https": proxy = ProxyConfiguration(tlsCONNECTProxy: server, port: port)
        case "socks5", "socks5h": proxy = ProxyConfiguration(socksv5Proxy: server, port: port)
        case "socks4a": proxy = ProxyConfiguration(socksv4aProxy: server, port: port)
        default: throw .unsupportedScheme(scheme, variable: name)
        }
        guard url.user() != nil else { return proxy }
        do throws(RequestTargetError) {
            guard let user = try RequestTarget.loginText(url.user(), url.user(percentEncoded: false)) else {
                throw .malformedLogin
            }
            let password = try RequestTarget.loginText(url.password(), url.password(percentEncoded: false))
            proxy.applyCredential(username: user, password: password ?? "")
        } catch {
            throw .malformed(variable: name)
        }
        return proxy
    }
}

/// The reason why a proxy variable can't be used. Values may have a password and aren't included.
enum ProxyVariableError: Error, Hashable, CustomStringConvertible {
    case malformed(variable: String)
    case unsupportedScheme(String, variable: String)
    case malformedException(String)

    var description: String {
        switch self {
        case .malformed(let variable):
            "the environment variable \(variable) is not a proxy: write http://host:port, with percent-encoded user "
                + "and password if it has them"
        case .unsupportedScheme(let scheme, let variable):
            "the environment variable \(variable) has the unsupported scheme \(HTTPExcerpt(scheme)): use http, https, "
                + "socks5h or socks4a"
        case .malformedException(let domain):
            "the environment variable no_proxy has \(HTTPExcerpt(domain)), which is not a DNS name, an IP address "
                + "or a range of addresses: use example.com, .example.com, 192.0.2.1 or 192.0.2.0/24"
        }
    }
}
