import Glibc

/// A server with a CA of its own: a root, an intermediate and a leaf.
package struct TestSite: Sendable {
    /// The default host.
    package static let host = "api.example.test"

    package let host: String
    package let root: TestCertificate
    package let intermediate: TestCertificate
    package let leaf: TestCertificate

    /// The chain that the server sends.
    package var chain: [TestCertificate] { [leaf, intermediate] }

    /// Creates the certificates. `authority` starts the names of the CAs. `key` is the leaf's key, and `adjust` changes
    /// the leaf's settings, such as its alternative names. Sessions need `isValidNow`, because they use the system
    /// clock.
    package init(
        _ host: String = host, authority: String = "Test", key: TestKey? = nil, isValidNow: Bool = false,
        adjusting adjust: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws(TestPKIError) {
        let setValidity = { (settings: inout TestCertificate.Settings) in if isValidNow { settings.makeValidNow() } }
        self.host = host
        root = try .root("\(authority) Root", adjusting: setValidity)
        intermediate = try root.intermediate("\(authority) Intermediate", adjusting: setValidity)
        leaf = try intermediate.leaf(host, key: key) {
            setValidity(&$0)
            adjust(&$0)
        }
    }
}

extension TestCertificate.Settings {
    /// Sets the validity to one day before and after the current time.
    package mutating func makeValidNow() {
        let now = Int64(time(nil))
        (notBefore, notAfter) = (now - 86_400, now + 86_400)
    }
}
