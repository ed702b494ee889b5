public import CertificateTrust
import FoundationEssentials

/// Why pins did not do what their owner meant.
@nonexhaustive
public enum PinFailureCause: Sendable, Hashable {
    /// The clock shows a time before the server's certificates begin: the first of them begins here.
    case clockBehind(X509Certificate)
    /// The clock shows a time at which all of the server's certificates are long over; this one ends last.
    case clockAhead(X509Certificate)
    /// Somebody between client and server signs certificates of his own: an inspecting proxy, an antivirus program, an
    /// attacker. The chain leads to this name, which is none of the system's roots.
    case inspected(by: X509Name)
    /// The server does not send the certificate of its issuer.
    case issuerMissing(X509Name)
    /// The pinned key is on the verified path, but in this role, which is not the pin's.
    case wrongPosition(Pin, PinRole)
    /// The pin is a digest of other bytes than it says of this certificate.
    case wrongBytes(Pin, DigestInput, of: X509Certificate)
    /// The pinned key is served, in this certificate, but on no valid path; the finding says why, where one was tried.
    case offPath(Pin, X509Certificate, TrustFinding?)
    /// The server's certificate is issued under another authority than those of these pins: this anchor.
    case authorityChanged(from: [Pin], to: X509Certificate)
    /// Intermediates alone are pinned, and this one issues now.
    case intermediateChanged(to: X509Certificate)
    /// The server has another key than the pinned ones; this is its certificate.
    case leafRekeyed(X509Certificate)
    /// The rule's time is over.
    case ruleEnded(PinningRule.Identity, PinningExpiry)
    /// The server's path holds a denied pin.
    case denied(Pin)
    /// No rule reaches the host, and the one that was meant stands here.
    case hostMissed(ServerName, HostMiss, PinningRule.Identity)
    /// The pins hold, but on backups alone: the key that was in use is gone.
    case onlyBackup([Pin])
}

/// By what a rule misses a host.
@nonexhaustive
public enum HostMiss: String, Sendable, Hashable {
    /// It reaches other ports.
    case port
    /// It is for a parent, without the names below it.
    case parent
    /// It is for a name below the host.
    case child
    /// It is for another name below the same parent.
    case sibling
    /// Its host is the same but for dots.
    case dot
}

extension PinningRule {
    /// What tells a rule from others, for messages.
    public struct Identity: Sendable, Hashable {
        /// The host.
        public let host: ServerName
        /// Where the rule stands in a file.
        public let location: PolicyLocation?
    }

    var identity: Identity { Identity(host: host, location: location) }
}

extension PinFailureCause {
    /// A word that stays the same across versions: `authority-changed`.
    public var identifier: String {
        switch self {
        case .clockBehind: "clock-behind"
        case .clockAhead: "clock-ahead"
        case .inspected: "inspected"
        case .issuerMissing: "issuer-missing"
        case .wrongPosition: "wrong-position"
        case .wrongBytes: "wrong-bytes"
        case .offPath: "off-path"
        case .authorityChanged: "authority-changed"
        case .intermediateChanged: "intermediate-changed"
        case .leafRekeyed: "leaf-rekeyed"
        case .ruleEnded: "rule-ended"
        case .denied: "denied"
        case .hostMissed: "host-missed"
        case .onlyBackup: "only-backup"
        }
    }

    /// How to find out whether a served key is the server's own: a connection shows the key of whoever intercepts it.
    package static let confirmation =
        "confirm it on the server itself, where pinctl hash of the certificate file prints the served leaf pin"

