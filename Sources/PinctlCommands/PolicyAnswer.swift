import CertificatePinning
import FoundationEssentials
import PinDialects

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
        let policy = input.reading.policy
        let path = input.title
        rules = input.dialect.rules(for: failure.host, in: policy)
        guard !rules.isEmpty else {
            kind = .noRule
            line = "\(path) has no rule for \(failure.host): it does not say which keys are right there"
            return
        }
        kind = Self.accepts(failure, policy, rules, at: time) ? .takes : .refuses
        line =
            kind == .takes
            ? "the rule of \(path) for \(failure.host) takes this chain, and the app has other pins: "
                + "release the app with the pins of \(path)"
            : "the rule of \(path) for \(failure.host) refuses this chain too: an app with its pins would not connect either"
    }

    private static func accepts(
        _ failure: PinningFailureText, _ policy: CanonicalPolicy, _ rules: [CanonicalRule], at time: Date
    ) -> Bool {
        let served = failure.served.map(\.pin)
        func matches(_ pin: CanonicalPin, _ index: Int) -> Bool {
            pin.content == served[index].content && pin.digest == served[index].digest
                && pin.value == served[index].value && pin.role.covers(index: index, of: served.count)
        }
        let places = served.indices
        guard !policy.denied.contains(where: { pin in places.contains { matches(pin, $0) } }) else { return false }
        // No pin matches without certificates, so the result shows the decisions that don't depend on pins.
        let bare = policy.decide([], by: rules, under: DecisionCircumstances(at: time))
        guard bare.verdict == .refused else { return bare.isAccepted }
        let pins = rules.filter { $0.mode == .enforce }.flatMap(\.pins)
        let matched = places.filter { index in pins.contains { matches($0, index) } }
        return bare.unmetRoles.allSatisfy { role in matched.contains { role.covers(index: $0, of: served.count) } }
    }
}
