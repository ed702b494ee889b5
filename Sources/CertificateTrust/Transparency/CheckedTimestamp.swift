import OpenSSLBridge
import PinctlBasics
package import PinctlFoundation

/// A timestamp with the result of its verification.
package struct CheckedTimestamp: Sendable, Hashable {
    /// The place in which a timestamp was delivered (RFC 6962, section 3.3).
    package enum Source: String, Sendable, Hashable {
        case certificate
        /// The TLS extension signed_certificate_timestamp.
        case handshake
        /// The stapled OCSP response.
        case staple
    }

    package enum Status: Sendable, Hashable {
        /// The log's signature verifies.
        case valid
        /// There is no list of logs.
        case unverified
        case unknownLog
        /// The log is a mimic, whose private key is public.
        case mimicLog
        case badSignature
        /// The time of the timestamp is after the time of evaluation.
        case future
        /// The certificate expires outside the log's interval, so the log couldn't accept it.
        case outsideInterval
        /// Only the certificate above the leaf shows what the log signed, and there is none.
        case noIssuer
        /// The version isn't 1.
        case otherVersion(UInt8)
        case malformed
        /// The list can't be read, or has more elements than the limit.
        case malformedList
    }

    package let source: Source
    package let status: Status
    /// The timestamp, or `nil` if it couldn't be read.
    package let timestamp: SignedCertificateTimestamp?
    /// The log that the timestamp names, if the list has it.
    package let log: TransparencyLog?
}

extension CheckedTimestamp.Status {
    /// The status in a word or two.
    package var text: String {
        switch self {
        case .valid: "valid"
        case .unverified: "not verified"
        case .unknownLog: "unknown log"
        case .mimicLog: "mimic log, whose private key is public"
        case .badSignature: "invalid signature"
        case .future: "in the future"
        case .outsideInterval: "certificate expires outside the log's interval"
        case .noIssuer: "not verified without the issuer"
        case .otherVersion(let version): "version \(Int(version) + 1)"
        case .malformed: "malformed"
        case .malformedList: "malformed list"
        }
    }

    /// The status as a word in JSON.
    package var word: String {
        switch self {
        case .valid: "valid"
        case .unverified: "unverified"
        case .unknownLog: "unknown_log"
        case .mimicLog: "mimic_log"
        case .badSignature: "bad_signature"
        case .future: "future"
        case .outsideInterval: "outside_interval"
        case .noIssuer: "no_issuer"
        case .otherVersion: "other_version"
        case .malformed: "malformed"
        case .malformedList: "malformed_list"
        }
    }
}

/// The timestamps of a leaf, and their verification.
package struct TimestampCheck: Sendable {
    let leaf: X509Certificate
    let logs: TransparencyLogList?
    let time: Date
    /// The lists of timestamps, without those that aren't there. A list that can't be read is `nil`.
    private let lists: [(source: CheckedTimestamp.Source, list: TimestampList?)]

    package init(of leaf: X509Certificate, _ evidence: TransparencyEvidence, stapledOCSP: [UInt8]?, at time: Date) {
        self.leaf = leaf
        self.logs = evidence.logs
        self.time = time
        var lists: [(source: CheckedTimestamp.Source, list: TimestampList?)] = []
        do throws(DERError) {
            if let list = try leaf.timestampList() { lists.append((.certificate, TimestampList(list.span))) }
        } catch {
            lists.append((.certificate, nil))
        }
        if let list = evidence.handshakeTimestamps { lists.append((.handshake, TimestampList(list.span))) }
        if let stapledOCSP, stapledOCSP.count <= TrustBudget.maximumStapleBytes,
            let response = try? OCSPResponse(derBytes: stapledOCSP),
            let list = response.singles.lazy.filter({ $0.serialNumber == leaf.serialNumber }).compactMap(\.timestamps)
                .first
        {
            lists.append((.staple, TimestampList(list.span)))
        }
        self.lists = lists
    }

    /// Whether there is a list of logs to verify timestamps with.
    package var hasLogs: Bool { logs != nil }

    /// The number of signatures that ``timestamps(issuer:)`` verifies, at most 16 for each of the three sources.
    var signatureCount: Int {
        guard let logs else { return 0 }
        return lists.reduce(0) { count, entry in
            count
                + (entry.list?.elements ?? []).count {
                    if case .timestamp(let timestamp) = $0 { logs.log(timestamp.logID) != nil } else { false }
                }
        }
    }

    /// Returns every timestamp of the leaf, those inside it first. `issuer` is the certificate above it on the path.
    package func timestamps(issuer: X509Certificate?) -> [CheckedTimestamp] {
        let entry = issuer.flatMap { try? LoggedEntry.precertificate(of: leaf, issuer: $0) }
        return lists.flatMap { source, list -> [CheckedTimestamp] in
            guard let list else {
                return [CheckedTimestamp(source: source, status: .malformedList, timestamp: nil, log: nil)]
            }
            return list.elements.map { element in
                switch element {
                case .otherVersion(let version):
                    CheckedTimestamp(source: source, status: .otherVersion(version), timestamp: nil, log: nil)
                case .malformed: CheckedTimestamp(source: source, status: .malformed, timestamp: nil, log: nil)
                case .timestamp(let timestamp):
                    CheckedTimestamp(
                        source: source,
                        status: status(of: timestamp, about: source == .certificate ? entry : .certificate(leaf)),
                        timestamp: timestamp, log: logs?.log(timestamp.logID))
                }
            }
        }
    }

    private func status(
        of timestamp: SignedCertificateTimestamp, about entry: LoggedEntry?
    ) -> CheckedTimestamp.Status {
        guard let logs else { return .unverified }
        guard let log = logs.log(timestamp.logID) else { return .unknownLog }
        // mutant mimic-log: true by ComplianceTests
        guard !log.isMimic else { return .mimicLog }
        guard let entry else { return .noIssuer }
        // mutant timestamp-signature: true by TimestampTests
        guard log.key.verifies(timestamp, entry.signedData(timestamp)) else { return .badSignature }
        // An evaluation knows the time to the second.
        // mutant timestamp-future: true by TimestampTests
        guard Double(timestamp.milliseconds / 1_000) <= time.timeIntervalSince1970 else { return .future }
        // mutant timestamp-interval: false for 2 by TimestampTests
        if let interval = log.expiryInterval, !interval.contains(leaf.notAfter) { return .outsideInterval }
        return .valid
    }
}

extension SubjectPublicKeyInfo {
    /// Whether a log with this key made the signature. The key is P-256 or RSA with at least 2,048 bits, and the digest
    /// SHA-256 (RFC 6962, section 2.1.4).
    fileprivate func verifies(_ timestamp: SignedCertificateTimestamp, _ data: [UInt8]) -> Bool {
        // SHA-256 is 4, RSA is 1, ECDSA is 3.
        let algorithm: UInt8
        switch keyKind {
        case .ellipticCurve("P-256"): algorithm = 3
        case .rsa(let bits) where bits >= 2_048: algorithm = 1
        default: return false
        }
        guard timestamp.algorithm == (4, algorithm) else { return false }
        let key = derBytes
        return verifySignature(of: data.span, timestamp.signature.span, by: key.span, .sha256)
    }
}
