import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// Pins are evaluated here on the path that OkHttp's chain cleaner builds from the certificates a server sends.
@Suite("OkHttp's chain cleaner", .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
struct ChainCleanerTests {
    /// A issues B, and B issues C. "Goes to self-signed root" prefers the longer of two valid paths, which neither
    /// implementation promises. The rows without a Root concern other chains, and those about lengths concern limits
    /// that are a budget here.
    private static let names: Set<String> = [
        "ordered with root", "ordered without root", "unordered with root", "unordered without root",
        "unrelated omitted", "unknown self-signed",
    ]

    @Test("Certificates in any order, including unrelated ones, yield the same path")
    func paths() throws {
        let rows = try #require(PeerCases.all).evaluation.okhttp_chain_cleaner.elements.filter {
            Self.names.contains($0.name.string ?? "")
        }
        try #require(rows.count == Self.names.count)
        for row in rows {
            let presented = row.presented.elements.compactMap(\.string)
            let root = try TestCertificate.root("R")
            let a = try root.intermediate("A")
            let b = presented.contains("C") ? try a.intermediate("B") : try a.leaf("a.example")
            let c = try b.leaf("a.example")
            let x = try TestCertificate.root("X")
            let certificates = ["R": root, "A": a, "B": b, "C": c, "X": x]
            let store = TrustStore(
                certificates: try row.roots.elements.map {
                    try X509Certificate(derBytes: try #require(certificates[$0.string ?? ""]).derBytes)
                })
            let trust = ServerTrust(
                presented: try PresentedChain(
                    derCertificates: try presented.map { try #require(certificates[$0]).derBytes }),
                name: try ServerName("a.example"), store: store)
            let path = try? trust.evaluate(at: Date(timeIntervalSince1970: 1_800_000_000))
            let clean = try row.clean.elements.map { try #require(certificates[$0.string ?? ""]).derBytes }
            #expect(path?.certificates.map(\.derBytes) == (clean.isEmpty ? nil : clean), "\(row.name.string ?? "")")
        }
    }

    @Test("Chromium's pin strings are accepted and rejected as in Chromium")
    func pinTexts() throws {
        let rows = try #require(PeerCases.all).pin_strings.chromium_spki_hash.cases.elements
        try #require(rows.count == 6)
        for row in rows {
            #expect((SPKIFingerprint(try #require(row["in"].string)) != nil) == row.valid.bool)
        }
    }
}
