package import CertificateTrust
import OpenSSLBridge

/// How a connection is made: which addresses, which TLS offers, how long each phase may take.
package struct DialOptions: Sendable, Hashable {
    /// Which of the host's addresses are tried.
    package enum AddressFamily: Sendable, Hashable {
        /// IPv6 and IPv4, raced (RFC 8305).
        case any
        /// IPv4 alone.
        case ipv4
        /// IPv6 alone.
        case ipv6
    }

    /// The TLS versions that are spoken (RFC 5246, RFC 8446).
    package enum Version: Sendable, Hashable {
        case tls12
        case tls13

        var number: TLSVersion {
            switch self {
            case .tls12: .tls12
            case .tls13: .tls13
            }
        }
    }

    /// The name told to the server (RFC 6066, section 3). It chooses the certificate; the name that is verified stays
    /// the endpoint's.
    package enum ServerNameIndication: Sendable, Hashable {
        /// The endpoint's own, when it is a DNS name.
        case own
        case none
        /// Another name; none is sent for an IP address.
        case other(ServerName)
    }

    package var addressFamily = AddressFamily.any
    package var serverNameIndication = ServerNameIndication.own
    /// ALPN names, most wanted first (RFC 7301), each of 1 to 255 bytes; empty sends no ALPN.
    package var applicationProtocols = ["http/1.1"]
    /// The oldest TLS version to offer.
    package var minimumVersion = Version.tls12
    /// The newest TLS version to offer; nil for the newest there is.
    package var maximumVersion: Version?
    /// Signature algorithms to offer, in the words of `SSL_set1_sigalgs_list` (`"ECDSA+SHA256:RSA-PSS+SHA256"`); nil
    /// offers OpenSSL's own. A server with several certificates chooses by this list.
    package var signatureAlgorithms: String?
    /// The kind of key that is asked for, and no other taken: it replaces ``signatureAlgorithms``.
    package var serverKey: ServerKeyKind?
    /// Whether to ask for an OCSP response with the certificate (RFC 6066, section 8).
    package var requestsStaple = false
    /// The longest wait for name resolution.
    package var resolveTimeout = Duration.seconds(10)
    /// The longest wait for the first address to accept.
    package var connectTimeout = Duration.seconds(10)
    /// The longest wait for the server's certificate, and once more for the rest of the handshake after the answer.
    package var handshakeTimeout = Duration.seconds(10)
    /// The longest wait for all of it, up to the server's certificate.
    package var totalTimeout = Duration.seconds(30)

    package init() {}

    /// What is sent as SNI to an endpoint of this name; nil sends none.
    func indicatedName(for name: ServerName) -> String? {
        let indicated: ServerName
        switch serverNameIndication {
        case .own: indicated = name
        case .none: return nil
        case .other(let other): indicated = other
        }
        return indicated.isIPAddress ? nil : indicated.description
    }
}
