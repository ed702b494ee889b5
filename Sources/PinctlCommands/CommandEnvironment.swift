package import FoundationEssentials

/// What a command may know of the world besides its arguments.
package struct CommandEnvironment: Sendable {
    /// The environment variables.
    package var variables: @Sendable () -> [String: String]
    /// The time now; commands ask once.
    package var now: @Sendable () -> Date

    package init(variables: @escaping @Sendable () -> [String: String], now: @escaping @Sendable () -> Date) {
        self.variables = variables
        self.now = now
    }
}
