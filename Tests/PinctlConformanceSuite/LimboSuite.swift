package import FoundationEssentials

/// A document in x509-limbo's format, which the PKITS file extends with `policy` and `purpose`.
package struct LimboSuite: Decodable, Sendable {
    package let testcases: [LimboCase]

    package init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(LimboSuite.self, from: json)
    }
}

/// A certificate, its context, and the expected verdict.
package struct LimboCase: Decodable, Sendable {
    struct PeerName: Decodable {
        /// The kind of the name: `DNS`, `IP` or `RFC822`.
        let kind: String
        let value: String
    }

    /// The inputs of RFC 5280, section 6.1.1 (c) to (f).
    struct PolicyInputs: Decodable {
        let initialPolicySet: [String]
        let explicit: Bool
        let inhibitMap: Bool
        let inhibitAny: Bool
    }

    package let id: String
    package let expectedResult: Verdict
    /// `SERVER` or `CLIENT`.
    let validationKind: String
    let trustedCerts: [String]
    let untrustedIntermediates: [String]
    let peerCertificate: String
    /// The time in RFC 3339 format. `nil` means now.
    let validationTime: String?
    let keyUsage: [String]
    let extendedKeyUsage: [String]
    let expectedPeerName: PeerName?
    let expectedPeerNames: [PeerName]?
    let maxChainDepth: Int?
    let crls: [String]?
    let purpose: String?
    let policy: PolicyInputs?
}

/// The expected or actual result of a case.
package enum Verdict: String, Codable, Sendable {
    case success = "SUCCESS"
    case failure = "FAILURE"
    case skipped = "SKIPPED"
}
