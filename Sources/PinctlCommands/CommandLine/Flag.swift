import CertificatePinning
import PinDialects

/// One flag. The parser, the help, the man pages and the completions are made from these values and from nothing else.
package struct Flag: Sendable, Hashable {
    /// What a flag takes; each has the name that the help shows for it.
    package enum Value: Sendable, Hashable {
        case text(String)
        case file(String)
        case folder(String)
        /// One of these words.
        case choice(String, [String])

        package var name: String {
            switch self {
            case .text(let name), .file(let name), .folder(let name), .choice(let name, _): name
            }
        }
    }

    /// Under which heading the help shows a flag, in the order of the headings.
    package enum Category: String, Sendable, Hashable, CaseIterable {
        /// What the command does.
        case command = "flags"
        case trust
        case connection
        case output
    }

    /// The name behind the two dashes.
    package let long: String
    /// The letter behind one dash.
    package let short: Character?
    /// Nil for a flag that takes none.
    package let value: Value?
    package let isRepeatable: Bool
    /// One line: what it does, lower case.
    package let help: String
    /// What the long help and the man page say besides, in sentences; empty where the line says it all.
    package let details: String
    package let category: Category

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
    }

    /// What the help calls the value.
    package var valueName: String? { value?.name }

    /// As it is typed: `--host`.
    package var dashed: String { "--\(long)" }
}

/// Those of every command.
extension Flag {
    static let help = Flag("help", short: "h", in: .output, "print this help: -h in short, --help in full")
    static let version = Flag("version", in: .output, "print the version")
    static let json = Flag(
        "json", in: .output, "print one JSON document instead of text",
        details: "The document is whole also when the command fails: the results, what went wrong among them, then a "
            + "summary with the exit code.")
    static let ndjson = Flag(
        "ndjson", in: .output, "print one line of JSON for each result as it comes, and a summary last")
    static let quiet = Flag(
        "quiet", short: "q", in: .output, "print no results: the exit code tells",
        details:
            "What could not be done is still said on standard error, and what --json or --ndjson ask for is still written."
    )
    static let verbose = Flag(
        "verbose", short: "v", in: .output, "say more: every path that was tried, and why it was not taken")
    static let color = Flag(
        "color", value: .choice("WHEN", ["auto", "always", "never"]), in: .output,
        "colour the verdicts of text (auto: on a terminal)",
        details: "Verdicts are words, and nothing is said by colour alone. With auto, NO_COLOR and TERM=dumb switch "
            + "colour off, CLICOLOR_FORCE and FORCE_COLOR switch it on; JSON has none.")
}
