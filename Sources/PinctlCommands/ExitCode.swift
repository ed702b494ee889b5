/// What a run reports to the shell. One table for every command.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// Everything that was asked was checked, and is good.
    case good = 0
    /// A finding: pins do not match, a target no rule covers, an error that lint found.
    case finding = 1
    /// Wrong usage, or input that cannot be read or is invalid.
    case badInput = 2
    /// The server could not be asked: name resolution, connection, timeout, handshake. Nothing is known.
    case couldNotCheck = 3
    /// The chain is not trusted: expired, another name, unknown issuer. Its pins were not judged.
    case notTrusted = 4
    /// A defect of pinctl (`EX_SOFTWARE`).
    case internalError = 70
    /// Interrupted from the keyboard (SIGINT).
    case interrupted = 130

    /// Of several outcomes the worst is told: what was not understood, then what was found, then what is not known.
    package mutating func record(_ other: ExitCode) {
        if other.rank > rank { self = other }
    }

    /// Whether it is told in place of the other.
    func isWorse(than other: ExitCode) -> Bool { rank > other.rank }

    private var rank: Int {
        switch self {
        case .good: 0
        case .couldNotCheck: 1
        case .notTrusted: 2
        case .finding: 3
        case .badInput: 4
        case .internalError: 5
        case .interrupted: 6
        }
    }

    /// One word for the summary of `--json`.
    package var word: String {
        switch self {
        case .good: "good"
        case .finding: "finding"
        case .badInput: "bad_input"
        case .couldNotCheck: "could_not_check"
        case .notTrusted: "not_trusted"
        case .internalError: "internal_error"
        case .interrupted: "interrupted"
        }
    }

    /// The line of `pinctl help exit-codes`.
    package var meaning: String {
        switch self {
        case .good: "good: everything asked was checked and holds"
        case .finding:
            "a finding: pins that do not match, a host without a rule, an error of lint, a drifted export, "
                + "a broken release, a conversion that was refused, a digest that is not known"
        case .badInput: "wrong usage, or input that cannot be read or is invalid"
        case .couldNotCheck: "could not check: name not resolved, no connection, timeout, failed handshake"
        case .notTrusted: "chain not trusted: expired, wrong name, unknown issuer; pins were not judged"
        case .internalError: "a defect of pinctl: report it"
        case .interrupted: "interrupted"
        }
    }
}
