package import FoundationEssentials

/// What a command may know of the world besides its arguments.
package struct CommandEnvironment: Sendable {
    /// The environment variables.
    package var variables: @Sendable () -> [String: String]
    /// The time now; commands ask once.
    package var now: @Sendable () -> Date
    package var terminal: Terminal
    /// What is wrong with the list of public suffixes that a command used, at a time; nil when nothing is.
    package var suffixWarning: @Sendable (Date) -> String?

    package init(
        variables: @escaping @Sendable () -> [String: String], now: @escaping @Sendable () -> Date,
        terminal: Terminal = Terminal(), suffixWarning: @escaping @Sendable (Date) -> String? = { _ in nil }
    ) {
        self.variables = variables
        self.now = now
        self.terminal = terminal
        self.suffixWarning = suffixWarning
    }
}

/// What is known of the terminal that somebody may sit at.
package struct Terminal: Sendable {
    /// Columns of the terminal that standard output is; nil when it is none, and lines may have any length.
    package var columns: Int?
    /// Whether standard error is a terminal, which shows progress.
    package var showsProgress: Bool

    package init(columns: Int? = nil, showsProgress: Bool = false) {
        self.columns = columns
        self.showsProgress = showsProgress
    }
}
