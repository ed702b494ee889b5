public import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The cause of a pin failure, or of pins that didn't have their intended effect.
@nonexhaustive
public enum PinFailureCause: Sendable, Hashable {
    /// The client's clock is behind: it shows a time before this certificate, the last to become valid.
    case clockBehind(X509Certificate)
    /// The client's clock is ahead: all of the server's certificates have expired. This one expires last.
    case clockAhead(X509Certificate)
    /// The connection is intercepted: a TLS-intercepting proxy, an antivirus program or an attacker issues its own
    /// certificates. The chain leads to this name, which isn't one of the system roots.
    case inspected(by: X509Name)
    /// The server doesn't send the certificate of its issuer.
    case issuerMissing(X509Name)
    /// The server's only certificate is self-signed and not an anchor.
    case selfSigned(X509Certificate)
    /// The server presents a default certificate, since it has none for the hostname: a self-signed one for other
    /// names, or the one that this product makes.
    case defaultCertificate(X509Certificate, of: String?)
    /// The pinned key is on the verified path, but in this role instead of the pin's.
    case wrongPosition(Pin, PinRole)
    /// The pin is a digest of the wrong bytes of this certificate.
    case wrongBytes(Pin, DigestInput, of: X509Certificate)
    /// The pinned key is in this certificate, which the server sent or which is an anchor, but not on a valid path. The
    /// finding is the reason, if a path with it was tried.
    case offPath(Pin, X509Certificate, TrustFinding?)
    /// The server's certificate was issued under this anchor, not under the CAs of these pins.
    case authorityChanged(from: [Pin], to: X509Certificate)
    /// Only intermediates are pinned, and the certificate now comes from this one.
    case intermediateChanged(to: X509Certificate)
    /// The server has a new key, which isn't pinned. This is its certificate.
    case leafRekeyed(X509Certificate)
    /// The server has another certificate than the pinned one, perhaps with the same key. This is the new one.
    case leafReplaced(X509Certificate)
    /// No certificate of the path, which ends at this anchor, has a pinned key. The pins have no roles, so it isn't
    /// known which certificate changed.
    case noKeyServed(X509Certificate)
    /// The rule has expired.
    case ruleEnded(PinningRule.Identity, PinningExpiry)
    /// The server's path contains a denied pin.
    case denied(Pin)
    /// No rule covers the host. This is the rule that was probably intended.
    case hostMissed(ServerName, HostMiss, PinningRule.Identity)
    /// Only backup pins match: the key that was in use is gone.
    case onlyBackup([Pin])
}

/// The way in which a rule misses a host.
@nonexhaustive
public enum HostMiss: String, Sendable, Hashable {
    /// The rule covers other ports.
    case port
    /// The rule covers a parent domain, but not the names below it.
    case parent
    /// The rule covers a name below the host.
    case child
    /// The rule covers another name below the same parent.
    case sibling
    /// The rule's host differs only in its dots.
    case dot
}

extension PinningRule {
    /// The host and location that identify a rule in messages.
    public struct Identity: Sendable, Hashable {
        /// The host of the rule.
        public let host: ServerName
        /// The location of the rule in a file, if it has one.
        public let location: PolicyLocation?
    }

    var identity: Identity { Identity(host: host, location: location) }
}

extension PinFailureCause {
    /// An identifier that stays the same across versions, such as `authority-changed`.
    public var identifier: String {
        switch self {
        case .clockBehind: "clock-behind"
        case .clockAhead: "clock-ahead"
        case .inspected: "inspected"
        case .issuerMissing: "issuer-missing"
        case .selfSigned: "self-signed"
        case .defaultCertificate: "default-certificate"
        case .wrongPosition: "wrong-position"
        case .wrongBytes: "wrong-bytes"
        case .offPath: "off-path"
        case .authorityChanged: "authority-changed"
        case .intermediateChanged: "intermediate-changed"
        case .leafRekeyed: "leaf-rekeyed"
        case .leafReplaced: "leaf-replaced"
        case .noKeyServed: "no-key-served"
        case .ruleEnded: "rule-ended"
        case .denied: "denied"
        case .hostMissed: "host-missed"
        case .onlyBackup: "only-backup"
        }
    }

    /// A way to confirm that a served key is the server's own. An intercepted connection shows the interceptor's key.
    package static let confirmation =
        "confirm on the server itself that pinctl hash of its certificate file prints the served leaf pin"

    /// The remedy, in one line. If it involves a served key, it begins with how to confirm that key.
    public var remedy: String { explainsMismatch ? Self.confirmed(action) : action }

