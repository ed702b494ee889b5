import CertificatePinning
import CertificateTrust
import TLSTransport

extension Check {
    /// Connects to a target as its rule says, and returns one result for each address and key. A target without a rule
    /// isn't connected to. `rule` is the rule that names it.
    func outcome(
        of target: Target, expecting expectation: Expectation, _ settings: CheckSettings, rule: PinningRule?,
        input: String?
    ) async -> Outcome {
        if case .unlisted(let file) = expectation {
            return Outcome(results: [judge.result(ofUnlisted: target, in: file).named(by: rule).listed(as: input)])
        }
        var probes = await probe.probes(of: target, keys: settings.keys, allAddresses: settings.allAddresses)
        var notes: [String] = []
        // That this machine has no route to an address says nothing about the server.
        if (probe.allAddresses ?? settings.allAddresses) == nil, probes.contains(where: { !$0.isUnrouted }) {
            notes = probes.filter(\.isUnrouted).compactMap(\.address).map {
                "note: \(target): this machine has no route to \($0), so it was not checked"
            }
            probes.removeAll(where: \.isUnrouted)
        }
        let results = Self.tellingKeysApart(
            probes.map {
                judge.result(of: $0, expecting: expectation).named(by: rule)
                    .listed(as: input, namesVariant: probes.count > 1)
            }
        ).map { $0.requiring(requiredGroup ?? settings.requiredGroup) }
        var outcome = Outcome(results: results, notes: notes)
        // Without a chain, no address was checked.
        outcome.isAddressChosenByProxy =
            probe.isAddressChosenByProxy(target, allAddresses: settings.allAddresses)
            && probes.contains { $0.failure == nil }
        return outcome
    }

    /// Returns the results with a key mismatch for each mismatched key if another key of the same server matches, since
    /// the key that clients get differs.
    private static func tellingKeysApart(_ results: [CheckResult]) -> [CheckResult] {
        let matched = results.filter { if case .matched = $0.verdict { $0.key != nil } else { false } }
        return results.map { result in
            guard case .mismatch(let mismatch) = result.verdict, let key = result.key,
                matched.contains(where: { $0.key != key && $0.address == result.address })
            else { return result }
            return result.judged(.keyMismatch(mismatch))
        }
    }
}
