/// How servers are reached.
extension Flag {
    static let connectTimeout = Flag(
        "connect-timeout", value: .text("SECONDS"), in: .connection, "time to connect to a target (5)")
    static let timeout = Flag("timeout", value: .text("SECONDS"), in: .connection, "time for a whole target (10)")
}
