import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A chain in the output of `show`: the presented certificates, and either every way to anchor them or the reason why
/// there is none.
struct ShownChain: Sendable {
    let presented: [X509Certificate]
    let source: ChainOrigin
    /// The valid paths, best first. If only the hostname is wrong, these are the paths without a hostname check.
    let paths: [[X509Certificate]]
    /// The reason why the chain isn't trusted, or `nil` if it is.
    let finding: TrustFinding?
    /// Whether the leaf matches the requested hostname, or `nil` if none was given.
    let nameMatches: Bool?
    private let timestampCheck: TimestampCheck
    private let now: Date

    /// The maximum number of paths.
    private static let pathLimit = 8

    /// Evaluates a chain, with or without a hostname.
    ///
    /// `staple` and `timestamps` are what the server sent with it: a DER OCSP response, and the list in its TLS
    /// extension.
    init(
        _ presented: PresentedChain, source: ChainOrigin, for name: ServerName?, staple: [UInt8]? = nil,
        timestamps: [UInt8]? = nil, by judge: ChainJudge
    ) {
        self.presented = presented.certificates
        self.source = source
        now = judge.time
        timestampCheck = TimestampCheck(
            of: presented.leaf, TransparencyEvidence(logs: judge.logs, handshakeTimestamps: timestamps),
            stapledOCSP: staple, at: judge.time)
        nameMatches = name.map { name in presented.leaf.subjectAlternativeNames.contains { name.matches($0) } }
        let unnamed = ChainTrust(presented: presented, store: judge.store, policy: judge.policy)
        if let name {
            let trust = ServerTrust(presented: presented, name: name, store: judge.store, policy: judge.policy)
            do throws(TrustFinding) {
                paths = try trust.allPaths(at: judge.time, limit: Self.pathLimit).map(\.certificates)
                finding = nil
                return
            } catch {
                finding = error
            }
            // A chain for another hostname has paths too, and they show where it comes from.
            paths = (try? unnamed.allPaths(at: judge.time, limit: Self.pathLimit))?.map(\.certificates) ?? []
            return
        }
        do throws(TrustFinding) {
            paths = try unnamed.allPaths(at: judge.time, limit: Self.pathLimit).map(\.certificates)
            finding = nil
        } catch {
            paths = []
            finding = error
        }
    }

    var isTrusted: Bool { finding == nil && !paths.isEmpty }

    /// The timestamps of the leaf. Those inside it are about its issuer too: the one on the best path, or else the one
    /// that was presented.
    private var transparency: TransparencyText {
        let leaf = presented.first
        let issuer = paths.first?.dropFirst().first ?? presented.dropFirst().first { $0.subject == leaf?.issuer }
        return TransparencyText(timestampCheck, timestampCheck.timestamps(issuer: issuer))
    }
}

// MARK: - Text

extension ShownChain {
    /// The verdict: `trusted`, or the rule that failed.
    var verdict: String { finding?.label ?? "trusted" }

    /// The reason why the chain isn't trusted, with what to do.
    var reason: String? { finding.map { "\($0.text(from: source))" } }

    /// The lines below the headline.
    var lines: [String] {
        var lines = reason.map { ["  why: \($0)"] } ?? []
        lines += CertificateRow.lines(rows, now: now) + transparency.lines
        for path in paths.dropFirst() { lines.append("  other path: \(other(path))") }
        return lines
    }

    /// The certificates on the best path, followed by presented certificates that aren't on it.
    private var rows: [CertificateRow] {
        guard let path = paths.first else {
            return presented.enumerated().map { index, certificate in
                CertificateRow(
                    role: index == 0 ? "leaf" : certificate.isSelfIssued ? "root" : "issuer", certificate,
                    source: source.rawValue)
            }
        }
        let onPath = path.enumerated().map { index, certificate in
            CertificateRow(
                role: PinRole(index: index, of: path.count).rawValue, certificate,
                source: presented.contains(certificate) ? source.rawValue : "store")
        }
        return onPath
            + presented.filter { !path.contains($0) }.map {
                CertificateRow(role: "not needed", $0, source: source.rawValue)
            }
    }

    /// Returns the part of another path that differs from the first.
    private func other(_ path: [X509Certificate]) -> String {
        let same = zip(path, paths.first ?? []).prefix { $0 == $1 }.count
        // The last common certificate shows where the paths divide.
        let part = path.dropFirst(max(0, same - 1)).map(\.shortName).joined(separator: " < ")
        return "\(same > 1 ? "... < " : "")\(part)  \(path.last?.spkiFingerprint.description ?? "")"
    }
}

// MARK: - JSON

extension ShownChain {
    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [("trusted", .bool(isTrusted))]
        if let nameMatches { members.append(("name_matches", .bool(nameMatches))) }
        if let finding { members += finding.members + [("reason", .string(reason ?? ""))] }
        members.append(("chain", .array(rows.map(\.json))))
        members += transparency.members
        let others = paths.dropFirst().map { path in
            JSON.array(
                path.map {
                    ["pin": .string($0.spkiFingerprint.description), "subject": .string($0.subject.description)]
                })
        }
        return members + [("other_paths", .array(others))]
    }
}
