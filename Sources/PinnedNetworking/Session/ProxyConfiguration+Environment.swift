import CertificateTrust
import Foundation
import PinctlTLSTransport

extension ProxyConfiguration {
    /// Returns the proxies of the environment, for ``URLSessionConfiguration/proxyConfigurations``. Sessions don't read
    /// the environment themselves.
    ///
    /// The variables are those of curl: `http_proxy` for `http` URLs, `https_proxy` for `https` URLs, `all_proxy` for
    /// both, and `no_proxy` for the exceptions. Lower case comes first, and an empty value counts as none. `HTTP_PROXY`
    /// isn't read, because a CGI program gets it from a request's header.
    ///
    /// A proxy is `[scheme://][user:password@]host[:port]`, where the scheme is `http`, `https`, `socks5`, `socks5h` or
    /// `socks4a`. Without a port it is 443 for `https` and otherwise 1080. A proxy of any kind resolves the names
    /// itself.
    ///
    /// `no_proxy` is `*` alone, for all hosts, or entries as in ``excludedDomains``, separated by commas or blanks.
    /// Entries that curl applies have the same meaning. curl ignores ports, `*.example.com` and other entries that it
    /// doesn't know.
    ///
    /// `nil` means the environment of the process. A set-user-ID program has none, because its caller chose the
    /// variables.
    ///
    /// Throws a `URLError` that names the variable if a value can't be used, since the route would be another one.
    public static func fromEnvironment(
        _ environment: [String: String]? = nil
    ) throws -> [ProxyConfiguration] {
        do {
            let environment = try ProxyEnvironment(environment ?? processEnvironment)
            return environment.proxies.map { variable in
                var proxy = ProxyConfiguration(variable.url)
                proxy.schemes = variable.scheme.map { [$0] }
                proxy.excludedDomains = environment.exceptions
                return proxy
            }
        } catch {
            throw URLError(error, url: nil)
        }
    }

    private init(_ url: ProxyURL) {
        let kind: Kind =
            switch url.kind {
            case .http: .http
            case .socks(let version): .socks(version)
            }
        self.init(host: url.host, port: url.port, usesTLS: url.usesTLS, kind: kind)
        if let login = url.login { applyCredential(username: login.user, password: login.password) }
    }
}
