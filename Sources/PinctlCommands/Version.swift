import CertificateTrust
import PinctlBasics

enum Version {
    static let current = "0.1.0"
    /// The day of the release, for the man pages.
    static let released = "2026-11-22"

    /// Returns the line of `pinctl --version`, such as `pinctl 0.1.0 (3b41d21c0a1b2c3d), OpenSSL 3.0.19`.
    static func text(commit: UInt64) -> String {
        "pinctl \(current)\(commit == 0 ? "" : " (\(Hexadecimal.encode(commit)))"), OpenSSL \(OpenSSLVersion.loaded)"
    }
}
