/// The exit code of a run, the same for every command.
package enum ExitCode: Int32, Sendable, CaseIterable {
    /// Everything requested was checked, and is good.
    case good = 0
    /// A finding: pins don't match, no rule covers a target, or lint found an error.
    case finding = 1
    /// Wrong usage, or input that can't be read or is invalid.
    case badInput = 2
    /// The server couldn't be reached: name resolution, connection, timeout or handshake failed. Nothing is known about
    /// it.
    case couldNotCheck = 3
    /// The chain isn't trusted: expired, another hostname, or an unknown issuer. Its pins weren't checked.
    case notTrusted = 4
    /// A defect of pinctl (`EX_SOFTWARE`).
    case internalError = 70
    /// Interrupted from the keyboard (SIGINT).
    case interrupted = 130

    /// Records another outcome and keeps the more severe one: bad input, then findings, then untrusted chains, then
    /// servers that couldn't be checked.
    package mutating func record(_ other: ExitCode) {
        // mutant exit-precedence: true by ExitCodeTests
        if other.rank > rank { self = other }
    }

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

    /// The word in the summary of `--json`.
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

    /// The line in `pinctl help exit-codes`.
    package var meaning: String {
        switch self {
        case .good: "good: everything requested was checked, and nothing is wrong"
        case .finding:
            "a finding: a pin mismatch, a host without a rule, a lint error, an outdated export, "
                + "places that disagree, a release that breaks, a refused conversion, an unknown digest"
        case .badInput: "wrong usage, or input that can't be read or is invalid"
        case .couldNotCheck:
            "could not check: could not resolve host, connection refused, timed out, TLS handshake failed"
        case .notTrusted:
            "chain not trusted: certificate has expired, hostname mismatch, unknown issuer; pins were not checked"
        case .internalError: "a defect in pinctl: report it"
        case .interrupted: "interrupted with Ctrl-C (SIGINT)"
        }
    }

    /// The statuses with which other signals end the program, as a shell shows them: 128 and the signal's number.
    static let signals: [(status: Int, meaning: String)] = [
        (141, "the reader of the output closed the pipe (SIGPIPE), such as head: pinctl ends without a message"),
        (143, "ended by another program (SIGTERM), such as timeout"),
    ]

    /// Every status of a run, with its meaning.
    static var statuses: [(status: Int, meaning: String)] {
        allCases.map { (Int($0.rawValue), $0.meaning) } + signals
    }
}
