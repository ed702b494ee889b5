package import FoundationEssentials

/// What a command may know of the world besides its arguments.
package struct CommandEnvironment: Sendable {
    /// The value of an environment variable.
    package var variable: @Sendable (String) -> String?
    /// The time now; commands ask once.
    package var now: @Sendable () -> Date

    package init(variable: @escaping @Sendable (String) -> String?, now: @escaping @Sendable () -> Date) {
        self.variable = variable
        self.now = now
    }
}
