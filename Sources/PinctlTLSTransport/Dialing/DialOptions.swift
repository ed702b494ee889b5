package import CertificateTrust
import OpenSSLBridge

/// Options for making a connection: the addresses to try, the TLS parameters to offer, and the time limit of each
/// phase.
package struct DialOptions: Sendable, Hashable {
    /// The address families to try.
    package enum AddressFamily: Sendable, Hashable {
        /// IPv6 and IPv4, raced (RFC 8305).
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// The supported TLS versions (RFC 5246, RFC 8446).
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

    /// The hostname sent to the server as SNI (RFC 6066, section 3). The server selects the certificate by it. The name
    /// to verify is still the endpoint's.
    package enum ServerNameIndication: Sendable, Hashable {
        /// The endpoint's own name, if it is a DNS name.
        case own
        case none
        /// Another name. Nothing is sent for an IP address.
        case other(ServerName)
    }

    package var addressFamily = AddressFamily.any
    package var serverNameIndication = ServerNameIndication.own
    /// ALPN names in order of preference (RFC 7301), each of 1 to 255 bytes. Empty sends no ALPN.
    package var applicationProtocols = ["http/1.1"]
    /// The oldest TLS version to offer.
    package var minimumVersion = Version.tls12
    /// The newest TLS version to offer. Nil means the newest that OpenSSL supports.
    package var maximumVersion: Version?
    /// The signature algorithms to offer, as `SSL_set1_sigalgs_list` takes them (`"ECDSA+SHA256:RSA-PSS+SHA256"`). Nil
    /// offers OpenSSL's default. A server with several certificates chooses by this list.
    package var signatureAlgorithms: String?
    /// The only kind of server key to accept. It replaces ``signatureAlgorithms``.
    package var serverKey: ServerKeyKind?
    /// Whether to ask for an OCSP response with the certificate (RFC 6066, section 8).
    package var requestsStaple = false
    /// The time limit for name resolution.
    package var resolveTimeout = Duration.seconds(10)
    /// The time limit for the first address to accept.
    package var connectTimeout = Duration.seconds(10)
    /// The time limit for receiving the server's certificate, and again for the rest of the handshake after the answer.
    package var handshakeTimeout = Duration.seconds(10)
    /// The time limit for everything up to the server's certificate.
    package var totalTimeout = Duration.seconds(30)

    package init() {}

    /// The TLS versions that are offered, for messages.
    var offeredVersions: [String] {
        [minimumVersion == .tls12 ? "TLS 1.2" : nil, maximumVersion == .tls12 ? nil : "TLS 1.3"].compactMap(\.self)
    }

    /// Returns the name to send as SNI to an endpoint with this name, or nil to send none.
    func indicatedName(for name: ServerName) -> String? {
        let indicated: ServerName
        switch serverNameIndication {
        case .own: indicated = name
        case .none: return nil
        case .other(let other): indicated = other
        }
        // mutant sni-address: false for `indicated.isIPAddress` by HandshakeTests EndpointTests URLHostTests
        return indicated.isIPAddress ? nil : indicated.description
    }
}