    /// The step that completes a chain that lacks the certificate of an issuer.
    package static let sendIntermediates = "configure the server to send its intermediate certificates"

    /// Returns the remedy for a chain that lacks the certificate of an issuer: the step that completes it, or the way
    /// to trust that issuer.
    package static func remedy(completingChain completion: String, orTrusting way: String) -> String {
        "\(completion), or, if that issuer is a private root of yours, \(way)"
    }

    /// The step that stops a mismatch which a new key at the server has caused.
    package static let serveAgain = "serve a pinned or backup key again, because released apps keep their pins"

    /// The step that the remedy leads to. Only the owner of the keys may take it without confirming them.
    package var action: String {
        switch self {
        case .clockBehind, .clockAhead: "set the clock, and check the NTP configuration"
        case .inspected:
            "if that CA is yours (compare its certificate with the one that its operator gave you), trust its root "
                + "for this host with --ca-file or \"anchors\", which pinctl init --ca-file writes; if not, don't pin "
                + "its key, because the connection may be intercepted"
        case .issuerMissing:
            Self.remedy(
                completingChain: Self.sendIntermediates, orTrusting: "trust it with --ca-file or \"anchors\"")
                + "; if it is neither, don't trust it, because the connection may be intercepted"
        case .selfSigned:
            "if that certificate is yours (compare it with the file on the server), trust it for this host with "
                + "--ca-file or \"anchors\"; if not, don't pin its key, because the connection may be intercepted"
        case .defaultCertificate:
            "configure the certificate for this hostname on the server, and have the server load it"
        case .wrongPosition(let pin, let role):
            "give the pin the role \(role.rawValue), or pin the key that has the role \(pin.role.rawValue)"
        case .wrongBytes(let pin, let input, let certificate):
            if case .certificate = pin.fingerprint, input == .publicKey {
                "write \(certificate.spkiFingerprint), or \(certificate.fingerprint) for the certificate"
            } else {
                "write \(certificate.spkiFingerprint)"
            }
        case .offPath(_, _, let finding?) where finding.rule == .expired:
            "pin the CA that replaced the expired one, and ship that pin before the next CA expires"
        case .offPath:
            "pin a key that is on the verified path, because certificates that are only sent don't count"
        case .authorityChanged(_, let anchor):
            "have the certificate issued by a pinned CA or for a backup key, then ship the pin of its new root, "
                + "\(anchor.spkiFingerprint)"
        case .intermediateChanged:
            "serve a chain with the pinned key again, because released apps keep their pins, and for the next apps pin "
                + "the root and a backup key that you keep, because CAs change intermediates without notice"
        case .noKeyServed: "serve a chain with a pinned key again, because released apps keep their pins"
        case .leafRekeyed:
            "\(Self.serveAgain), and keep that key when you renew"
        case .leafReplaced:
            "serve the pinned certificate again, because released apps keep their pins, and for the next apps pin its "
                + "key, because a renewed certificate never matches"
        case .ruleEnded: "ship a policy with a later expiry"
        case .denied(let pin) where pin.kind == .certificate:
            "serve another certificate, or a chain without that one"
        case .denied: "have the certificate issued for another key, or by another CA"
        case .hostMissed(_, .port, _): "add the port to the rule, or omit its ports to cover all"
        case .hostMissed(_, .parent, _): "add \"subdomains\": true to that rule, or a rule for the host"
        case .hostMissed(let host, .dot, _): "write \(host) in that rule if that host is meant"
        case .hostMissed: "add a rule for the host"
        case .onlyBackup: "create the next backup key now, and ship its pin"
        }
    }

    /// Whether the cause is a change at the server or a mistake in a pin. Its remedy replaces the one for every
    /// mismatch, and also warns of interception.
    package var explainsMismatch: Bool {
        switch self {
        case .wrongPosition, .wrongBytes, .offPath, .authorityChanged, .intermediateChanged, .leafRekeyed,
            .leafReplaced, .noKeyServed:
            true
        case .clockBehind, .clockAhead, .inspected, .issuerMissing, .selfSigned, .defaultCertificate, .ruleEnded,
            .denied, .hostMissed, .onlyBackup:
            false
        }
    }

    /// Returns the remedy for a change at the server, which may be an interception instead.
    package static func confirmed(_ action: String) -> String {
        "if this change is yours (\(confirmation)), \(action)\(otherwise)"
    }

    /// The remedy for a served key that isn't the server's own.
    package static let otherwise = "; if not, the connection may be intercepted, so don't pin any served key"

