import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The timestamps of a leaf in the output of `show` (RFC 6962), and whether they are enough.
struct TransparencyText {
    private let timestamps: [CheckedTimestamp]
    /// The reason why the leaf isn't compliant, or `nil` if it is. Only meaningful with a list of logs.
    private let finding: TrustFinding?
    private let hasLogs: Bool

    init(_ check: TimestampCheck, _ timestamps: [CheckedTimestamp]) {
        self.timestamps = timestamps
        finding = check.finding(timestamps)
        hasLogs = check.hasLogs
    }

    /// The lines below the certificates: one for each timestamp, and the judgement if there is a list of logs.
    var lines: [String] {
        let rows = timestamps.map { checked in
            let time = checked.timestamp?.date.rfc3339
            let columns = [
                padded("timestamp", 12), padded(time ?? "", 20), checked.status.text,
                checked.source == .certificate ? nil : "in the \(checked.source.text)", owner(of: checked),
            ]
            return "  " + columns.compactMap(\.self).joined(separator: "  ")
        }
        guard hasLogs else { return rows }
        return rows + ["  transparency: " + (finding?.detail ?? "compliant with the policies of Chrome and Apple")]
    }

    /// The log and its operator, or else its identifier.
    private func owner(of checked: CheckedTimestamp) -> String? {
        guard let timestamp = checked.timestamp else { return nil }
        guard let log = checked.log else { return "log \(Base64.encode(timestamp.logID.span))" }
        return "\(visibleText(log.name)) (\(visibleText(log.operatorName(at: timestamp.date))))"
    }

    var members: [(String, JSON)] {
        let rows = timestamps.map { checked in
            JSON.object([
                ("source", .string(checked.source.rawValue)), ("status", .string(checked.status.word)),
                ("time", checked.timestamp.map { .string($0.date.rfc3339) } ?? .null),
                ("log_id", checked.timestamp.map { .string(Base64.encode($0.logID.span)) } ?? .null),
                ("log", checked.log.map { .string($0.name) } ?? .null),
                (
                    "operator",
                    checked.log.flatMap { log in
                        checked.timestamp.map { .string(log.operatorName(at: $0.date)) }
                    } ?? .null
                ),
            ])
        }
        var members: [(String, JSON)] = [("timestamps", .array(rows))]
        if hasLogs {
            members.append(
                (
                    "transparency",
                    ["compliant": .bool(finding == nil), "reason": finding.map { .string($0.detail) } ?? .null]
                ))
        }
        return members
    }
}

extension CheckedTimestamp.Source {
    fileprivate var text: String {
        switch self {
        case .certificate: "certificate"
        case .handshake: "TLS extension"
        case .staple: "stapled OCSP response, where it doesn't count"
        }
    }
}
