import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The causes of a result and what to do.
///
/// For a served chain, the advice warns of interception. For a file that was checked before it is served, there is no
/// connection, and its owner can still decide not to deploy it.
extension CheckResult {
    /// Whether the advice is about a file instead of a server. The chain that `verify` reads may come from a server,
    /// and only what it lacks is about its file.
    private var isOfFile: Bool { verdict.distrust != nil ? source == .file : file != nil }

    /// The causes, each with its remedy.
    var advice: [ReportCause] {
        causes.map { cause in
            if cause.concernsRoots, let anchored = anchoredRemedy(of: cause) {
                return ReportCause(
                    identifier: cause.identifier, finding: isOfFile ? cause.fileFinding : cause.finding,
                    remedy: anchored)
            }
            return isOfFile
                ? ReportCause(identifier: cause.identifier, finding: cause.fileFinding, remedy: cause.fileRemedy)
                : ReportCause(cause)
        }
    }

    /// Returns the remedy for a chain that isn't trusted under a rule with anchors of its own, or `nil` for other
    /// rules. Released apps keep these anchors, and a flag with roots doesn't apply to them.
    private func anchoredRemedy(of cause: PinFailureCause) -> String? {
        guard let rule, rule.anchors != nil, verdict.distrust != nil else { return nil }
        let place = rule.location.map { "the rule at \($0)" } ?? "the rule"
        let chain = isOfFile ? "use a chain that leads" : "serve a chain that leads"
        var steps = [
            "\(chain) to one of the anchors of \(place), because released apps trust only these, and "
                + "\(Flag.caFile.dashed) doesn't change them"
        ]
        if case .issuerMissing = cause {
            let completion = isOfFile ? ChainOrigin.file.completion : PinFailureCause.sendIntermediates
            steps.insert("if it is an intermediate, \(completion)", at: 0)
        }
        let doubt = isOfFile ? "" : "; if that CA isn't yours, the connection may be intercepted"
        return steps.joined(separator: "; otherwise, ") + doubt
    }

    /// The remedy for the verdict on the chain, which doesn't depend on the cause, or `nil` for a good verdict.
    var remedy: String? {
        let row = (verdict.also ?? word).row
        guard let renewal = verdict.distrust?.renewal(under: rule) else {
            return isOfFile ? row.fileRemedy : row.remedy
        }
        return isOfFile ? renewal : "\(renewal), and have the server load it"
    }

    /// The remedy for the files of a chain, if the verdict is about both.
    var filesRemedy: String? { verdict.also == nil ? nil : word.row.fileRemedy }

    /// The remedy in a few words, which refer to the explanation of the first failure for the same cause.
    var shortRemedy: String {
        if let filesRemedy { return filesRemedy }
        guard let cause = causes.first else {
            guard !isOfFile, let remedy = word.row.shortRemedy else { return failureRemedy }
            return remedy + Self.condition
        }
        if cause.concernsRoots, let anchored = anchoredRemedy(of: cause) { return anchored }
        return isOfFile ? cause.fileRemedy : cause.shortAction + (cause.explainsMismatch ? Self.condition : "")
    }

    private static let condition = ", if the served key is yours (see above)"

    /// Returns how a pin relates to the path, or to the key if there is no path.
    func standing(of pin: Pin) -> String {
        if let match = verdict.matches.first(where: { $0.pin == pin }) { return "matches as \(match.role.rawValue)" }
        if let key = verdict.key, pin.fingerprint == .publicKey(key.fingerprint) {
            return key.pins.contains(pin) ? "is the key" : "is the key, in another role"
        }
        guard let mismatch = verdict.mismatch else { return isOfFile ? "not in the file" : "not served" }
        // The most confusing mismatch is a pinned key that is served, but not at the position where its pin counts.
        let path = mismatch.path.certificates
        func holdsPin(_ certificate: X509Certificate) -> Bool {
            mismatch.rule.pins.fingerprints(of: certificate).contains(pin.fingerprint)
        }
        guard let place = path.firstIndex(where: holdsPin) else {
            if presented.contains(where: holdsPin) { return "not on the path" }
            // The server has another chain, with which the pin may be served.
            return isOfFile ? "not in the file" : word == .keyMismatch ? "not in this chain" : "not served"
        }
        return "\(isOfFile ? "on the path" : "served") as \(PinRole(index: place, of: path.count).rawValue)"
    }
}

extension ReportCause {
    /// The cause for a served chain.
    init(_ cause: PinFailureCause) {
        self.init(identifier: cause.identifier, finding: cause.finding, remedy: cause.remedy)
    }
}

