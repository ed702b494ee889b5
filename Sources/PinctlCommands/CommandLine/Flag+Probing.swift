/// How servers are reached.
extension Flag {
    static let connectTimeout = Flag("connect-timeout", value: .text("SECONDS"), "time to connect to a target (5)")
    static let timeout = Flag("timeout", value: .text("SECONDS"), "time for a whole target (10)")
}
