package import PinctlFoundation

/// The inputs of a command other than its arguments.
package struct CommandEnvironment: Sendable {
    /// The first 16 hexadecimal digits of the commit that the program was built from, or 0 if it isn't known.
    package var commit: UInt64
    package var variables: @Sendable () -> [String: String]
    /// The current time. Commands ask for it only once.
    package var now: @Sendable () -> Date
    package var terminal: Terminal
    /// A description of the problem with the public suffix list that a command used at a time, or `nil` if there is
    /// none.
    package var suffixWarning: @Sendable (Date) -> String?

    package init(
        commit: UInt64 = 0, variables: @escaping @Sendable () -> [String: String], now: @escaping @Sendable () -> Date,
        terminal: Terminal = Terminal(), suffixWarning: @escaping @Sendable (Date) -> String? = { _ in nil }
    ) {
        self.commit = commit
        self.variables = variables
        self.now = now
        self.terminal = terminal
        self.suffixWarning = suffixWarning
    }
}

/// The attached terminal, if any.
package struct Terminal: Sendable {
    /// The width of the terminal that standard output is connected to, or `nil` if it isn't a terminal, so that lines
    /// may have any length.
    package var columns: Int?
    /// Whether standard error is a terminal that shows progress.
    package var showsProgress: Bool

    package init(columns: Int? = nil, showsProgress: Bool = false) {
        self.columns = columns
        self.showsProgress = showsProgress
    }
}
