import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

extension Check {
    /// Connects to a target as its rule says, and returns one result for each address and key. A target without a rule
    /// isn't connected to. `rule` is the rule that names it.
    func outcome(
        of target: Target, _ settings: CheckSettings, rule: PinningRule?, input: String?
    ) async -> Outcome {
        if let file = source.file(unlisting: target.endpoint.name, port: target.endpoint.port) {
            var result = judge.result(ofUnlisted: target, in: file)
            (result.rule, result.input) = (rule, input)
            return Outcome(results: [result])
        }
        var probes = await probe.probes(of: target, keys: settings.keys, allAddresses: settings.allAddresses)
        var notes: [String] = []
        // That this machine has no route to an address says nothing about the server.
        // mutant check-unrouted-only: true for 2 by EveryAddressTests/unroutedOnly
        if (probe.allAddresses ?? settings.allAddresses) == nil, probes.contains(where: { !$0.isUnrouted }) {
            notes = probes.filter(\.isUnrouted).compactMap(\.address).map {
                "note: \(target): this machine has no route to \($0), so it was not checked"
            }
            // mutant check-unrouted-refused: { probes.removeAll { if case .failure = $0.outcome { true } else { false }
            //   } } by EveryAddressTests/refused
            probes.removeAll(where: \.isUnrouted)
        }
        var results = probes.map { probe in
            var result = judge.result(of: probe, expecting: source)
            result.rule = rule ?? result.rule
            result.input = input
            if probes.count > 1 {
                result.variant = [probe.address, probe.key?.rawValue.uppercased()].compactMap(\.self)
                    .joined(separator: ", ")
            }
            return result
        }
        Self.nameMismatchedKeys(&results)
        for index in results.indices { results[index].require(requiredGroup ?? settings.requiredGroup) }
        var outcome = Outcome(results: results, notes: notes)
        // Without a chain, no address was checked.
        outcome.isAddressChosenByProxy =
            probe.isAddressChosenByProxy(target, allAddresses: settings.allAddresses)
            && probes.contains { $0.failure == nil }
        return outcome
    }

    /// Gives each mismatched key a verdict of its own if another key of the same server matches, since the key that
    /// clients get differs.
    private static func nameMismatchedKeys(_ results: inout [CheckResult]) {
        let matched = results.filter { $0.verdict.isGood && !$0.verdict.matches.isEmpty && $0.key != nil }
        for index in results.indices where results[index].verdict.word == .pinMismatch {
            guard let mismatch = results[index].verdict.mismatch, let key = results[index].key,
                matched.contains(where: { $0.key != key && $0.address == results[index].address })
            else { continue }
            results[index].judge(.keyMismatch(mismatch))
        }
    }
}
