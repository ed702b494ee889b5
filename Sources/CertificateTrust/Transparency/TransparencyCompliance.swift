import PinctlBasics
import PinctlFoundation

/// The number of timestamps that a certificate needs, so that Chrome and Apple's systems both accept it.
///
/// The table is the stricter of the two policies in each point:
///
/// - Chrome's "Certificate Transparency Policy" (`googlechrome.github.io/CertificateTransparency/ct_policy.html`, read
///   on 2026-11-26): two or three distinct logs by the lifetime, two operators, and of handshake timestamps only those
///   of logs that are recognized today. Since version 148, timestamps in stapled OCSP responses don't count.
/// - Apple's "Certificate Transparency policy" (`support.apple.com/103214`, read on 2026-11-24): the same numbers, with
///   the last second of validity included in the lifetime, and one log with the interface of RFC 6962. Android asks for
///   that log too. Chrome has given it up on 2026-04-15.
struct TransparencyCompliance {
    /// One way to deliver timestamps, and what it needs.
    private struct Delivery {
        let name: String
        let source: CheckedTimestamp.Source
        /// Whether timestamps count that a log made before it retired.
        let countsRetired: Bool
        /// The number of distinct logs for a lifetime of at most 180 days, and for a longer one.
        let logs: (short: Int, long: Int)
    }

    private static let deliveries = [
        Delivery(name: "in the certificate", source: .certificate, countsRetired: true, logs: (2, 3)),
        Delivery(name: "in the handshake", source: .handshake, countsRetired: false, logs: (2, 2)),
    ]

    /// The longest lifetime that needs fewer timestamps, in seconds: 180 days.
    private static let shortLifetime: Int64 = 180 * 86_400
    private static let operators = 2

    /// Returns what is missing, or `nil` if the timestamps are enough. A certificate needs all timestamps from one kind
    /// of delivery. `validity` is the leaf's, in seconds since 1970.
    static func problem(
        of timestamps: [CheckedTimestamp], validity: ClosedRange<Int64>, at time: Date
    ) -> String? {
        let isShort = validity.upperBound - validity.lowerBound + 1 <= shortLifetime
        var problems: [(name: String, text: String, isTried: Bool)] = []
        for delivery in deliveries {
            // mutant stapled-timestamps: delivery.source == .certificate ? $0.source == .certificate : $0.source !=
            //   .certificate for `$0.source == delivery.source` by ComplianceTests
            let delivered = timestamps.filter { $0.source == delivery.source }
            let wanted = isShort ? delivery.logs.short : delivery.logs.long
            guard let text = problem(of: delivered, delivery, wanted, at: time) else { return nil }
            problems.append((delivery.name, text, !delivered.isEmpty))
        }
        let tried = problems.filter(\.isTried)
        guard !tried.isEmpty else {
            return timestamps.isEmpty
                ? "no timestamps" : "timestamps only in the stapled OCSP response, where browsers no longer count them"
        }
        return tried.map { "\($0.text) \($0.name)" }.joined(separator: ", and ")
    }

    private static func problem(
        of timestamps: [CheckedTimestamp], _ delivery: Delivery, _ wanted: Int, at time: Date
    ) -> String? {
        var logs: Set<TransparencyLog> = []
        var owners: Set<String> = []
        var isRecognizedToday = false
        var reasons: [String] = []
        for checked in timestamps {
            guard checked.status == .valid, let timestamp = checked.timestamp, let log = checked.log else {
                reasons.append(checked.status.text)
                continue
            }
            switch log.recognition(of: timestamp, at: time) {
            case .current: isRecognizedToday = true
            case .once where delivery.countsRetired: break
            case .once, .none:
                reasons.append("\(log.state.rawValue) log")
                continue
            }
            // A log counts once, however many timestamps it made.
            if !logs.insert(log).inserted { reasons.append("repeated log") }
            owners.insert(log.operatorName(at: timestamp.date))
        }
        let others = reasons.isEmpty ? "" : " (not counting \(reasons.joined(separator: ", ")))"
        // mutant timestamps-distinct: timestamps.count < wanted by ComplianceTests
        if logs.count < wanted { return "\(logs.count) of \(wanted) timestamps from distinct recognized logs\(others)" }
        // mutant timestamps-operators: false by ComplianceTests
        if owners.count < operators { return "timestamps from \(owners.count) of \(operators) log operators\(others)" }
        // mutant timestamps-recognized: false by ComplianceTests
        if !isRecognizedToday { return "no timestamp from a log that is still recognized\(others)" }
        if !logs.contains(where: \.isRFC6962) { return "no timestamp from a log with the RFC 6962 interface\(others)" }
        return nil
    }
}

extension TimestampCheck {
    /// Returns the reason why the leaf isn't compliant with these timestamps of it, or why that can't be judged.
    /// Returns `nil` if it is compliant.
    package func finding(_ timestamps: [CheckedTimestamp]) -> TrustFinding? {
        guard let logs else {
            return finding(
                .transparencyUnknown,
                "Certificate Transparency can't be checked without a list of logs: give one in the format of "
                    + "Google's log_list.json, in pinctl with --ct-logs")
        }
        // mutant log-list-age: true by ComplianceTests
        guard !logs.isOutdated(at: time) else {
            return finding(
                .transparencyUnknown,
                "the list of Certificate Transparency logs is of \(logs.published.day), 70 days old or more: get a "
                    + "new one"
            )
        }
        return TransparencyCompliance.problem(of: timestamps, validity: leaf.validity, at: time).map {
            finding(
                .certificateTransparency,
                "not enough Certificate Transparency (\($0)): have it issued by a CA that submits "
                    + "certificates to recognized logs")
        }
    }

    private func finding(_ rule: TrustRule, _ detail: String) -> TrustFinding {
        TrustFinding(rule: rule, depth: 0, certificate: leaf, detail: detail)
    }
}
