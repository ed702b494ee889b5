extension LoopbackServer {
    /// A request for a client certificate.
    package struct ClientAuthentication: Sendable {
        /// The certificates whose subjects are announced as acceptable issuers.
        package var issuers: [TestCertificate]
        /// The roots at which the client's chain must end. Without any, every chain is accepted.
        package var roots: [TestCertificate]
        /// Whether a client without a certificate is rejected.
        package var isRequired: Bool
        /// Whether the request waits for ``Connection/requestCertificate()``, in TLS 1.3.
        package var isPostponed = false

        package init(issuers: [TestCertificate] = [], roots: [TestCertificate] = [], isRequired: Bool = false) {
            self.issuers = issuers
            self.roots = roots
            self.isRequired = isRequired
        }
    }

    /// The way in which a client can resume a session on another connection.
    package enum Resumption: Sendable, CaseIterable {
        /// The ticket contains the session (RFC 5077; RFC 8446, section 4.6.1).
        case tickets
        /// The server keeps the session, and the client receives its identifier.
        case identifiers
        /// Tickets are issued and then not accepted.
        case refused
        case none
    }

    /// The server's reaction to a head with `Expect: 100-continue`.
    package enum Expectation: Sendable {
        /// Sends 100 Continue.
        case met
        /// Sends nothing and waits for the body.
        case ignored
        /// Sends a final response and closes the connection without reading the body.
        case answered(Response)
    }
}
