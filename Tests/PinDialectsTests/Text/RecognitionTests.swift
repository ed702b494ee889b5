import CertificatePinning
import PinDialects
import Testing

@Suite("Recognizing the format of a file")
struct RecognitionTests {
    private static let pin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    @Test("A program that only mentions NSPinnedDomains has none")
    func mentions() {
        for text in [
            "// The Info.plist has NSPinnedDomains: \nlet pins = [\"sha256/\(Self.pin)\"]",
            "list.NSAppTransportSecurity = { ...old, NSPinnedDomains: domains };",
        ] {
            #expect(PinDialect.recognized(in: Array(text.utf8)) != .apple, "\(text)")
        }
        let dictionary = "let list = [\"NSAppTransportSecurity\": [\"NSPinnedDomains\": [:]]]"
        #expect(PinDialect.recognized(in: Array(dictionary.utf8)) == .apple)
    }

    @Test(
        "A format is recognized by content that only its own files have",
        arguments: [
            ("// curl --pinnedpubkey sha256//\(pin)\nval p = CertificatePinner.Builder()", PinDialect.okhttp),
            ("val curl = \"sha256//\(pin)\"\nimport okhttp3.CertificatePinner", .okhttp),
            ("// pin-sha256 and TLSA records\nval p = CertificatePinner.Builder()", .okhttp),
            ("sha256//\(pin)", .curl),
            ("curl --pinnedpubkey sha256//\(pin)", .curl),
            ("Public-Key-Pins: pin-sha256=\"\(pin)\"", .hpkp),
            ("_443._tcp.a.example. IN TLSA 3 1 1 00", .tlsa),
            ("validation_context:\n  verify_certificate_spki: [\"\(pin)\"]", .envoy),
            ("{ \"verifyCertificateHash\": [] }", .envoy),
            ("\"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", .envoy),
            ("{ \"exports\": [{ \"to\": \"envoy\", \"file\": \"envoy.yaml\" }] }", .policy),
            ("a.example sha256/\(pin)", .okhttp),
            ("{ \"note\": \"CertificatePinner\" }", .policy),
            ("<!-- CertificatePinner --><network-security-config/>", .android),
            ("{\"pubkey_sha256\":\"00\",\"dns_names\":[\"a.example\"]}", .certspotter),
            // A policy that is cut off, and one without a version.
            ("{ \"version\": 1, \"domains\": [ { \"host\": \"a.test\", \"pins\": [\"sha256/\(pin)\"] }, {", .policy),
            ("{ \"rules\": [ { \"host\": \"a.test\", \"pins\": [\"sha256/\(pin)\"] } ] }, {", .policy),
            ("{ \"domains\": [ { \"host\": \"a.test\", \"pins\": [\"sha256/\(pin)\"] } ] }", .policy),
            ("{ \"a.test\": [\"sha256/\(pin)\"] }", .map),
            ("hello", nil),
        ] as [(String, PinDialect?)])
    func recognized(text: String, dialect: PinDialect?) {
        #expect(PinDialect.recognized(in: Array(text.utf8)) == dialect)
    }
}
