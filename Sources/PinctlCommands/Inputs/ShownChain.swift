import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// A chain as `show` tells it: what was presented, every way in which it can be anchored, or why there is none.
struct ShownChain: Sendable {
    let presented: [X509Certificate]
    /// What the presented certificates are said to come from: `served` or `file`.
    let source: String
    /// The valid paths, best first; those for no name where the name alone is wrong.
    let paths: [[X509Certificate]]
    /// Why the chain is not trusted; nil when it is.
    let finding: TrustFinding?
    /// Whether the leaf is for the name that was asked for; nil when none was.
    let nameMatches: Bool?
    private let now: Date

    /// Paths that are looked for behind the first one.
    private static let pathLimit = 8

    /// Judges a chain for a name, or for none.
    init(_ presented: PresentedChain, source: String, for name: ServerName?, by judge: ChainJudge) {
        self.presented = presented.certificates
        self.source = source
        now = judge.time
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
            // A chain for another name has its paths too, and they tell whose it is.
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
}

// MARK: - Text

extension ShownChain {
    /// `trusted`, or which rule was broken.
    var verdict: String { finding.map { "not trusted [\($0.rule.rawValue)]" } ?? "trusted" }

    /// Everything below the headline.
    var lines: [String] {
        var lines = finding.map { ["  why: \($0)"] } ?? []
        lines += CertificateRow.lines(rows, now: now)
        for path in paths.dropFirst() { lines.append("  other path: \(other(path))") }
        return lines
    }

    /// The best path, and below it what was presented and is not on it.
    private var rows: [CertificateRow] {
        guard let path = paths.first else {
            return presented.enumerated().map { index, certificate in
                CertificateRow(
                    role: index == 0 ? "leaf" : certificate.isSelfIssued ? "root" : "issuer", certificate,
                    source: source)
            }
        }
        let onPath = path.enumerated().map { index, certificate in
            CertificateRow(
                role: PinRole(index: index, of: path.count).rawValue, certificate,
                source: presented.contains(certificate) ? source : "store")
        }
        return onPath
            + presented.filter { !path.contains($0) }.map { CertificateRow(role: "not needed", $0, source: source) }
    }

    /// Another path from where it leaves the first.
    private func other(_ path: [X509Certificate]) -> String {
        let same = zip(path, paths.first ?? []).prefix { $0 == $1 }.count
        // The last certificate that both have says where the ways part.
        let part = path.dropFirst(max(0, same - 1)).map(\.shortName).joined(separator: " < ")
        return "\(same > 1 ? "... < " : "")\(part)  \(path.last?.spkiFingerprint.description ?? "")"
    }
}

// MARK: - JSON

extension ShownChain {
    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [("trusted", .bool(isTrusted))]
        if let nameMatches { members.append(("name_matches", .bool(nameMatches))) }
        if let finding { members += finding.members }
        members.append(("chain", .array(rows.map(\.json))))
        let others = paths.dropFirst().map { path in
            JSON.array(
                path.map {
                    ["pin": .string($0.spkiFingerprint.description), "subject": .string($0.subject.description)]
                })
        }
        return members + [("other_paths", .array(others))]
    }
}
