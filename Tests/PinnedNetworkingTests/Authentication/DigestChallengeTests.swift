import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// A challenge and its parsed values; nil if it can't be answered.
private struct UsabilityRow: CustomTestStringConvertible, Sendable {
    struct Reading: Equatable, Sendable {
        var realm: String?
        var nonce = "xyz"
        var opaque: String?
        var algorithm: String?
        var quality: DigestChallenge.Quality?
        var isStale = false
        var domain: [String] = []
    }

    let challenge: String
    let expected: Reading?

    var testDescription: String { challenge }

    init(_ challenge: String, _ expected: Reading?) {
        self.challenge = challenge
        self.expected = expected
    }
}

/// Chromium's table first. Chromium accepts four challenges that are rejected here, and treats `auth-int` as no qop.
private let usabilityRows = [
    UsabilityRow(#"Digest nonce="xyz", realm="Thunder Bluff""#, .init(realm: "Thunder Bluff")),
    UsabilityRow(#"Digest nonce="xyz", realm=ThunderBluff"#, .init(realm: "ThunderBluff")),
    UsabilityRow(#"Digest nonce="xyz""#, .init()),
    UsabilityRow(#"Digest realm="", nonce="xyz""#, .init(realm: "")),
    UsabilityRow(#"Digest nonce="xyz", realm="foo-å""#, .init(realm: "foo-å")),
    UsabilityRow(#"Digest realm="Thunder Bluff""#, nil),
    UsabilityRow(#"Digest nonce=xyz, realm="Thunder Bluff""#, .init(realm: "Thunder Bluff")),
    UsabilityRow(#"Digest nonce="xyz", realm="Thunder Bluff", foo="bar""#, .init(realm: "Thunder Bluff")),
    UsabilityRow(#"Digest nonce="xyz", algorithm="awezum", realm="Thunder""#, nil),
    UsabilityRow(#"Digest nonce="xyz", algorithm="mD5", realm="Oblivion""#, .init(realm: "Oblivion", algorithm: "MD5")),
    UsabilityRow(#"Digest nonce="xyz", algorithm="md5-sess", realm="Oblivion""#, nil),
    UsabilityRow(#"Digest nonce="xyz", realm="Oblivion", qop="aUth""#, .init(realm: "Oblivion", quality: .auth)),
    UsabilityRow(#"Digest nonce="xyz", realm="Oblivion", qop="auth-int""#, .init(realm: "Oblivion", quality: .authInt)),
    UsabilityRow(#"Digest nonce="xyz", realm="Oblivion", qop="auth,foo""#, .init(realm: "Oblivion", quality: .auth)),
    UsabilityRow(
        #"Digest nonce="xyz", realm="Oblivion", qop="auth-int, auth""#, .init(realm: "Oblivion", quality: .auth)),
    UsabilityRow(#"Digest nonce="xyz", opaque="foobar""#, .init(opaque: "foobar")),
    UsabilityRow(#"Digest nonce="xyz", opaque=foobar"#, .init(opaque: "foobar")),
    UsabilityRow(
        #"Digest nonce="xyz", domain="http://intranet.example.com/protection http://www.google.com""#,
        .init(domain: ["http://intranet.example.com/protection", "http://www.google.com"])),
    UsabilityRow(#"Basic realm="foo""#, nil),
    // This project's own rows.
    UsabilityRow(#"Digest nonce="xyz", qop="foo""#, nil),
    UsabilityRow(#"Digest nonce="xyz", qop="""#, nil),
    UsabilityRow(#"Digest nonce="xyz", stale=TRUE"#, .init(isStale: true)),
    UsabilityRow(#"Digest nonce="xyz", stale=maybe"#, .init()),
    UsabilityRow(
        #"Digest nonce="xyz", qop=auth, algorithm=sha-512-256-SESS"#,
        .init(algorithm: "SHA-512-256-sess", quality: .auth)),
    UsabilityRow(#"Digest nonce="xyz", qop=auth, algorithm=SHA-512"#, nil),
    UsabilityRow("Digest xyz==", nil),
    UsabilityRow("Digest qop=auth, nonce=" + String(repeating: "n", count: 4_097), nil),
    // curl's tests 2058 to 2069 use SHA without a qop, which RFC 7616 requires.
    UsabilityRow(#"Digest realm="testrealm", algorithm="SHA-256", nonce="1053604144""#, nil),
    UsabilityRow(#"Digest realm="testrealm", algorithm="SHA-512-256", nonce="1053604144", userhash=true"#, nil),
]

@Suite struct DigestChallengeTests {
    @Test("A challenge is parsed into its values or rejected", arguments: usabilityRows)
    private func usability(row: UsabilityRow) throws {
        let challenge = HTTPChallenge.parse([row.challenge]).first.flatMap(DigestChallenge.init)
        let reading = challenge.map {
            UsabilityRow.Reading(
                realm: $0.realm.map(HTTPField.text), nonce: HTTPField.text($0.nonce),
                opaque: $0.opaque.map(HTTPField.text), algorithm: $0.algorithm.name, quality: $0.quality,
                isStale: $0.isStale, domain: $0.domain ?? [])
        }
        #expect(reading == row.expected)
    }
}
