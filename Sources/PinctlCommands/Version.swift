import CertificateTrust

enum Version {
    static let current = "0.1.0"
    /// The day of the release, for the man pages.
    static let released = "2026-11-22"

    /// Returns the line of `pinctl --version`, such as `pinctl 0.1.0 (3b41d21c), OpenSSL 3.0.19`.
    static func text(commit: String) -> String {
        "pinctl \(current)\(commit.isEmpty ? "" : " (\(commit))"), OpenSSL \(OpenSSLVersion.loaded)"
    }
}
