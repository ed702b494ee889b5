import CertificatePinning
import PinDialects
import PinctlFoundation

/// The decision that a policy would have made on the chain in an OkHttp exception.
struct PolicyAnswer {
    enum Kind: String {
        case takes
        case refuses
        case noRule = "no_rule"
    }

    let kind: Kind
    /// The rules for the host in the exception.
    let rules: [CanonicalRule]
    /// The reason and its consequence.
    let line: String

    init(to failure: PinningFailureText, of input: DialectInput, at time: Date) {
        let pins = ShippedPolicy(input.reading.policy, of: input.dialect)
        let path = input.title
        rules = pins.rules(for: failure.host)
        guard !rules.isEmpty else {
            kind = .noRule
            line = "\(path) has no rule for \(failure.host), so the right keys aren't known"
            return
        }
        let decisions = pins.decisions(on: failure.served.map(\.pin), by: rules, at: time)
        kind = decisions.allSatisfy(\.isAccepted) ? .takes : .refuses
        line =
            kind == .takes
            ? "the rule of \(path) for \(failure.host) accepts this chain, but the app has other pins: "
                + "release the app with the pins of \(path)"
            : "the rule of \(path) for \(failure.host) also refuses this chain: an app with its pins wouldn't connect "
                + "either"
    }
}
