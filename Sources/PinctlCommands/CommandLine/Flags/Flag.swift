import CertificatePinning
import PinDialects

/// A flag. The parser, the help, the man pages and the completions are generated from these values alone.
package struct Flag: Sendable, Hashable {
    /// The value that a flag takes, with its name in the help.
    package enum Value: Sendable {
        case text(String)
        case file(String)
        case directory(String)
        /// One of these words. They are made on use, because some are read from a list that most commands don't need.
        case choice(String, @autoclosure @Sendable () -> [String])
        /// A text that begins with one of these words.
        case beginning(String, [String])

        package var name: String {
            switch self {
            case .text(let name), .file(let name), .directory(let name), .choice(let name, _), .beginning(let name, _):
                name
            }
        }
    }

    /// The heading under which the help lists a flag, in the order of the headings.
    package enum Category: String, Sendable, Hashable, CaseIterable {
        /// Flags that are specific to the command.
        case command = "flags"
        case trust
        case connection
        case output
    }

    /// The name after the two dashes.
    package let long: String
    /// The letter after a single dash, if any.
    package let short: Character?
    /// The value, or `nil` for a flag without one.
    package let value: Value?
    package let isRepeatable: Bool
    /// A one-line description in lower case.
    package let help: String
    /// Additional sentences in the long help and the man page. Empty if the description is enough.
    package let details: String
    package let category: Category
    /// The first description, which identifies the flag, whatever a command says of it.
    private let identity: String

    init(
        _ long: String, short: Character? = nil, value: Value? = nil, repeatable: Bool = false,
        in category: Category = .command, _ help: String, details: String = ""
    ) {
        self.long = long
        self.short = short
        self.value = value
        isRepeatable = repeatable
        self.help = help
        self.details = details
        self.category = category
        identity = help
    }

    /// Returns the same flag with a description that is true of one command.
    func described(_ help: String? = nil, details: String? = nil) -> Flag {
        Flag(self, help: help ?? self.help, details: details ?? self.details)
    }

    private init(_ flag: Flag, help: String, details: String) {
        (long, short, value, isRepeatable) = (flag.long, flag.short, flag.value, flag.isRepeatable)
        (category, identity) = (flag.category, flag.identity)
        (self.help, self.details) = (help, details)
    }

    package static func == (one: Flag, other: Flag) -> Bool {
        one.long == other.long && one.identity == other.identity
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(long)
        hasher.combine(identity)
    }

    /// The name of the value in the help.
    package var valueName: String? { value?.name }

    /// The words that the flag takes, or empty if it takes others.
    package var choices: [String] { if case .choice(_, let words)? = value { words() } else { [] } }

    /// The flag as it is typed, such as `--host`.
    package var dashed: String { "--\(long)" }
}

/// Flags of every command.
extension Flag {
    static let help = Flag("help", short: "h", in: .output, "print help: -h for a summary, --help for details")
    static let version = Flag("version", in: .output, "print the version")
    static let json = Flag(
        "json", in: .output, "print one JSON document instead of text",
        details: "The document is complete even if the command fails. It contains the results, including errors, and "
            + "then a summary with the exit code.")
    static let ndjson = Flag(
        "ndjson", in: .output, "print a line of JSON for each result as it arrives, and a summary last")
    static let quiet = Flag(
        "quiet", short: "q", in: .output, "print no results and notes, only set the exit code",
        details: "Errors are still printed, and so is the output of --json or --ndjson.")
    static let verbose = Flag(
        "verbose", short: "v", in: .output, "print more, such as each path tried and why it was rejected")
    static let color = Flag(
        "color", value: .choice("WHEN", ["auto", "always", "never"]), in: .output,
        "color verdicts in text (default: auto, only on a terminal)",
        details:
            "Verdicts are words, so color adds no information. With auto, NO_COLOR and TERM=dumb disable color, and "
            + "CLICOLOR_FORCE and FORCE_COLOR enable it. JSON is never colored.")
}

/// Flags for reports and annotations in continuous integration.
extension Flag {
    static let report = Flag(
        "report", value: .beginning("FORMAT=FILE", ReportFormat.allCases.map { "\($0.rawValue)=" }), repeatable: true,
        in: .output,
        "write a report: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        details: "An existing FILE is replaced, and FILE is never left incomplete. With - as FILE, the report replaces "
            + "the text on standard output.")
    static let annotations = Flag(
        "annotations", value: .choice("WHERE", Annotations.allCases.map(\.rawValue)), in: .output,
        "github: annotate lines and write a job summary; none: do neither",
        details:
            "The default is github if GITHUB_ACTIONS is true, and none otherwise. Annotations are printed on standard "
            + "error, and the summary is appended to the file that GITHUB_STEP_SUMMARY names.")
}
