import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlBasics
import Testing

@Suite("Other spellings of a pin")
struct PinSpellingTests {
    /// The pin of ISRG Root X1.
    @Test(
        "One key is written in every spelling",
        arguments: [
            (PinSpelling.base64, "C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="),
            (.hex, "0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3"),
            (
                .colon,
                "0B:9F:A5:A5:9E:ED:71:5C:26:C1:02:0C:71:1B:4F:6E:C4:2D:58:B0:01:5E:14:33:7A:39:DA:D3:01:C5:AF:C3"
            ),
            (.curl, "sha256//C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="),
            (.hpkp, "pin-sha256=\"C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=\""),
            (.okhttp, "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="),
            (.openconnect, "pin-sha256:C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="),
            (.kubeadm, "sha256:0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3"),
            (.tlsa, "3 1 1 0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3"),
        ])
    func spellings(spelling: PinSpelling, expected: String) throws {
        let pin = try #require(SPKIFingerprint("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="))
        #expect(spelling.text(pin) == expected)
        let ofAuthority = spelling == .tlsa ? "2" + expected.dropFirst() : expected
        #expect(spelling.text(pin, isAuthority: true) == ofAuthority)
        // Each of them is recognized as a digest, and where it isn't a pin, the error has the pin.
        guard spelling != .tlsa else { return }
        let digest = try #require(SPKIFingerprint("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=")).bytes
        #expect(DigestText(expected)?.bytes == Array(copying: digest.span))
        guard spelling != .okhttp else { return }
        #expect(throws: PinTextError.self) { try PinFingerprint(expected) }
        do { _ = try PinFingerprint(expected) } catch { #expect("\(error)".hasSuffix("write \(pin)"), "\(error)") }
    }

    @Test(
        "The keys and pin texts of other projects' tests are read as those projects read them",
        .enabled(if: Conformance.peerCases != nil, Conformance.skipped))
    func peers() throws {
        let peers = try #require(Conformance.peerCases)
        let certificates = try #require(peers["certs"]?.members)
        var checked = 0
        for certificate in certificates {
            guard let base64 = certificate.value["spki_sha256"]?.string else { continue }
            let pin = try #require(SPKIFingerprint("sha256/" + base64), "\(certificate.key)")
            #expect(PinSpelling.base64.text(pin) == base64)
            if let pem = certificate.value["pem"]?.string {
                let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
                let der = try #require(Data(base64Encoded: body))
                #expect(try SPKIFingerprint(ofCertificate: Array(der).span) == pin, "\(certificate.key)")
            }
            checked += 1
        }
        #expect(checked >= 40)

        let chromium = try #require(peers["pin_strings"]?["chromium_spki_hash"]?["cases"]?.elements)
        for row in chromium {
            let text = try #require(row["in"]?.string)
            let pin = try? Pin(text)
            #expect((pin != nil) == row["valid"]?.bool, "\(text)")
            if case .publicKey(let key) = pin?.fingerprint, let hex = row["hex"]?.string {
                #expect(PinSpelling.hex.text(key) == hex)
                #expect(PinSpelling.okhttp.text(key) == text)
            }
        }
        // OkHttp accepts SHA-1 and digests of any length. Those rows are marked as derived, and are rejected here.
        for row in try #require(peers["pin_strings"]?["okhttp"]?["cases"]?.elements) {
            let text = try #require(row["in"]?.string)
            #expect((try? Pin(text)) == nil, "\(text)")
        }
    }
}

/// Keys and pins from other projects' tests. They aren't part of this repository, and tests that need them are skipped
/// where they are missing.
enum Conformance {
    static let directory = ProcessInfo.processInfo.environment["PINCTL_CONFORMANCE"] ?? "../shared/conformance"
    static let skipped = Comment("no \(directory)/peer-cases.json: name its directory in PINCTL_CONFORMANCE")

    static let peerCases: JSONValue? = {
        guard let bytes = FileManager.default.contents(atPath: directory + "/peer-cases.json") else { return nil }
        return JSONCReader.read(Array(bytes), dialect: .json).root
    }()
}
