import CertificateTrust
import PinctlCommands
import PinctlTLSTransport
import Testing

@Suite("Targets")
struct TargetTests {
    static let good = [
        ("example.com", "example.com:443"), ("EXAMPLE.com.", "example.com:443"),
        ("example.com:8443", "example.com:8443"),
        ("192.0.2.1", "192.0.2.1:443"), ("192.0.2.1:1", "192.0.2.1:1"), ("[2001:db8::1]", "[2001:db8::1]:443"),
        ("[2001:DB8:0::1]:65535", "[2001:db8::1]:65535"), ("2001:db8::1", "[2001:db8::1]:443"),
        ("https://example.com", "example.com:443"), ("HTTPS://example.com:8443/a@b?c#d", "example.com:8443"),
        ("https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"), ("https://example.com?q", "example.com:443"),
        ("example.com@192.0.2.1", "example.com:443 via 192.0.2.1:443"),
        ("example.com:8443@192.0.2.1", "example.com:8443 via 192.0.2.1:8443"),
        ("example.com:8443@[2001:db8::1]:1", "example.com:8443 via [2001:db8::1]:1"),
        ("example.com@edge.example.net", "example.com:443 via edge.example.net:443"),
        ("smtp://mail.example.com", "smtp://mail.example.com:25"),
        ("smtp://mail.example.com:587@192.0.2.1", "smtp://mail.example.com:587 via 192.0.2.1:587"),
        ("IMAPS://mail.example.com", "mail.example.com:993"),
        ("xmpp-server://example.com", "xmpp-server://example.com:5269"),
    ]

    @Test("A target is a host, a port and optionally another address to connect to", arguments: good)
    func reads(text: String, description: String) throws {
        #expect(try Target(text).description == description)
    }

    static let bad: [(String, TargetError)] = [
        ("", .name(.empty)), (":443", .name(.empty)), ("@192.0.2.1", .name(.empty)), ("example.com@", .name(.empty)),
        ("example.com:", .port("")), ("example.com:0", .port("0")), ("example.com:65536", .port("65536")),
        ("example.com:+1", .port("+1")), ("example.com:443 ", .port("443 ")), ("example.com:https", .port("https")),
        ("http://example.com", .scheme("http")), ("gopher://example.com", .scheme("gopher")),
        ("https://user@example.com/", .userPart), ("*.example.com", .name(.malformed("*.example.com"))),
        ("example.com/path", .name(.malformed("example.com/path"))),
        ("münchen.example", .name(.notASCII("münchen.example"))),
        ("127.1", .name(.malformedAddress("127.1"))), ("[::1", .name(.malformed("[:"))),
        ("-q", .name(.malformed("-q"))),
    ]

    @Test("Anything else isn't a target", arguments: bad)
    func refuses(text: String, error: TargetError) {
        #expect(throws: error) { try Target(text) }
    }
}
