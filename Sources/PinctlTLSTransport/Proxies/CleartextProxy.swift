package import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// A proxy between the client and a host, with an unencrypted connection to the proxy.
package struct CleartextProxy: Sendable {
    package enum Kind: Sendable, Hashable {
        /// An HTTP proxy that makes tunnels (RFC 9110, section 9.3.6).
        case http
        case socks(SOCKSHandshake.Version)
    }

    /// A user and password, in UTF-8.
    package typealias Login = SOCKSHandshake.Login

    package let kind: Kind
    package let host: ServerName
    package let port: UInt16
    private let login: Login?

    /// Creates a proxy. The login is sent unencrypted: HTTP proxies use Basic (RFC 7617), SOCKS 5 uses RFC 1929, and
    /// SOCKS 4a sends only the user.
    package init(_ kind: Kind, host: ServerName, port: UInt16, login: Login? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.login = login
    }

    /// Turns a connection to the proxy into a connection to a host, whose name the proxy resolves. Returns the first
    /// bytes of a host that speaks first, which may arrive with the proxy's answer.
    func lead(
        _ bare: borrowing BareConnection, to host: ServerName, port: UInt16, hostSpeaksFirst: Bool, peer: String,
        until deadline: Deadline
    ) async throws(TransportError) -> [UInt8] {
        switch kind {
        case .socks(let version):
            return try await bare.requestHost(
                host, port: port, from: version, login: login, hostSpeaksFirst: hostSpeaksFirst, until: deadline)
        case .http:
            let request: HTTPRequestHead
            do throws(HTTPRequestError) { request = try self.request(to: host, port: port) } catch {
                throw .tunnelRefused(peer: peer, reason: .unreadable(error.description))
            }
            let answer = try await bare.requestTunnel(request, hostSpeaksFirst: hostSpeaksFirst, until: deadline)
            // mutant tunnel-refused: true by TunnelAttackTests ProbeTests
            guard answer.head.statusCode / 100 == 2 else {
                throw .tunnelRefused(peer: peer, reason: .status(answer.head.statusCode, hadLogin: login != nil))
            }
            return answer.greeting
        }
    }

    private func request(to host: ServerName, port: UInt16) throws(HTTPRequestError) -> HTTPRequestHead {
        let credentials = login.map { login in
            let bytes = Array("\(login.user):\(login.password)".utf8)
            return [HTTPField(name: "Proxy-Authorization", value: "Basic " + Base64.encode(bytes.span))]
        }
        return try HTTPRequestHead(
            method: "CONNECT", target: .authority, origin: HTTPOrigin(scheme: .https, name: host, port: port),
            fields: [HTTPField(name: "User-Agent", value: "pinctl")], credentials: credentials ?? [])
    }
}

extension CleartextProxy: CustomStringConvertible, CustomReflectable {
    /// The proxy's URL without the login.
    package var description: String {
        let scheme =
            switch kind {
            case .http: "http"
            case .socks(.socks5): "socks5"
            case .socks(.socks4a): "socks4a"
            }
        return "\(scheme)://" + place
    }

    /// The proxy's host and port.
    package var place: String { hostAndPort(host, port) }

    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
