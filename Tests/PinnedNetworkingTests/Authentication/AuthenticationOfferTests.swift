import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// A response and the protection spaces of its challenges, with the rows of swift-corelibs-foundation's
/// TestURLProtectionSpace.
private struct OfferRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var field = "WWW-Authenticate"
    let value: String
    var port: UInt16 = 80
    /// The method, without `NSURLAuthenticationMethod`, and realm of each space, strongest first.
    var spaces: [String] = []
    /// The result in that project, and why it differs here.
    var deviation: String?

    init(
        _ testDescription: String, field: String = "WWW-Authenticate", _ value: String, port: UInt16 = 80,
        _ spaces: [String] = [], deviation: String? = nil
    ) {
        self.testDescription = testDescription
        self.field = field
        self.value = value
        self.port = port
        self.spaces = spaces
        self.deviation = deviation
    }
}

private let rows = [
    // test_createWithHTTPURLresponse and test_createWithInvalidAuth.
    OfferRow("a Basic realm without a name", #"Basic Realm="""#, port: 443, ["HTTPBasic ''"]),
    OfferRow(
        "a field in lower case", field: "www-authenticate", #"Basic realm="test""#, port: 443, ["HTTPBasic 'test'"]),
    OfferRow(
        "Digest without qop", field: "www-authenticate",
        #"Digest realm="Test", domain="/HTTP/Digest", nonce="be2e96ad8ab8acb7ccfb49bc7e162914""#,
        ["HTTPDigest 'Test'"], deviation: "no space: Digest is not spoken there"),
    OfferRow(
        "NTLM with a realm", field: "www-authenTicate", #"NTLM realm="""#, port: 333, ["NTLM"],
        deviation: "no space: NTLM is not spoken there; it has no realms"),
    OfferRow("a field of a misspelled name", field: "www-authenicate", "Basic"),
    OfferRow("a scheme with a blank in it", "NT LM realm="),
    OfferRow("an unknown scheme", "fdsfds"),
    // test_challenge.
    OfferRow("nothing", ""),
    OfferRow("words that are no scheme", "maybe challenge, maybe not"),
    OfferRow(
        "parameters that Basic does not have",
        #"Basic Realm="Test",charset="utf-8", other="be2e96ad8ab8acb7ccfb49bc7e162914""#, ["HTTPBasic 'Test'"]),
    OfferRow(
        "many challenges, and a quoted quote",
        #"Digest realm="Unsupported", Basic, basic realm =    "First \" realm", Basic realm="Second realm""#,
        ["HTTPBasic", #"HTTPBasic 'First " realm'"#, "HTTPBasic 'Second realm'"],
        deviation: "not the Basic without a realm; curl and browsers log into it, and so do we"),
    OfferRow("an unknown scheme in front", #"not real, Basic realm="Second realm""#, ["HTTPBasic 'Second realm'"]),
    OfferRow(
        "no comma between parameters", #"Basic realm="Second realm"charset="#,
        deviation: "the realm before it: what is malformed asks for no password (HA10)"),
    OfferRow(
        "a parameter without a value", #"Basic reALm = "Second realm",charset="#,
        deviation: "the realm before it: what is malformed asks for no password (HA10)"),
    OfferRow("a quote that does not end", #"Basic realm="Broken realm"#),
    OfferRow(
        "Basic without a realm", #"Basic charset="utf-8""#, ["HTTPBasic"],
        deviation: "no space; curl and browsers log into it, and so do we"),
    OfferRow(
        "a quote in the middle", #"Basic realm="Oh no,basic REALM="World's okayest realm", param="""#,
        deviation: "two realms: behind a quote nobody can say which comma separates (HA10)"),
]

@Suite struct AuthenticationOfferTests {
    @Test("A response offers these protection spaces at its own host and port", arguments: rows)
    private func spaces(row: OfferRow) throws {
        let scheme = row.port == 443 ? NSURLProtectionSpaceHTTPS : NSURLProtectionSpaceHTTP
        let request = AuthenticationRequest(
            party: .origin(try ServerName("apple.com"), port: row.port, protocol: scheme), method: "GET", target: "/")
        let fields = [
            HTTPField(name: "Content-Length", value: "0"), HTTPField(name: row.field, value: row.value),
            HTTPField(name: "X-Frame-Options", value: "deny"),
        ]
        let spaces = AuthenticationOffer.offers(in: fields, for: request).map(\.space)
        #expect(
            spaces.map { space in
                space.authenticationMethod.replacing("NSURLAuthenticationMethod", with: "")
                    + (space.realm.map { " '\($0)'" } ?? "")
            } == row.spaces)
        for space in spaces {
            #expect((space.host, space.port, space.protocol) == ("apple.com", Int(row.port), scheme))
            #expect(!space.isProxy())
        }
    }
}
