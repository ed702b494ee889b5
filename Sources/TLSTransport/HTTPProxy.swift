package import CertificateTrust
import HTTPMessages

/// A proxy that makes tunnels (RFC 9110, section 9.3.6), spoken to in the clear.
package struct HTTPProxy: Sendable, Hashable {
    package let host: ServerName
    package let port: UInt16
    /// The value of Proxy-Authorization; nil without a login.
    private let authorization: String?

    /// `login` is `user:password` (RFC 7617); whoever is on the way to the proxy can read it.
    package init(host: ServerName, port: UInt16, login: [UInt8]? = nil) {
        self.host = host
        self.port = port
        authorization = login.map { "Basic " + Base64.encode($0.span) }
    }

    func request(to host: ServerName, port: UInt16) throws(HTTPRequestError) -> HTTPRequestHead {
        try HTTPRequestHead(
            method: "CONNECT", target: .authority, origin: HTTPOrigin(scheme: .https, name: host, port: port),
            fields: [HTTPField(name: "User-Agent", value: "pinctl")],
            credentials: authorization.map { [HTTPField(name: "Proxy-Authorization", value: $0)] } ?? [])
    }

    /// What an answer other than a 2xx means.
    func refusal(_ head: HTTPResponseHead) -> String {
        switch head.statusCode {
        case 407 where authorization == nil: "it wants a login (407): name a file with it"
        case 407: "it does not take the login (407): correct it"
        default: "it answers \(head.statusCode): ask whoever runs it"
        }
    }
}

extension HTTPProxy: CustomStringConvertible, CustomReflectable {
    /// Without the login.
    package var description: String { "http://" + hostAndPort(host, port) }

    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
