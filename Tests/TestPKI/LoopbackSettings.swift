extension LoopbackServer {
    /// A certificate that the client is asked for.
    package struct ClientAuthentication: Sendable {
        /// Their subjects are announced as the issuers that the server knows.
        package var issuers: [TestCertificate]
        /// Where the client's chain must end; none accepts any chain.
        package var roots: [TestCertificate]
        /// Turns a client without a certificate away.
        package var isRequired: Bool
        /// Waits for ``Connection/requestCertificate()``, in TLS 1.3.
        package var isPostponed = false

        package init(issuers: [TestCertificate] = [], roots: [TestCertificate] = [], isRequired: Bool = false) {
            self.issuers = issuers
            self.roots = roots
            self.isRequired = isRequired
        }
    }

    /// How a client can take up a session again on another connection.
    package enum Resumption: Sendable, CaseIterable {
        /// The ticket holds the session (RFC 5077; RFC 8446, section 4.6.1).
        case tickets
        /// The server holds the session, and its identifier is what the client gets.
        case identifiers
        /// Tickets are handed out and then not taken.
        case refused
        case none
    }

    /// What follows a head with `Expect: 100-continue`.
    package enum Expectation: Sendable {
        /// 100 Continue.
        case met
        /// Nothing: the server waits for the body.
        case ignored
        /// A final response and the end of the connection; the body is not read.
        case answered(Response)
    }
}
