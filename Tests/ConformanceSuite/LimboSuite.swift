package import FoundationEssentials

/// A document of x509-limbo's format, to which PKITS adds `policy` and `purpose`.
package struct LimboSuite: Decodable, Sendable {
    package let testcases: [LimboCase]

    package init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(LimboSuite.self, from: json)
    }
}

/// One certificate, what surrounds it, and whether it is to be accepted.
package struct LimboCase: Decodable, Sendable {
    struct PeerName: Decodable {
        /// `DNS`, `IP` or `RFC822`.
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
    /// RFC 3339; nil is now.
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

/// What a case asks for and what it gets.
package enum Verdict: String, Codable, Sendable {
    case success = "SUCCESS"
    case failure = "FAILURE"
    case skipped = "SKIPPED"
}
