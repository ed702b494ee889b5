import Basics
import CertificatePinning
import CertificateTrust
import TLSTransport

/// The result of checking a target once, or a key in a file.
struct CheckResult: Sendable {
    var text: VerdictText
    /// The line that listed the target, if any.
    var input: String?
    var address: String?
    /// The kind of key that was requested, or `nil` for the server's choice.
    var key: Probe.Key?
    /// The TLS version.
    var version: String?
    var duration: Duration?
    /// The file that was checked instead of a server.
    var file: String?

    /// The cause of a failure in the form that baselines compare. All unreachable targets have the same one, since the
    /// reason often changes.
    var failure: String? {
        if case .unreachable = text.verdict { text.verdict.word.rawValue } else { text.failureKey?.text }
    }

    /// The key that failed, which baselines compare too, or `nil` if none was seen.
    ///
    /// A different key that fails in the same way is a new failure, because the connection may be intercepted.
    var failingKey: String? {
        guard failure != nil else { return nil }
        if case .keyStrange(let key, _) = text.verdict { return key.description }
        return text.presented.first?.spkiFingerprint.description
    }

    /// The element of the JSON document.
    var json: JSON {
        var members: [(String, JSON)] = [("type", "check"), ("target", .string(text.subject))]
        if let input { members.append(("input", .string(input))) }
        if let file { members.append(("file", .string(file))) }
        if let address { members.append(("address", .string(address))) }
        if let key { members.append(("key", .string(key.rawValue))) }
        if let version, !version.isEmpty { members.append(("tls", .string(version))) }
        if let duration { members.append(("duration_ms", .integer(duration.milliseconds))) }
        if text.isKnown { members.append(("known", true)) }
        if let failure { members.append(("failure", .string(failure))) }
        if let failingKey { members.append(("failing_key", .string(failingKey))) }
        return text.json(members)
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds).multipliedReportingOverflow(by: 1_000).partialValue
            &+ Int(attoseconds / 1_000_000_000_000_000)
    }
}
