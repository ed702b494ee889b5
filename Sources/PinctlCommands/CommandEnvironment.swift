package import PinctlFoundation

/// The inputs of a command other than its arguments.
package struct CommandEnvironment: Sendable {
    /// The first 16 hexadecimal digits of the commit that the program was built from, or 0 if it isn't known.
    package var commit: UInt64
    package var variables: @Sendable () -> [String: String]
    /// The current time. Commands ask for it only once.
    package var now: @Sendable () -> Date
    package var terminal: Terminal
    /// Whether the user has pressed Ctrl-C. A command that asks must end itself with what it knows.
    package var isInterrupted: @Sendable () -> Bool
    /// Uses a file as the public suffix list, and returns the problem with it, or `nil` if there is none.
    package var useSuffixes: @Sendable (String) -> String?
    /// A description of the problem with the public suffix list at a time, or `nil` if there is none, or if the list
    /// decided nothing. If the second value is true, it is enough that the list was used.
    package var suffixWarning: @Sendable (Date, Bool) -> String?

    package init(
        commit: UInt64 = 0, variables: @escaping @Sendable () -> [String: String], now: @escaping @Sendable () -> Date,
        terminal: Terminal = Terminal(), isInterrupted: @escaping @Sendable () -> Bool = { false },
        useSuffixes: @escaping @Sendable (String) -> String? = { _ in nil },
        suffixWarning: @escaping @Sendable (Date, Bool) -> String? = { _, _ in nil }
    ) {
        self.commit = commit
        self.variables = variables
        self.now = now
        self.terminal = terminal
        self.isInterrupted = isInterrupted
        self.useSuffixes = useSuffixes
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
