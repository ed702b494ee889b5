enum Version {
    static let current = "0.1.0"
    /// The day of the release, for the man pages.
    static let released = "2026-11-22"
}