    /// The diagnosis, in one line.
    public var finding: String {
        switch self {
        case .clockBehind(let first):
            "the clock is probably behind, because the server's certificates are not valid before "
                + "\(first.notBefore.day)"
        case .clockAhead(let last):
            "the clock is probably ahead, because all of the server's certificates expired by \(last.notAfter.day)"
        case .inspected(let name):
            "the chain leads to \(name), which isn't an expected root, but a private CA or a TLS-intercepting proxy"
        case .issuerMissing(let issuer):
            "the chain lacks the certificate of \(issuer), which the server doesn't send and which isn't a trusted root"
        case .selfSigned(let leaf): "the server's certificate, \(leaf.subject), is self-signed and isn't an anchor"
        case .defaultCertificate(let leaf, let product):
            "the server presents \(product.map { "the default certificate of \($0)" } ?? "a self-signed certificate"), "
                + "\(leaf.subject), so it has none for this hostname"
        case .wrongPosition(let pin, let role):
            "\(pin.titleWithKind) is on the path as \(role.rawValue), but the pin counts only as "
                + "\(pin.role.rawValue)"
        case .wrongBytes(let pin, .mistyped, let certificate):
            "\(pin.title) differs from the pin of \(certificate.subject) in a digit or a few, so it was mistyped"
        case .wrongBytes(let pin, let input, let certificate):
            "\(pin.title) is the SHA-256 of \(input) of \(certificate.subject)\(Self.wanted(by: pin))"
        case .offPath(let pin, let certificate, let finding):
            "\(pin.titleWithKind)\(pin.kind == .certificate ? "," : " is in") \(certificate.subject)"
                + (pin.kind == .certificate ? ", isn't on any valid path" : ", which isn't on any valid path")
                + (finding.map { " (\($0))" } ?? "")
        case .authorityChanged(let pins, let anchor):
            Self.former(pins).map { "the CA changed from \($0) to \(anchor.subject)" }
                ?? "the CA changed, and the chain now ends at \(anchor.subject)"
        case .intermediateChanged(let issuer): "the intermediate CA changed to \(issuer.subject)"
        case .leafRekeyed(let leaf): "the server has a new key, in a certificate valid since \(leaf.notBefore.day)"
        case .leafReplaced(let leaf):
            "the server has another certificate than the pinned one, valid since \(leaf.notBefore.day)"
        case .noKeyServed(let anchor):
            "no certificate of the chain, which ends at \(anchor.subject), has a pinned key"
        case .ruleEnded(let rule, let expiry):
            "the rule for \(rule.host)\(rule.location.map { " at \($0)" } ?? "") expired at \(expiry.end.rfc3339), "
                + (expiry.action == .fail ? "so it rejects every server" : "so its pins no longer reject a server")
        case .denied(let pin): "the policy denies \(pin.titleWithKind)"
        case .hostMissed(let host, let miss, let rule):
            (miss == .port ? "the rule" : "no rule covers \(host), and the nearest one,")
                + " for \(rule.host)\(rule.location.map { " at \($0)" } ?? "")"
                + (miss == .port ? " " : ", ") + miss.words
        case .onlyBackup(let pins):
            "only backup pins match (\(pins.map(\.title).joined(separator: ", ")))"
        }
    }

    /// Returns the names or notes of the pins that are gone, or nil if they have none.
    private static func former(_ pins: [Pin]) -> String? {
        let titles = pins.compactMap { $0.name ?? $0.note }
        return titles.isEmpty ? nil : titles.joined(separator: ", ")
    }

    private static func wanted(by pin: Pin) -> String {
        if case .certificate = pin.fingerprint { ", not of the whole certificate" } else { ", not of its key" }
    }
}

extension PinFailureCause: CustomStringConvertible {
    /// The diagnosis and the remedy, in one line that is safe to print.
    public var description: String { visibleText("\(finding): \(remedy)") }
}

extension HostMiss {
    fileprivate var words: String {
        switch self {
        case .port: "covers other ports"
        case .parent: "doesn't include subdomains"
        case .child: "is for a name below it"
        case .sibling: "is for a neighboring name"
        case .dot: "differs by a dot"
        }
    }
}

extension Pin {
    /// The pin's name, or the pin itself.
    var title: String { name ?? fingerprint.description }

    /// The title after what the pin names, such as `the key of api-2026` or `the certificate cert-sha256/…`.
    package var titleWithKind: String { (kind == .certificate ? "the certificate " : "the key of ") + title }
}
