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

    init(
        _ long: String, short: Character? = nil, value: Value? = nil, repeatable: Bool = false, _ help: String,
        details: String = ""
    ) {
        self.long = long
        self.short = short
        self.value = value
        isRepeatable = repeatable
        self.help = help
        self.details = details
    }

    /// What the help calls the value.
    package var valueName: String? { value?.name }

    /// As it is typed: `--host`.
    package var dashed: String { "--\(long)" }
}

/// Those of every command.
extension Flag {
    static let help = Flag("help", short: "h", "print this help")
    static let version = Flag("version", "print the version")
    static let json = Flag("json", "print one JSON document instead of text")
    static let ndjson = Flag("ndjson", "print one line of JSON for each result as it comes, and a last one in sum")
    static let quiet = Flag("quiet", short: "q", "print no results: the exit code tells")
    static let verbose = Flag("verbose", short: "v", "say more: every path that was tried, and why it was not taken")
}
