import Testing

@testable import PinnedNetworking

/// A challenge, a request, and the expected response.
struct DigestRow: CustomTestStringConvertible, Sendable {
    let name: String
    let challenge: String
    var user: String
    var password: String
    var method = "GET"
    let target: String
    var body: [UInt8]? = []
    var clientNonce = ""
    let response: String
    /// Expected parameters in addition to those of every response.
    var more: [String: String] = [:]

    var testDescription: String { name }

    var digestChallenge: DigestChallenge? {
        HTTPChallenge.parse(["Digest " + challenge]).first.flatMap(DigestChallenge.init)
    }
}

private let rfcNonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
let rfcClientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
private let rfcChallenge = """
    realm="http-auth@example.org", qop="auth, auth-int", nonce="\(rfcNonce)", \
    opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm=
    """
private let jasonChallenge = """
    realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
    nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
    opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8
    """

let rfcDigestRows = [
    DigestRow(
        name: "RFC 7616, section 3.9.1, MD5", challenge: rfcChallenge + "MD5", user: "Mufasa",
        password: "Circle of Life", target: "/dir/index.html", clientNonce: rfcClientNonce,
        response: "8ca523f5e9506fed4657c9700eebdbec",
        more: [
            "qop": "auth", "nc": "00000001", "cnonce": rfcClientNonce, "algorithm": "MD5",
            "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
        ]),
    DigestRow(
        name: "RFC 7616, section 3.9.1, SHA-256", challenge: rfcChallenge + "SHA-256", user: "Mufasa",
        password: "Circle of Life", target: "/dir/index.html", clientNonce: rfcClientNonce,
        response: "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        more: ["qop": "auth", "nc": "00000001", "cnonce": rfcClientNonce, "algorithm": "SHA-256"]),
    // The values printed in section 3.9.2 don't match any digest that the text names.
    DigestRow(
        name: "RFC 7616, section 3.9.2, with the digest it names", challenge: jasonChallenge + ", userhash=true",
        user: "Jäsøn Doe", password: "Secret, or not?", target: "/doe.json",
        clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c",
        more: [
            "username": "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b", "userhash": "true",
        ]),
    DigestRow(
        name: "a name in two normal forms", challenge: jasonChallenge + ", userhash=true", user: "Ja\u{308}søn Doe",
        password: "Secret, or not?", target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c"),
    DigestRow(
        name: "a name that is not ASCII", challenge: jasonChallenge, user: "Jäsøn Doe", password: "Secret, or not?",
        target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm",
        response: "7a4e1192babbba02e91182d2895bfdbf7adafc6e48d4e517ca301974843d840c",
        more: ["username*": "UTF-8''J%C3%A4s%C3%B8n%20Doe"]),
    // RFC 2617, section 3.5.
    DigestRow(
        name: "RFC 2617, section 3.5",
        challenge: """
            realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """, user: "Mufasa", password: "Circle Of Life", target: "/dir/index.html", clientNonce: "0a4f113b",
        response: "6629fae49393a05397450978507c4ef1"),
]

/// The URLs, methods and answers of curl's tests. Bodies aren't included.
let curlDigestRows = [
    DigestRow(
        name: "curl 64", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser", password: "testpass",
        target: #"/64""#, response: "1ee14b238b3259f17602e9ce41491ef9"),
    DigestRow(
        name: "curl 65", challenge: #"realm="testrealm", nonce="2053604145""#, user: "testuser", password: "test2pass",
        target: "/65", response: "66d68d3251f1839576ba7c766cf9205b"),
    DigestRow(
        name: "curl 70", challenge: #"realm="testrealm", nonce="1053604199""#, user: "testuser", password: "testpass",
        target: "/70", response: "2c9a6f00af0d86497b177b90e90c688a"),
    DigestRow(
        name: "curl 72", challenge: #"realm="testrealm", nonce="1053604199""#, user: "testuser", password: "testpass",
        target: "/72", response: "9fcd1330377365a09bbcb33b2cbb25bd"),
    DigestRow(
        name: "curl 88", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser", password: "testpass",
        method: "PUT", target: "/88", body: nil, response: "78a49fa53d0c228778297687d4168e71"),
    DigestRow(
        name: "curl 153, first", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1530001", response: "f4f83139396995bac665f24a1f1055c7"),
    DigestRow(
        name: "curl 153, second", challenge: #"realm="testrealm", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1530002", response: "f84511b014fdd0ba6494f42871079c32"),
    DigestRow(
        name: "curl 154", challenge: #"realm="gimme all yer s3cr3ts", nonce="11223344""#, user: "testuser",
        password: "testpass", method: "PUT", target: "/154", body: nil, response: "b71551e12d1c456e47d8388ecb2edeca"),
    DigestRow(
        name: "curl 167", challenge: #"realm="weirdorealm", nonce="12345""#, user: "digest", password: "a-lot",
        target: "/167", response: "304c55b19dbcb9c7e7a3354abd11ba1b"),
    DigestRow(
        name: "curl 168, proxy", challenge: #"realm="weirdorealm", nonce="12345""#, user: "foo", password: "bar",
        target: "/168", response: "fb8608e00ad9239a3dedb14bc8575976"),
    DigestRow(
        name: "curl 168, origin", challenge: #"realm="realmweirdo", nonce="123456""#, user: "digest",
        password: "a-lot", target: "/168", response: "bfecb43898f3db12543650d45493313b"),
    DigestRow(
        name: "curl 169", challenge: #"realm="r e a l m", nonce="abcdef""#, user: "digest", password: "a-lot",
        target: "/169", response: "89b737a4b6eefde285c093c92e9bd6ea"),
    DigestRow(
        name: "curl 245", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/245", response: "379a439b1737ba257c1d2f103914b18b"),
    DigestRow(
        name: "curl 246", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/246", response: "761e6fc9a760c39d587092e8d840e740"),
    DigestRow(
        name: "curl 1001", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        target: "/1001", response: "6af4d89c952f4dd4cc215a6878dc499d"),
    DigestRow(
        name: "curl 1002", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        target: "/1002.upload1", response: "198aa9b6acb4b0c71d02a197a5e41f54"),
    DigestRow(
        name: "curl 1071", challenge: #"realm="gimme all yer s3cr3ts", nonce="11223344""#, user: "testuser",
        password: "testpass", method: "PUT", target: "/1071", response: "df4cef6b52a30e65d472dd848d2055a1"),
    DigestRow(
        name: "curl 1095", challenge: #"realm="test \"this\" realm!!", nonce="1053604145""#, user: "testuser",
        password: "testpass", target: "/1095", response: "df3246f44d2bc8de0e9f8fc4d7cf6e95",
        more: ["realm": #"test "this" realm!!"#]),
    DigestRow(
        name: "curl 1284", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "POST", target: "/1284", response: "5763079608de439072861a59ac733515"),
    DigestRow(
        name: "curl 1285", challenge: #"realm="testrealm", nonce="1053604144""#, user: "auser", password: "apasswd",
        method: "PUT", target: "/1285", response: "dc185587d5e8391b347eef194c2a3cd6"),
    DigestRow(
        name: "curl 206", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.206:8990", response: "003e36decb4dbf6366b3ecb9b87c24ec"),
    DigestRow(
        name: "curl 258", challenge: #"realm="many secrets", nonce="911""#, user: "uuuser", password: "pppassword",
        method: "POST", target: "/we/want/258", response: "2501654ca391f0b5c8c12a1da77e34cd"),
    DigestRow(
        name: "curl 259", challenge: #"realm="many secrets", nonce="911""#, user: "uuuser", password: "pppassword",
        method: "POST", target: "/we/want/259", response: "b479994d13e60f3aa192a67c5892ddc5"),
    DigestRow(
        name: "curl 540", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        target: "/path/540", response: "ca507dcf189196b6a5374d3233042261"),
    DigestRow(
        name: "curl 1060", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.1060:8990", response: "e1fbed39c26f4efe284adc0e576ff638"),
    DigestRow(
        name: "curl 1061", challenge: #"realm="weirdorealm", nonce="12345""#, user: "silly", password: "person",
        method: "CONNECT", target: "test.remote.haxx.se.1061:8990", response: "4e23449fa93224834299e7282a70472c"),
]

private let drealm = #"realm="DRealm1", algorithm=MD5, qop="auth", nonce="#
private let oblivion = #"realm="Oblivion", nonce="nonce-value""#

/// Its last rows set no method.
let chromiumDigestRows = [
    DigestRow(
        name: "Chromium, user and password",
        challenge: drealm + #""claGgoRXBAA=7583377687842fdb7b56ba0555d175baa0b800e3""#, user: "foo", password: "bar",
        target: "/test/drealm1", clientNonce: "082c875dcb2ca740", response: "bcfaa62f1186a31ff1b474a19a17cf57",
        more: ["nc": "00000001", "cnonce": "082c875dcb2ca740", "algorithm": "MD5", "qop": "auth"]),
    DigestRow(
        name: "Chromium, a blank in the name, no password",
        challenge: drealm + #""Ure30oRXBAA=7eca98bbf521ac6642820b11b86bd2d9ed7edc70""#, user: "foo bar", password: "",
        target: "/test/drealm1/", clientNonce: "082c875dcb2ca740", response: "93c9c6d5930af3b0eb26c745e02b04a0"),
    DigestRow(
        name: "Chromium, no name", challenge: drealm + #""7thGplhaBAA=41fb92453c49799cf353c8cd0aabee02d61a98a8""#,
        user: "", password: "pass", target: "/test/drealm1/", clientNonce: "6509bc74daed8263",
        response: "bc597110f41a62d07f8b70b6977fcb61"),
    DigestRow(
        name: "Chromium, neither", challenge: drealm + #""s3MzvFhaBAA=4c520af5acd9d8d7ae26947529d18c8eae1e98f4""#,
        user: "", password: "", target: "/test/drealm1/", clientNonce: "1522e61005789929",
        response: "22cfa2b30cb500a9591c6d55ec5590a8"),
    DigestRow(
        name: "Chromium, no algorithm and no quality", challenge: oblivion, user: "FooBar", password: "pass",
        target: "/", response: "f72ff54ebde2f928860f806ec04acd1b"),
    DigestRow(
        name: "Chromium, MD5-sess",
        challenge: #"realm="Baztastic", nonce="AAAAAAAA", algorithm="md5-sess", qop=auth"#, user: "USER",
        password: "123", target: "/", clientNonce: "15c07961ed8575c4", response: "cbc1139821ee7192069580570c541a03",
        more: ["algorithm": "MD5-sess"]),
    DigestRow(
        name: "Chromium, a server", challenge: oblivion, user: "foo", password: "bar", method: "",
        target: "/path/to/resource",
        response: "6779f90bd0d658f937c1af967614fe84"),
    DigestRow(
        name: "Chromium, a proxy for https", challenge: oblivion, user: "foo", password: "bar", method: "CONNECT",
        target: "www.example.com:443", response: "3270da8467afbe9ddf2334a48d46e9b9"),
    DigestRow(
        name: "Chromium, a proxy for ws", challenge: oblivion, user: "foo", password: "bar", method: "CONNECT",
        target: "www.example.com:80", response: "aa1df184f68d5b6ab9d9aa4f88e41b4c"),
    DigestRow(
        name: "Chromium, opaque", challenge: oblivion + #", qop="auth", opaque="opaque text""#, user: "foo",
        password: "bar", method: "", target: "/path/to/resource", clientNonce: "client_nonce",
        response: "5b1459beda5cee30d6ff9e970a69c0ea", more: ["opaque": "opaque text"]),
]
