import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The decision that a policy would have made on the chain in the message of a program.
struct PolicyAnswer {
    enum Kind: String {
        case takes
        case refuses
        case noRule = "no_rule"
        /// The message has no chain to decide on.
        case pinned
    }

    let kind: Kind
    /// The rules for the host in the message.
    let rules: [CanonicalRule]
    /// The reason and its consequence.
    let line: String

    /// Returns `nil` if the message names no host.
    init?(to message: RejectionMessage, of input: DialectInput, at time: Date) {
        guard let host = message.host else { return nil }
        let pins = ShippedPolicy(input.reading.policy, of: input.dialect)
        let path = input.title
        rules = pins.rules(for: host)
        guard !rules.isEmpty else {
            kind = .noRule
            line = "\(path) has no rule for \(host), so the right keys aren't known"
            return
        }
        guard !message.served.isEmpty else {
            kind = .pinned
            let count = Set(rules.flatMap(\.pins).map(\.value)).count
            line =
                "\(path) has \(plural(count, "pin")) for \(host): list \(count == 1 ? "it" : "them") with "
                + "pinctl explain \(host) --policy \(path)"
            return
        }
        let decisions = pins.decisions(on: message.served.map(\.pin), by: rules, at: time)
        kind = decisions.allSatisfy(\.isAccepted) ? .takes : .refuses
        line =
            kind == .takes
            ? "the rule of \(path) for \(host) accepts this chain, but the app has other pins: "
                + "release the app with the pins of \(path)"
            : "the rule of \(path) for \(host) also refuses this chain: an app with its pins wouldn't connect "
                + "either"
    }
}

// MARK: - Texts

extension RejectionMessage.Cause {
    var verb: String { self == .cancelled ? "cancelled a request to" : "rejected" }

    var meaning: String {
        switch self {
        case .pins: "no pin matched"
        case .untrusted: "it doesn't trust the certificate, whatever the pins are"
        case .name: "the certificate isn't valid for this hostname, whatever the pins are"
        case .time: "a certificate has expired or isn't valid yet, by the client's clock"
        case .cancelled: "the message doesn't say why"
        }
    }
}

extension RejectionMessage {
    /// The next step.
    var remedy: String {
        let name = host ?? "HOST"
        switch cause {
        case .pins where served.isEmpty:
            return "see which keys the server sends, and whether the policy has them: pinctl check \(name)"
        case .pins:
            let values = Set(served.map(\.pin.value))
            guard !pinned.contains(where: { values.contains($0.value) }) else {
                return
                    "a pinned key was served, but on no path that OkHttp built: have the server send its chain in order"
            }
            return "none of the pinned keys was served: if the served ones are yours "
                + "(\(PinFailureCause.confirmation)), serve a pinned key again, since released apps keep their pins; "
                + "if not, the connection may be intercepted: don't pin any served key"
        case .untrusted:
            return "find the cause, such as a missing intermediate, a private CA or interception: pinctl check \(name)"
        case .name: return "see the names in the certificate: pinctl show \(name)"
        case .time:
            return "compare the clock of the client with the dates in the certificates: pinctl show \(name)"
        case .cancelled:
            return "delegates cancel requests if pins don't match: read the lines before this one, or run pinctl check "
                + name
        }
    }
}
