import FoundationEssentials
import TestPKI
import Testing

@testable import CertificateTrust

/// A path and what is at hand about its revocation, judged in the middle of the validity of both unless told.
struct RevocationClaim {
    /// Leaf first, anchor last.
    var path: [TestCertificate]
    var lists: [[UInt8]] = []
    /// Certificates that may have signed lists.
    var certificates: [TestCertificate] = []
    var staple: [UInt8]?
    var mode = RevocationMode.use
    var time: Int64 = 1_800_000_000

    /// `accepted`, or the identifier of the rule that refuses, with the depth where that is not the leaf.
    func verdict() throws -> String {
        var check = RevocationCheck(
            evidence: RevocationEvidence(
                lists: try lists.map { try CertificateRevocationList(derBytes: $0) },
                certificates: try certificates.map { try X509Certificate(derBytes: $0.derBytes) }, stapledOCSP: staple),
            presented: [], mode: mode, time: time, signatureLimit: 100)
        return try verdict(&check)
    }

    func verdict(_ check: inout RevocationCheck) throws -> String {
        let path = try path.map { try X509Certificate(derBytes: $0.derBytes) }
        let anchor = path[path.count - 1]
        let finding = check.finding(for: path) { signer in
            signer.canonicalIssuer == anchor.canonicalSubject ? [signer, anchor] : nil
        }
        guard let finding else { return "accepted" }
        return finding.rule.rawValue + (finding.depth == 0 ? "" : " at \(finding.depth ?? -1)")
    }
}

/// One row of a table: what is at hand, and the verdicts of both modes.
struct RevocationRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let use: String
    let require: String
    let lists: @Sendable (RevocationSite) throws -> [[UInt8]]

    init(
        _ sentence: String, use: String = "accepted", require: String? = nil,
        _ lists: @escaping @Sendable (RevocationSite) throws -> [[UInt8]]
    ) {
        testDescription = sentence
        self.use = use
        self.require = require ?? use
        self.lists = lists
    }
}

/// Authorities and a leaf; the root says of the intermediate that it is good.
struct RevocationSite: Sendable {
    let root: TestCertificate
    let issuer: TestCertificate
    let other: TestCertificate
    let leaf: TestCertificate

    init(leafExtensions: [TestCertificate.Extension] = []) throws {
        root = try TestCertificate.root("Root")
        issuer = try root.intermediate("Issuer")
        other = try root.intermediate("Other")
        leaf = try issuer.leaf("api.example.test") { $0.extensions = leafExtensions }
    }

    var path: [TestCertificate] { [leaf, issuer, root] }

    func claim(_ lists: [[UInt8]], _ mode: RevocationMode = .use) throws -> RevocationClaim {
        RevocationClaim(path: path, lists: lists + [try root.revocationList()], mode: mode)
    }
}