    /// What to do about it, in one line. What leads towards a served key begins with how to confirm that key.
    public var remedy: String {
        switch self {
        case .clockBehind, .clockAhead: "set the clock, and look at who serves the time"
        case .inspected:
            "if that CA is yours (compare its certificate with the one that its operator gave you), trust its root for this "
                + "host with --ca-file or \"anchors\", which pinctl init --ca-file writes; if not, do not pin that key, as "
                + "the connection may be intercepted"
        case .issuerMissing: "have the server send its intermediates"
        case .wrongPosition(let pin, let role):
            Self.confirmed(
                "give the pin the role \(role.rawValue), or pin the key that has the role \(pin.role.rawValue)")
        case .wrongBytes(let pin, let input, let certificate):
            if case .certificate = pin.object, input == .publicKey {
                Self.confirmed(
                    "write \(certificate.spkiFingerprint), or \(certificate.fingerprint) for the certificate")
            } else {
                Self.confirmed("write \(certificate.spkiFingerprint)")
            }
        case .offPath(_, _, let finding?) where finding.rule == .expired:
            Self.confirmed("pin the CA that replaced the expired one, and ship that pin before the next CA expires")
        case .offPath:
            Self.confirmed("pin a key that is on the verified path, as certificates that are only sent do not count")
        case .authorityChanged(_, let anchor):
            Self.confirmed(
                "have the certificate issued by a pinned CA or for a backup key, then ship the pin of its new root, "
                    + "\(anchor.spkiFingerprint)")
        case .intermediateChanged:
            Self.confirmed("pin the root and a backup key that you keep, as CAs change intermediates without notice")
        case .leafRekeyed:
            Self.confirmed(
                "serve a pinned key or a backup again, renew with the same key from then on, and ship the pin of the new key "
                    + "with the next version")
        case .ruleEnded: "ship a policy with a later end"
        case .denied: "have the certificate issued for another key, or by another authority"
        case .hostMissed(_, .port, _): "add the port to the rule, or leave its ports out to reach all"
        case .hostMissed(_, .parent, _): "add \"subdomains\": true to it, or a rule for the host"
        case .hostMissed(let host, .dot, _): "write \(host) there, if that is what was meant"
        case .hostMissed: "add a rule for the host"
        case .onlyBackup: "make the next backup key now, and ship its pin"
        }
    }

    private static func confirmed(_ action: String) -> String {
        "if this change is yours (\(confirmation)), \(action); if not, pin nothing that is served here"
    }

    /// What is the case, in one line.
    public var finding: String {
        switch self {
        case .clockBehind(let first): "the clock is behind: the server's certificates begin on \(first.notBefore.day)"
        case .clockAhead(let last):
            "the clock is ahead: all of the server's certificates were over on \(last.notAfter.day)"
        case .inspected(let name):
            "the chain leads to \(name), which is no root that was expected: an authority of your own, or somebody between who "
                + "signs certificates himself"
        case .issuerMissing(let issuer): "the server sends no certificate of its issuer, \(issuer)"
        case .wrongPosition(let pin, let role):
            "the key of \(pin.title) is there as \(role.rawValue), and the pin counts as \(pin.role.rawValue) only"
        case .wrongBytes(let pin, let input, let certificate):
            "\(pin.title) is the SHA-256 of \(input) of \(certificate.subject)\(Self.wanted(by: pin))"
        case .offPath(let pin, let certificate, let finding):
            "the key of \(pin.title) is served in \(certificate.subject), but on no valid path"
                + (finding.map { " (\($0))" } ?? "")
        case .authorityChanged(let pins, let anchor):
            "the authority changed: " + (Self.former(pins).map { "\($0) -> " } ?? "the chain ends at ")
                + "\(anchor.subject)"
        case .intermediateChanged(let issuer): "the intermediate changed: \(issuer.subject) issues now"
        case .leafRekeyed(let leaf): "the server has another key, in a certificate since \(leaf.notBefore.day)"
        case .ruleEnded(let rule, let expiry):
            "the rule for \(rule.host)\(rule.location.map { " at \($0)" } ?? "") ended at \(expiry.end.rfc3339), and "
                + (expiry.action == .fail ? "refuses every server since" : "its pins refuse nobody since")
        case .denied(let pin): "the policy denies \(pin.title)"
        case .hostMissed(let host, let miss, let rule):
            "no rule reaches \(host): the one for \(rule.host)\(rule.location.map { " at \($0)" } ?? "") \(miss.words)"
        case .onlyBackup(let pins):
            "only backups match: \(pins.map(\.title).joined(separator: ", "))"
        }
    }

    /// What people called the pins that are gone; nil where they called them nothing.
    private static func former(_ pins: [Pin]) -> String? {
        let titles = pins.compactMap { $0.name ?? $0.note }
        return titles.isEmpty ? nil : titles.joined(separator: ", ")
    }

    private static func wanted(by pin: Pin) -> String {
        if case .certificate = pin.object { ", not of the whole certificate" } else { ", not of its key" }
    }
}

extension PinFailureCause: CustomStringConvertible {
    /// What is the case, then what to do, in one line that is safe to print.
    public var description: String { visibleText("\(finding): \(remedy)") }
}

extension HostMiss {
    fileprivate var words: String {
        switch self {
        case .port: "reaches other ports"
        case .parent: "does not include subdomains"
        case .child: "is for a name below it"
        case .sibling: "is for its neighbour"
        case .dot: "differs by a dot"
        }
    }
}

extension Pin {
    /// Its name, or itself.
    var title: String { name ?? object.description }
}
