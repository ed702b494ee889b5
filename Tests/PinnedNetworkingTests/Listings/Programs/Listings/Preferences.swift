import PinnedNetworking

// Around the Swift listing of "Authentication Challenges and TLS Chain Validation".
final class PreferencesDelegate: NSObject, URLSessionDelegate {
    let preferencesName = Site.login[0]
    let preferencesPassword = Site.login[1]

    // 002: from "func urlSession" through "}"
}
