package import CertificatePinning
package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// The keys of a server's last certificates, which show whether renewals kept the key.
///
/// The settings of a client count before what happened. So a history is a reason for a finding about settings that keep
/// the key, and never one against a finding about settings that don't.
package struct KeyHistory {
    /// The number of certificates that count. They are those of two renewals: one new key may be planned, and a second
    /// one shows that the client creates them.
    package static let length = 3
    private let keys: [SPKIFingerprint]

    /// Creates the history from the keys of all certificates, oldest first.
    init(_ keys: [SPKIFingerprint]) { self.keys = keys.suffix(Self.length) }

    /// The effect of a renewal, if nothing else is known about it.
    var effect: KeyRenewal.Effect {
        switch Set(keys).count {
        // mutant key-history-single: false by PinctlTests.IssuanceTests
        case _ where keys.count < 2: .unknown
        case 1: .keepsKey
        // mutant key-history: .keepsKey by PinctlTests.IssuanceTests PinDialectsTests.IssuanceTests
        case keys.count: .changesKey
        // mutant key-history-mixed: .keepsKey by PinctlTests.IssuanceTests
        default: .unknown
        }
    }

    /// Whether the last two renewals created a key each.
    var contradictsSettings: Bool { keys.count == Self.length && effect == .changesKey }

    /// The history in words, such as `the last 3 certificates have the same key`.
    var summary: String {
        guard keys.count > 1 else { return "one certificate doesn't show whether a renewal keeps the key" }
        let count = Set(keys).count
        return "the last \(keys.count) certificates have \(count == 1 ? "the same key" : "\(count) different keys")"
    }
}

/// A directory of certificates without a file of settings.
package enum CertificateArchive {
    /// Returns the renewals that the certificates show, one for the hosts that are in the same certificates.
    package static func renewals(
        of certificates: [X509Certificate], path: String, at time: Date
    ) throws(PolicyFileError) -> [KeyRenewal] {
        let place = PolicyLocation(path: path)
        guard certificates.count <= IssuanceText.limit else {
            throw IssuanceText.problem("more than \(IssuanceText.limit) certificates: split the directory", at: place)
        }
        // No server has presented one that isn't valid yet or isn't for servers.
        // mutant key-history-future: true for `$0.notBefore <= time` by PinctlTests.IssuanceTests/unusedCertificates
        // mutant key-history-purpose: true for `$0.isForServers` by PinctlTests.IssuanceTests/unusedCertificates
        let presented = Set(certificates).filter { $0.notBefore <= time && $0.isForServers }
        // The last one keeps the order of certificates of the same second.
        let sorted = presented.map { ($0, ($0.notBefore, $0.notAfter, $0.spkiFingerprint.description)) }
            .sorted { $0.1 < $1.1 }.map(\.0)
        var members: [String: [Int]] = [:]
        for (index, certificate) in sorted.enumerated() {
            for name in Set(certificate.hosts) { members[name, default: []].append(index) }
        }
        // Where a host has certificates of a CA, an earlier self-signed one was only a placeholder.
        members = members.mapValues { indices in
            // mutant key-history-self-signed: true for `!sorted[$0].isSelfIssued` by
            //   PinctlTests.IssuanceTests/unusedCertificates
            let issued = indices.filter { !sorted[$0].isSelfIssued }
            guard let last = issued.last else { return indices }
            // mutant key-history-self-signed-now: false for `sorted[$0].notBefore > sorted[last].notBefore` by
            //   PinctlTests.IssuanceTests/unusedCertificates
            return indices.filter { !sorted[$0].isSelfIssued || sorted[$0].notBefore > sorted[last].notBefore }
        }
        let series = Dictionary(grouping: members.keys) { members[$0] ?? [] }
        return series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { indices, names in
            let history = KeyHistory(indices.map { sorted[$0].spkiFingerprint })
            // A client doesn't use a directory whose certificates it let expire.
            // mutant key-history-expired: true by PinctlTests.IssuanceTests
            let newest = indices.last.map { sorted[$0] }
            let isInUse = newest.map { $0.notAfter >= time } ?? false
            let effect = isInUse ? history.effect : .unknown
            let remedy =
                if effect == .changesKey {
                    "have it keep the key, as with the option --reuse-key of certbot and lego"
                } else if isInUse {
                    "name the file that configures the renewal, or keep three certificates there"
                } else {
                    "name the directory with the certificates that the server has now"
                }
            return KeyRenewal(
                names: names.sorted(), effect, now: isInUse ? newest : nil,
                before: indices.dropLast().map { sorted[$0] }, at: place, program: "the ACME client",
                setting: isInUse ? history.summary : "the last certificate has expired", remedy: remedy)
        }
    }
}