extension PinFailureCause {
    /// Whether the cause is that no path ends at a trusted root.
    fileprivate var concernsRoots: Bool {
        switch self {
        case .inspected, .issuerMissing, .selfSigned: true
        default: false
        }
    }

    /// The diagnosis for a file, in one line.
    fileprivate var fileFinding: String {
        switch self {
        case .clockBehind(let first):
            "the clock is probably behind, because the certificates are not valid before \(first.notBefore.day)"
        case .clockAhead(let last):
            "the clock is probably ahead, because all of the certificates expired by \(last.notAfter.day)"
        case .inspected(let name): "the chain leads to \(name), which isn't an expected root"
        case .issuerMissing(let issuer):
            "the chain lacks the certificate of \(issuer), which isn't in the file and isn't a trusted root"
        case .selfSigned(let leaf): "the certificate, \(leaf.subject), is self-signed and isn't an anchor"
        case .defaultCertificate(let leaf, let product):
            "the file contains \(product.map { "the default certificate of \($0)" } ?? "a self-signed certificate"), "
                + "\(leaf.subject), which isn't for this hostname"
        case .leafRekeyed: "the certificate has a key that isn't pinned"
        case .leafReplaced: "the certificate isn't the pinned one"
        default: finding
        }
    }

    /// The remedy for a file, in one line. The owner of the file needs no confirmation of its keys.
    fileprivate var fileRemedy: String {
        switch self {
        case .inspected:
            "if that CA is yours (compare its certificate with the one that its operator gave you), trust its root "
                + "for this host with --ca-file or \"anchors\", which pinctl init --ca-file writes; if not, have the "
                + "certificate issued by another CA"
        case .issuerMissing:
            Self.remedy(
                completingChain: ChainOrigin.file.completion, orTrusting: "trust it with --ca-file or \"anchors\"")
        case .selfSigned:
            "don't deploy it unless clients trust it with --ca-file or \"anchors\": have the certificate issued by a CA"
        case .defaultCertificate: "don't deploy it: have a certificate issued for this hostname"
        case .noKeyServed:
            "don't deploy it: use a pinned or backup key, or ship the pin of this one before you serve it"
        case .offPath(_, _, let finding) where finding?.rule != .expired:
            "pin a key that is on the verified path, because other certificates in the file don't count"
        case .authorityChanged(_, let anchor):
            "don't deploy it: have the certificate issued by a pinned CA or for a backup key, or ship the pin of its "
                + "root, \(anchor.spkiFingerprint), before you serve it"
        case .intermediateChanged:
            "don't deploy it until you have shipped the pin of its root or of its key, because CAs change "
                + "intermediates without notice"
        case .leafRekeyed:
            "don't deploy it: have it reissued for a pinned or backup key, or ship its pin before you serve it"
        case .leafReplaced: "don't deploy it before you have shipped the pin of its key"
        default: action
        }
    }
}

extension PinFailureCause {
    /// The step in a few words, without keys.
    fileprivate var shortAction: String {
        switch self {
        case .inspected: "trust its root with --ca-file or \"anchors\" if it is yours, or check from another network"
        case .issuerMissing: "\(Self.sendIntermediates), or trust its issuer if it is yours"
        case .selfSigned: "trust it with --ca-file or \"anchors\" if it is yours, or check from another network"
        case .authorityChanged: "have the certificate issued by a pinned CA or for a backup key"
        case .intermediateChanged, .noKeyServed: "serve a chain with a pinned key again"
        case .leafRekeyed: "serve a pinned or backup key again"
        case .leafReplaced: "serve the pinned certificate again"
        case .wrongBytes: "correct the pin"
        case .wrongPosition: "correct the role of the pin"
        case .offPath: "pin a key that is on the verified path"
        default: action
        }
    }
}

/// The remedies that a run has printed. They aren't repeated in full for each host.
struct PrintedRemedies {
    private static let mark = "  do: "

    /// The lines with the subjects that they were first printed for.
    private var lines: [String: String] = [:]
    private var hasConfirmation = false

    /// Returns the lines of a subject's explanation, in which a remedy that was printed before is only referred to.
    mutating func shortened(_ explanation: [String], for subject: String) -> [String] {
        explanation.map { line in
            guard line.hasPrefix(Self.mark) else { return line }
            if let first = lines[line] { return Self.mark + "the same as for \(first)" }
            lines[line] = subject
            guard line.contains(PinFailureCause.confirmation) else { return line }
            defer { hasConfirmation = true }
            guard hasConfirmation else { return line }
            return line.replacing(PinFailureCause.confirmation, with: "confirm it as above")
                .replacing(PinFailureCause.otherwise, with: "; if not, don't pin any served key")
        }
    }
}
