import Testing

@testable import PinnedNetworking

private struct ChallengeRow: CustomTestStringConvertible, Sendable {
    let values: [String]
    let expected: [HTTPChallenge]

    var testDescription: String { values.map { String($0.prefix(80)) }.joined(separator: " | ") }

    init(_ values: String..., is expected: [HTTPChallenge]) {
        self.values = values
        self.expected = expected
    }
}

private func challenge(_ scheme: String, _ parameters: [String: String] = [:]) -> HTTPChallenge {
    HTTPChallenge(scheme: scheme, parameters: parameters)
}

private func challenge(_ scheme: String, token: String) -> HTTPChallenge {
    HTTPChallenge(scheme: scheme, token68: token)
}

private let basic = challenge("basic", ["realm": "simple"])

private let soundRows = [
    ChallengeRow(is: []),
    ChallengeRow("", is: []),
    ChallengeRow(#"Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"BASIC REALM = "simple""#, is: [basic]),
    ChallengeRow("Basic\trealm\t=\tsimple", is: [basic]),
    ChallengeRow(#", ,Basic realm="simple", ,"#, is: [basic]),
    ChallengeRow("Negotiate", is: [challenge("negotiate")]),
    ChallengeRow("Negotiate , NTLM", is: [challenge("negotiate"), challenge("ntlm")]),
    ChallengeRow("Negotiate a/+-._~9==", is: [challenge("negotiate", token: "a/+-._~9==")]),
    ChallengeRow(#"NTLM abc= , Basic realm="simple""#, is: [challenge("ntlm", token: "abc="), basic]),
    // RFC 9110, section 11.6.1.
    ChallengeRow(
        #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
        is: [basic, challenge("newauth", ["realm": "apps", "type": "1", "title": #"Login to "apps""#])]),
    ChallengeRow(
        #"Newauth realm="apps", type=1, title="Login, \\ \"apps\"", Basic realm="simple""#,
        is: [challenge("newauth", ["realm": "apps", "type": "1", "title": #"Login, \ "apps""#]), basic]),
    ChallengeRow(
        #"Digest realm="a""#, "Negotiate", #"Basic realm="simple""#,
        is: [
            challenge("digest", ["realm": "a"]), challenge("negotiate"), basic,
        ]),
    ChallengeRow(#"Basic realm="""#, is: [challenge("basic", ["realm": ""])]),
    ChallengeRow(#"Basic realm="café""#, is: [challenge("basic", ["realm": "café"])]),
    // Values that servers write without quotes.
    ChallengeRow("Digest nonce=ab==, qop=auth", is: [challenge("digest", ["nonce": "ab==", "qop": "auth"])]),
    // curl's tests 76 and 1204.
    ChallengeRow(
        "Basic, Wild-and-crazy, NTLM", is: [challenge("basic"), challenge("wild-and-crazy"), challenge("ntlm")]),
    ChallengeRow(
        #"X-MobileMe-AuthToken realm="Newcastle", Basic realm="fun fun  fun""#,
        is: [
            challenge("x-mobileme-authtoken", ["realm": "Newcastle"]), challenge("basic", ["realm": "fun fun  fun"]),
        ]),
    // curl's test 1095.
    ChallengeRow(
        #"Digest realm="test \"this\" realm!!", nonce="1053604145""#,
        is: [challenge("digest", ["realm": #"test "this" realm!!"#, "nonce": "1053604145"])]),
    // Chromium's tokenizer.
    ChallengeRow(#"Basic realm="foobar""#, is: [challenge("basic", ["realm": "foobar"])]),
    ChallengeRow("Basic realm=foobar@baz.com", is: [challenge("basic", ["realm": "foobar@baz.com"])]),
    ChallengeRow(
        #"Digest algorithm=md5, realm="Oblivion", qop=auth-int"#,
        is: [challenge("digest", ["algorithm": "md5", "realm": "Oblivion", "qop": "auth-int"])]),
    ChallengeRow("NTLM", is: [challenge("ntlm")]),
    // Chromium removes one of the equals signs, and reads this as a name without a value.
    ChallengeRow("NTLM  SGVsbG8sIFdvcmxkCg===", is: [challenge("ntlm", token: "SGVsbG8sIFdvcmxkCg===")]),
    ChallengeRow("Digest qop=", is: [challenge("digest", token: "qop=")]),
]

/// HA10: malformed parts are omitted, and what can be recognized is kept.
private let unsoundRows = [
    // Chromium's tokenizer accepts these. A quote without an end hides everything after it.
    ChallengeRow(#"Basic realm="foobar@baz.com"#, is: []),
    ChallengeRow(#"Basic realm=""#, is: []),
    ChallengeRow(#"Digest qop=auth-int, algorithm=md5, realm="foo"#, is: []),
    ChallengeRow(#"NTLM, Basic realm="foo, Negotiate"#, #"Basic realm="simple""#, is: [challenge("ntlm"), basic]),
    ChallengeRow(#"Basic realm="a\"#, is: []),
    ChallengeRow(#"Digest realm=a"b, Basic realm="simple""#, is: []),
    ChallengeRow(#"Digest realm="a"b, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm="a""b", Basic realm="simple""#, is: []),
    ChallengeRow(#"Digest realm="a" x=1, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm=a b, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm="a", nonce=, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm="a", =1, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm="a", (), Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest @, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest@x, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest =, Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"(x), Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"realm="none's", Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"NTLM abc==, realm="x", Basic realm="simple""#, is: [basic]),
    // A challenge with two realms is omitted.
    ChallengeRow(#"Digest realm="a", nonce=x, realm="a", Basic realm="simple""#, is: [basic]),
    ChallengeRow(#"Digest realm="a", REALM="b", Basic realm="simple""#, is: [basic]),
    ChallengeRow("Basic realm=\"a\u{0}b\"", #"Basic realm="simple""#, is: [basic]),
    ChallengeRow("Basic realm=\"a\r\nX: b\"", #"Basic realm="simple""#, is: [basic]),
    ChallengeRow("Basic realm=\"a\u{7F}\"", is: []),
]

private let limitRows = [
    ChallengeRow(#"Basic realm="simple""#, filler(HTTPChallenge.sizeLimit - 20), is: [basic]),
    ChallengeRow(#"Basic realm="simple""#, filler(HTTPChallenge.sizeLimit - 19), is: []),
    ChallengeRow(#"Basic realm="simple""#, String(repeating: "a=\"", count: 400_000), is: []),
    ChallengeRow(list(100) { _ in "NTLM" }, is: Array(repeating: challenge("ntlm"), count: 100)),
    ChallengeRow(list(101) { _ in "NTLM" }, is: []),
    ChallengeRow(list(10_000) { _ in "NTLM" }, is: []),
    ChallengeRow("NTLM", list(100) { _ in "NTLM" }, is: []),
    ChallengeRow(
        "X " + list(100) { "p\($0)=v" },
        is: [challenge("x", Dictionary(uniqueKeysWithValues: (0..<100).map { ("p\($0)", "v") }))]),
    ChallengeRow("NTLM, X " + list(101) { "p\($0)=v" }, is: []),
]

private func filler(_ count: Int) -> String { String(repeating: ",", count: count) }

private func list(_ count: Int, _ element: (Int) -> String) -> String {
    (0..<count).map(element).joined(separator: ",")
}

@Suite struct HTTPChallengeTests {
    @Test("All challenges of a response are parsed in order", arguments: soundRows)
    private func sound(row: ChallengeRow) {
        #expect(HTTPChallenge.parse(row.values) == row.expected)
    }

    @Test("A malformed challenge doesn't hide the ones next to it (HA10)", arguments: unsoundRows)
    private func unsound(row: ChallengeRow) {
        #expect(HTTPChallenge.parse(row.values) == row.expected)
    }

    @Test("Beyond a limit all challenges are rejected (HA10)", arguments: limitRows)
    private func limits(row: ChallengeRow) {
        #expect(HTTPChallenge.parse(row.values) == row.expected)
    }

    @Test("A field that is cut at any position is parsed safely (HA10)", arguments: soundRows + unsoundRows)
    private func cuts(row: ChallengeRow) {
        for value in row.values.map({ Array($0.utf8) }) {
            for end in value.indices {
                let cut = String(decoding: value[..<end], as: UTF8.self)
                #expect(HTTPChallenge.parse([cut]).count <= row.values.joined().count)
            }
        }
    }

    @Test("A field of only parameters is parsed completely or not at all")
    func parameters() {
        #expect(
            HTTPChallenge.parameters(of: [#"nextnonce="n", qop=auth"#, "nc=1"])
                == ["nextnonce": "n", "qop": "auth", "nc": "1"])
        #expect(HTTPChallenge.parameters(of: []) == [:])
        #expect(HTTPChallenge.parameters(of: [#"nextnonce="n", nextnonce="m""#]) == nil)
        #expect(HTTPChallenge.parameters(of: [#"nextnonce="n"#]) == nil)
        #expect(HTTPChallenge.parameters(of: [#"Digest nextnonce="n""#]) == nil)
        #expect(HTTPChallenge.parameters(of: [#"nextnonce="n", Digest rspauth="x""#]) == nil)
        #expect(HTTPChallenge.parameters(of: [filler(HTTPChallenge.sizeLimit + 1)]) == nil)
    }
}
