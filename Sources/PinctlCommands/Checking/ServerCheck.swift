import CertificatePinning
import CertificateTrust
import TLSTransport

/// A check of servers. It connects to them as their rules say and judges each chain.
struct ServerCheck: Sendable {
    let probe: ServerProbe
    let judge: ChainJudge

    /// Returns the results of one target, one for each address and key. A target without a rule isn't connected to.
    func results(
        of target: Target, expecting expectation: Expectation, _ settings: CheckSettings, input: String?
    ) async -> [CheckResult] {
        if case .unlisted(let file) = expectation {
            return [CheckResult(text: judge.verdict(onUnlisted: target, in: file), input: input)]
        }
        let probes = await probe.probes(of: target, keys: settings.keys, allAddresses: settings.allAddresses)
        var results = probes.map { probe in
            var result = CheckResult(
                text: judge.verdict(on: probe, expecting: expectation), input: input, address: probe.address,
                key: probe.key, duration: probe.duration)
            if case .success(let served) = probe.outcome { result.version = served.version }
            if probes.count > 1 {
                result.text.variant = [probe.address, probe.key?.rawValue.uppercased()].compactMap(\.self)
                    .joined(separator: ", ")
            }
            return result
        }
        Self.tellKeysApart(&results)
        return results
    }

    /// Changes the verdict of a mismatched key to a key mismatch if another key of the same server matches, since the
    /// key that clients get differs.
    private static func tellKeysApart(_ results: inout [CheckResult]) {
        let matched = results.filter { if case .matched = $0.text.verdict { $0.key != nil } else { false } }
        for index in results.indices {
            guard case .mismatch(let mismatch) = results[index].text.verdict, let key = results[index].key,
                matched.contains(where: { $0.key != key && $0.address == results[index].address })
            else { continue }
            results[index].text.verdict = .keyMismatch(mismatch)
        }
    }
}
