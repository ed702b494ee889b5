import CertificateTrust
import Testing

@testable import PinnedNetworking

/// A challenge, a request, and the response that must come out.
private struct ResponseRow: CustomTestStringConvertible, Sendable {
    let name: String
    let challenge: String
    var user: String
    var password: String
    var method = "GET"
    let target: String
    var body: [UInt8]? = []
    var clientNonce = ""
    let response: String
    /// Parameters that must be there beside those every response has.
    var more: [String: String] = [:]

    var testDescription: String { name }

    var digestChallenge: DigestChallenge? {
        HTTPChallenge.parse(["Digest " + challenge]).first.flatMap(DigestChallenge.init)
    }
}

private let rfcNonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
private let rfcClientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
private let rfcChallenge = """
    realm="http-auth@example.org", qop="auth, auth-int", nonce="\(rfcNonce)", \
    opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm=
    """
private let jasonChallenge = """
    realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
    nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
    opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8
    """

private let rfcRows = [
    ResponseRow(
        name: "RFC 7616, section 3.9.1, MD5", challenge: rfcChallenge + "MD5", user: "Mufasa",
        password: "Circle of Life", target: "/dir/index.html", clientNonce: rfcClientNonce,
        response: "8ca523f5e9506fed4657c9700eebdbec",
        more: [
            "qop": "auth", "nc": "00000001", "cnonce": rfcClientNonce, "algorithm": "MD5",
            "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
        ]),
    ResponseRow(
        name: "RFC 7616, section 3.9.1, SHA-256", challenge: rfcChallenge + "SHA-256", user: "Mufasa",
        password: "Circle of Life", target: "/dir/index.html", clientNonce: rfcClientNonce,
        response: "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        more: ["qop": "auth", "nc": "00000001", "cnonce": rfcClientNonce, "algorithm": "SHA-256"]),
    // The values printed in section 3.9.2 are those of no digest that the text names.
    ResponseRow(
        name: "RFC 7616, section 3.9.2, with the digest it names", challenge: jasonChallenge + ", userhash=true",
        user: "Jäsøn Doe", password: "Secret, or not?", target: "/doe.json",
        clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c",
        more: [
            "username": "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b", "userhash": "true",
        ]),
    ResponseRow(
        name: "a name in two normal forms", challenge: jasonChallenge + ", userhash=true", user: "Ja\u{308}søn Doe",
        password: "Secret, or not?", target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c"),
    ResponseRow(
        name: "a name that is not ASCII", challenge: jasonChallenge, user: "Jäsøn Doe", password: "Secret, or not?",
        target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c",
        more: ["username*": "UTF-8''J%C3%A4s%C3%B8n%20Doe"]),
    // RFC 2617, section 3.5.
    ResponseRow(
        name: "RFC 2617, section 3.5",
        challenge: """
            realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """, user: "Mufasa", password: "Circle Of Life", target: "/dir/index.html", clientNonce: "0a4f113b",
        response: "6629fae49393a05397450978507c4ef1"),
]

/// The URLs, methods and answers of curl's tests; bodies do not enter.
private let curlRows = [
    ResponseRow(
        name: "curl 64", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser", password: "testpass",
        target: #"/64""#, response: "1ee14b238b3259f17602e9ce41491ef9"),
    ResponseRow(
        name: "curl 65", challenge: #"realm="testrealm", nonce="2053604145""#, user: "testuser", password: "test2pass",
        target: "/65", response: "66d68d3251f1839576ba7c766cf9205b"),
    ResponseRow(
        name: "curl 70", challenge: #"realm="testrealm", nonce="1053604199""#, user: "testuser", password: "testpass",
        target: "/70", response: "2c9a6f00af0d86497b177b90e90c688a"),
    ResponseRow(
        name: "curl 72", challenge: #"realm="testrealm", nonce="1053604199""#, user: "testuser", password: "testpass",
        target: "/72", response: "9fcd1330377365a09bbcb33b2cbb25bd"),
    ResponseRow(
        name: "curl 88", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser", password: "testpass",
        method: "PUT", target: "/88", body: nil, response: "78a49fa53d0c228778297687d4168e71"),
    ResponseRow(
        name: "curl 153, first", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1530001", response: "f4f83139396995bac665f24a1f1055c7"),
    ResponseRow(
        name: "curl 153, second", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1530002", response: "f84511b014fdd0ba6494f42871079c32"),
    ResponseRow(
        name: "curl 154", challenge: #"realm="gimme all yer s3cr3ts", nonce="11223344""#, user: "testuser",
        password: "testpass", method: "PUT", target: "/154", body: nil, response: "b71551e12d1c456e47d8388ecb2edeca"),
    ResponseRow(
        name: "curl 167", challenge: #"realm="weirdorealm", nonce="12345""#, user: "digest", password: "a-lot",
        target: "/167", response: "304c55b19dbcb9c7e7a3354abd11ba1b"),
    ResponseRow(
        name: "curl 168, proxy", challenge: #"realm="weirdorealm", nonce="12345""#, user: "foo", password: "bar",
        target: "/168", response: "fb8608e00ad9239a3dedb14bc8575976"),
    ResponseRow(
        name: "curl 168, origin", challenge: #"realm="realmweirdo", nonce="123456""#, user: "digest",
        password: "a-lot", target: "/168", response: "bfecb43898f3db12543650d45493313b"),
    ResponseRow(
        name: "curl 169", challenge: #"realm="r e a l m", nonce="abcdef""#, user: "digest", password: "a-lot",
        target: "/169", response: "89b737a4b6eefde285c093c92e9bd6ea"),
    ResponseRow(
        name: "curl 245", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/245", response: "379a439b1737ba257c1d2f103914b18b"),
    ResponseRow(
        name: "curl 246", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/246", response: "761e6fc9a760c39d587092e8d840e740"),
    ResponseRow(
        name: "curl 1001", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        target: "/1001", response: "6af4d89c952f4dd4cc215a6878dc499d"),
    ResponseRow(
        name: "curl 1002", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        target: "/1002.upload1", response: "198aa9b6acb4b0c71d02a197a5e41f54"),
    ResponseRow(
        name: "curl 1071", challenge: #"realm="gimme all yer s3cr3ts", nonce="11223344""#, user: "testuser",
        password: "testpass", method: "PUT", target: "/1071", response: "df4cef6b52a30e65d472dd848d2055a1"),
    ResponseRow(
        name: "curl 1095", challenge: #"realm="test \"this\" realm!!", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1095", response: "df3246f44d2bc8de0e9f8fc4d7cf6e95",
        more: ["realm": #"test "this" realm!!"#]),
    ResponseRow(
        name: "curl 1284", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/1284", response: "5763079608de439072861a59ac733515"),
    ResponseRow(
        name: "curl 1285", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "PUT", target: "/1285", response: "dc185587d5e8391b347eef194c2a3cd6"),
    ResponseRow(
        name: "curl 206", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.206:8990", response: "003e36decb4dbf6366b3ecb9b87c24ec"),
    ResponseRow(
        name: "curl 258", challenge: #"realm="many secrets", nonce="911""#, user: "uuuser", password: "pppassword",
        method: "POST", target: "/we/want/258", response: "2501654ca391f0b5c8c12a1da77e34cd"),
    ResponseRow(
        name: "curl 259", challenge: #"realm="many secrets", nonce="911""#, user: "uuuser", password: "pppassword",
        method: "POST", target: "/we/want/259", response: "b479994d13e60f3aa192a67c5892ddc5"),
    ResponseRow(
        name: "curl 540", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        target: "/path/540", response: "ca507dcf189196b6a5374d3233042261"),
    ResponseRow(
        name: "curl 1060", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.1060:8990", response: "e1fbed39c26f4efe284adc0e576ff638"),
    ResponseRow(
        name: "curl 1061", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.1061:8990", response: "4e23449fa93224834299e7282a70472c"),
]

private let drealm = #"realm="DRealm1", algorithm=MD5, qop="auth", nonce="#
private let oblivion = #"realm="Oblivion", nonce="nonce-value""#

/// Its last rows set no method.
private let chromiumRows = [
    ResponseRow(
        name: "Chromium, user and password",
        challenge: drealm + #""claGgoRXBAA=7583377687842fdb7b56ba0555d175baa0b800e3""#, user: "foo", password: "bar",
        target: "/test/drealm1", clientNonce: "082c875dcb2ca740", response: "bcfaa62f1186a31ff1b474a19a17cf57",
        more: ["nc": "00000001", "cnonce": "082c875dcb2ca740", "algorithm": "MD5", "qop": "auth"]),
    ResponseRow(
        name: "Chromium, a blank in the name, no password",
        challenge: drealm + #""Ure30oRXBAA=7eca98bbf521ac6642820b11b86bd2d9ed7edc70""#, user: "foo bar", password: "",
        target: "/test/drealm1/", clientNonce: "082c875dcb2ca740", response: "93c9c6d5930af3b0eb26c745e02b04a0"),
    ResponseRow(
        name: "Chromium, no name", challenge: drealm + #""7thGplhaBAA=41fb92453c49799cf353c8cd0aabee02d61a98a8""#,
        user: "", password: "pass", target: "/test/drealm1/", clientNonce: "6509bc74daed8263",
        response: "bc597110f41a62d07f8b70b6977fcb61"),
    ResponseRow(
        name: "Chromium, neither", challenge: drealm + #""s3MzvFhaBAA=4c520af5acd9d8d7ae26947529d18c8eae1e98f4""#,
        user: "", password: "", target: "/test/drealm1/", clientNonce: "1522e61005789929",
        response: "22cfa2b30cb500a9591c6d55ec5590a8"),
    ResponseRow(
        name: "Chromium, no algorithm and no quality", challenge: oblivion, user: "FooBar", password: "pass",
        target: "/", response: "f72ff54ebde2f928860f806ec04acd1b"),
    ResponseRow(
        name: "Chromium, MD5-sess",
        challenge: #"realm="Baztastic", nonce="AAAAAAAA", algorithm="md5-sess", qop=auth"#, user: "USER",
        password: "123", target: "/", clientNonce: "15c07961ed8575c4", response: "cbc1139821ee7192069580570c541a03",
        more: ["algorithm": "MD5-sess"]),
    ResponseRow(
        name: "Chromium, a server", challenge: oblivion, user: "foo", password: "bar", method: "",
        target: "/path/to/resource",
        response: "6779f90bd0d658f937c1af967614fe84"),
    ResponseRow(
        name: "Chromium, a proxy for https", challenge: oblivion, user: "foo", password: "bar", method: "CONNECT",
        target: "www.example.com:443", response: "3270da8467afbe9ddf2334a48d46e9b9"),
    ResponseRow(
        name: "Chromium, a proxy for ws", challenge: oblivion, user: "foo", password: "bar", method: "CONNECT",
        target: "www.example.com:80", response: "aa1df184f68d5b6ab9d9aa4f88e41b4c"),
    ResponseRow(
        name: "Chromium, opaque", challenge: oblivion + #", qop="auth", opaque="opaque text""#, user: "foo",
        password: "bar", method: "", target: "/path/to/resource", clientNonce: "client_nonce",
        response: "5b1459beda5cee30d6ff9e970a69c0ea", more: ["opaque": "opaque text"]),
]

/// A challenge, and what is understood of it; nil when it cannot be answered.
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

/// Chromium's table first. It takes four challenges that are refused here, and takes `auth-int` for no quality.
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
    // Ours.
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
    // curl's tests 2058 to 2069 have SHA without a quality, which RFC 7616 demands.
    UsabilityRow(#"Digest realm="testrealm", algorithm="SHA-256", nonce="1053604144""#, nil),
    UsabilityRow(#"Digest realm="testrealm", algorithm="SHA-512-256", nonce="1053604144", userhash=true"#, nil),
]

/// The responses of those tests, which hold for the hashing.
private struct ProofRow: CustomTestStringConvertible, Sendable {
    let test: Int
    let algorithm: String
    let user: String
    let password: String
    let nonce: String
    var method = "GET"
    let response: String

    var testDescription: String { "curl \(test)" }
}

private let proofRows = [
    ProofRow(
        test: 2058, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "fbed69f9f3fd304c8f1acb1a43eb32688b933c0e28055c16b926cbcec070aeed"),
    ProofRow(
        test: 2059, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "22d200df1fd02a9d3a7269ef5bbb5bf8f16f184a74907df9b64a3755489c0b42"),
    ProofRow(
        test: 2060, algorithm: "SHA-512-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "691867f4a06c79fd0a175c1857e3df7015f6fff3ce8676497d2f1f805b5a8eca"),
    ProofRow(
        test: 2061, algorithm: "SHA-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "9dc55255f1a2537b838311674b621d45346b862a81631bb20e4ce356ef25062d"),
    ProofRow(
        test: 2062, algorithm: "SHA-512-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "9d3256ee6526ec40dd48743bb48e51ee9baba587c78f15c3a86166242150af98"),
    ProofRow(
        test: 2063, algorithm: "SHA-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "6c470aec384ab1d4e12d3ce1f5b08303d8cad177e52ebe50ec1a3e141adb0cdc"),
    ProofRow(
        test: 2064, algorithm: "SHA-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "a9c3ec1036068b336cbabefe9dfcad52ee8b89bc7c91ddbb5bb415c6acdf38a5"),
    ProofRow(
        test: 2065, algorithm: "SHA-512-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "0373a49d7d352ff54884faaf762fc6c89281b4112ad8fcbbe1d1ee52dcf7a802"),
    ProofRow(
        test: 2066, algorithm: "SHA-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "374a35326cc09e7d1ec3165aee9de01cae46daac33d8999aa1f483fa7882b86c"),
    ProofRow(
        test: 2067, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "67b97af219c92fa7e8685e5bebb8e74892f6c6792e911c52bd2dfbf0b49272eb"),
    ProofRow(
        test: 2068, algorithm: "SHA-512-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "0ba2f7ec8045446588eea82bb0c3812aedb05f4eac8883ea65040a52e9c5629e"),
    ProofRow(
        test: 2069, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "9a29f1dab407e62daa7121185f9f12db6177415e03f35d9a881550095a83378d"),
]

@Suite struct DigestTests {
    @Test("The responses of the RFCs, curl and Chromium", arguments: rfcRows + curlRows + chromiumRows)
    private func responses(row: ResponseRow) throws {
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(
            challenge, user: row.user, password: row.password, clientNonce: row.clientNonce)
        let session = try #require(made)
        let answer = session.authorization(
            method: row.method, target: row.target, body: row.body, count: 1, clientNonce: row.clientNonce)
        let value = try #require(answer?.value)
        let parsed = try #require(HTTPChallenge.parse([value]).first)
        #expect(parsed.scheme == "digest")
        #expect(parsed.parameters["response"] == row.response)
        #expect(parsed.parameters["uri"] == row.target)
        #expect(parsed.parameters["realm"] == challenge.realm)
        #expect(parsed.parameters["nonce"] == challenge.nonce)
        if !challenge.hashesUser, row.more["username*"] == nil { #expect(parsed.parameters["username"] == row.user) }
        for (name, expected) in row.more { #expect(parsed.parameters[name] == expected) }
        #expect((parsed.parameters["cnonce"] != nil) == (challenge.quality != nil))
    }

    @Test("What is understood of a challenge", arguments: usabilityRows)
    private func usability(row: UsabilityRow) throws {
        let challenge = HTTPChallenge.parse([row.challenge]).first.flatMap(DigestChallenge.init)
        let reading = challenge.map {
            UsabilityRow.Reading(
                realm: $0.realm, nonce: $0.nonce, opaque: $0.opaque, algorithm: $0.algorithm.name, quality: $0.quality,
                isStale: $0.isStale, domain: $0.domain)
        }
        #expect(reading == row.expected)
    }

    @Test("SHA hashes as in curl's tests", arguments: proofRows)
    private func proofs(row: ProofRow) throws {
        let algorithm = try #require(DigestAlgorithm(row.algorithm))
        let secret = try #require(algorithm.hex(row.user, "testrealm", row.password))
        let proof = DigestProof(
            algorithm: algorithm, secret: secret, nonce: row.nonce, target: "/\(row.test)", quality: nil, count: "",
            clientNonce: "")
        #expect(proof.response(method: row.method, body: nil) == row.response)
    }

    /// One request of a session whose client nonces are `first` and `second`, by the words of RFC 7616.
    @Test("Every algorithm and quality is the RFC's formula", arguments: ["MD5", "SHA-256", "SHA-512-256"])
    func formula(name: String) throws {
        for (suffix, quality) in [("", "auth"), ("", "auth-int"), ("-sess", "auth"), ("-sess", "auth-int")] {
            let algorithm = try #require(DigestAlgorithm(name + suffix))
            let challenge = try #require(
                DigestChallenge(
                    HTTPChallenge(
                        scheme: "digest",
                        parameters: ["realm": "r", "nonce": "n", "algorithm": name + suffix, "qop": quality])))
            let made = try DigestSession(challenge, user: "u", password: "p", clientNonce: "first")
            var session = try #require(made)
            session.nonce = "later"
            let body = Array("entity".utf8)
            let answer = session.authorization(
                method: "POST", target: "/t", body: body, count: 0x1A, clientNonce: "second")
            let authorization = try #require(answer)

            let isSession = suffix == "-sess"
            let user = try #require(algorithm.hex("u", "r", "p"))
            // With -sess the secret keeps the nonces it was made with (section 3.4.2).
            let bound = try #require(algorithm.hex(user, "n", "first"))
            let secret = isSession ? bound : user
            let clientNonce = isSession ? "first" : "second"
            let bodyDigest = try #require(algorithm.hex(body))
            let tail = quality == "auth-int" ? ":" + bodyDigest : ""
            let message = try #require(algorithm.hex("POST:/t" + tail))
            let expected = try #require(algorithm.hex(secret, "later", "0000001a", clientNonce, quality, message))
            let parameters = try #require(HTTPChallenge.parse([authorization.value]).first).parameters
            #expect(parameters["response"] == expected)
            #expect(parameters["cnonce"] == clientNonce)
            #expect(parameters["nc"] == "0000001a")

            let ownMessage = try #require(algorithm.hex(":/t" + tail))
            let proof = try #require(algorithm.hex(secret, "later", "0000001a", clientNonce, quality, ownMessage))
            #expect(authorization.proof.verdict(on: ["rspauth": proof], body: body) == .valid)
        }
    }

    @Test("auth-int needs the body, and says nothing without")
    func integrityWithoutBody() throws {
        let row = ResponseRow(
            name: "", challenge: #"nonce="n", qop="auth-int""#, user: "u", password: "p", target: "/", response: "")
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(challenge, user: "u", password: "p")
        let session = try #require(made)
        #expect(session.authorization(method: "PUT", target: "/", body: nil, count: 1) == nil)
        let answer = session.authorization(method: "GET", target: "/", body: [], count: 1)
        #expect(answer?.proof.verdict(on: ["rspauth": "x"]) == .needsBody)
    }

    @Test("A server's proof holds for its own request and no other (HA9)")
    func serverProof() throws {
        let row = rfcRows[1]
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(challenge, user: row.user, password: row.password)
        let session = try #require(made)
        let answer = session.authorization(
            method: "GET", target: row.target, body: [], count: 1, clientNonce: rfcClientNonce)
        let proof = try #require(answer).proof
        // By Python's hashlib, for the request of RFC 7616, section 3.9.1.
        let rspauth = "86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0"
        #expect(proof.verdict(on: [:]) == nil)
        #expect(proof.verdict(on: ["rspauth": rspauth]) == .valid)
        #expect(proof.verdict(on: ["rspauth": rspauth.uppercased(), "qop": "AUTH", "nc": "00000001"]) == .valid)
        #expect(proof.verdict(on: ["rspauth": ""]) == .forged)
        #expect(proof.verdict(on: ["rspauth": row.response]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "cnonce": "another"]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "nc": "00000002"]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "qop": "auth-int"], body: []) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "qop": "none"]) == .forged)
        let later = session.authorization(method: "GET", target: row.target, body: [], count: 2)
        #expect(later?.proof.verdict(on: ["rspauth": rspauth]) == .forged)
    }

    @Test("Quotes and backslashes of a server and a user come back as they were (HA9)")
    func quoting() throws {
        let hostile = #"a"b\c, realm="x"#
        let challenge = try #require(
            DigestChallenge(
                HTTPChallenge(
                    scheme: "digest",
                    parameters: ["realm": hostile, "nonce": hostile, "opaque": hostile + "\"\u{301}", "qop": "auth"])))
        let made = try DigestSession(challenge, user: hostile, password: "p")
        let session = try #require(made)
        let answer = session.authorization(method: "GET", target: "/", body: [], count: 1)
        let value = try #require(answer?.value)
        let parameters = try #require(HTTPChallenge.parse([value]).first).parameters
        #expect(parameters["username"] == hostile)
        #expect(parameters["realm"] == hostile)
        #expect(parameters["nonce"] == hostile)
        #expect(parameters["opaque"] == hostile + "\"\u{301}")
    }

    @Test("Client nonces hold 128 random bits (HA9)")
    func clientNonces() {
        let nonces = (0..<1_000).map { _ in DigestSession.makeClientNonce() }
        #expect(Set(nonces).count == 1_000)
        #expect(nonces.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        // Each of the 128 bits is seen as 0 and as 1.
        let bits = nonces.map { nonce in Array(nonce).map { Int(String($0), radix: 16) ?? 0 } }
        for place in 0..<32 {
            #expect(bits.reduce(0) { $0 | $1[place] } == 15)
            #expect(bits.reduce(15) { $0 & $1[place] } == 0)
        }
    }

    @Test("A user name with a control character is refused (HA16)", arguments: ["a\nb", "a\u{0}", "\u{7F}", "\u{85}"])
    func controlCharacters(user: String) throws {
        let challenge = try #require(rfcRows[0].digestChallenge)
        #expect(throws: CredentialProblem.controlCharacter) {
            try DigestSession(challenge, user: user, password: "p")
        }
    }
}

@Suite struct BasicTests {
    @Test(
        "Basic is user and password in UTF-8",
        arguments: [
            // RFC 7617, sections 2 and 2.1.
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("test", "123£", "dGVzdDoxMjPCow=="),
            ("", "", "Og=="),
            ("a", "b:c", "YTpiOmM="),
            ("u", "e\u{301}", "dTrDqQ=="),
            // curl's test 1204.
            ("testuser", "testpass", "dGVzdHVzZXI6dGVzdHBhc3M="),
        ])
    func values(user: String, password: String, expected: String) throws {
        #expect(try BasicAuthorization.value(user: user, password: password) == "Basic " + expected)
    }

    @Test("What Basic cannot carry is refused (HA16)")
    func refusals() {
        #expect(throws: CredentialProblem.colonInUserName) {
            try BasicAuthorization.value(user: "a:b", password: "c")
        }
        for text in ["a\r\nb", "\u{0}", "\t", "\u{7F}", "\u{9F}"] {
            #expect(throws: CredentialProblem.controlCharacter) {
                try BasicAuthorization.value(user: text, password: "")
            }
            #expect(throws: CredentialProblem.controlCharacter) {
                try BasicAuthorization.value(user: "", password: text)
            }
        }
    }
}

@Suite struct MessageDigestTests {
    @Test(
        "The digests of nothing and of abc (RFC 1321, FIPS 180-4)",
        arguments: [
            (MessageDigest.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
            (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
            (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (.sha512_256, "", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
            (.sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        ])
    func vectors(digest: MessageDigest, text: String, expected: String) {
        #expect(digest.hash(Array(text.utf8))?.map { hexadecimal($0) }.joined() == expected)
    }
}
