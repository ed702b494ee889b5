import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The verdict on one server, one chain or one key: its word, what it is about, and the facts behind it.
///
/// Text, JSON and reports are functions of these properties, and none of them asks which verdict it is. A new verdict
/// is a row of ``VerdictWord`` and a function that creates it.
struct Verdict: Sendable {
    private(set) var word: VerdictWord
    /// The verdict on the chain alone, if it isn't good and the word is about its files.
    private(set) var also: VerdictWord?
    /// The verified path, if there is one.
    var path: VerifiedPath?
    /// The rule that decided, if there is one.
    var rule: PinningRule?
    /// The finding in one line, with its remedy if that follows it.
    private(set) var text: ProblemText
    /// The finding without the position of the rule. The default is the word.
    var shortFinding: String
    /// The reason in JSON. The default is the finding.
    var reason: String
    /// The finding for all hosts with the same cause, or `nil` if it is the short one.
    var groupTitle: String?
    /// The remedy if it depends on more than the word.
    var remedy: String?
    /// The details that distinguish failures with the same word and causes.
    var operands: [String] = []
    /// The details that distinguish them in baselines, or `nil` if they are the same.
    var baselineOperands: [String]?
    /// The members of the JSON element that only this verdict has.
    var members: [(String, JSON)] = []
    /// The pins that match certificates on the path.
    var matches: [PinMatch] = []
    /// The mismatch, if the pins don't match.
    var mismatch: PinMismatch?
    /// The reason why the chain isn't trusted.
    var distrust: TrustFinding?
    /// The reason why there was no chain.
    var failure: ProbeFailure?
    /// The key, if one without a chain was judged and no rule denies it, and the pins that it matches.
    var key: (fingerprint: SPKIFingerprint, pins: [Pin])?

    fileprivate init(
        _ word: VerdictWord, _ problem: String, remedy: String? = nil, short: String? = nil,
        on path: VerifiedPath? = nil, by rule: PinningRule? = nil, operands: [String] = []
    ) {
        self.word = word
        text = ProblemText(problem, remedy: remedy)
        reason = "\(text)"
        shortFinding = short ?? word.rawValue
        self.path = path
        self.rule = rule
        self.operands = operands
    }

    /// The severity, without the warnings about a good verdict.
    var severity: Severity { word.row.severity }

    var isGood: Bool { severity == .ok }

    /// Whether a pin of the rule matches a certificate on the path, or the key if there is no path.
    func isMatched(_ pin: Pin) -> Bool {
        matches.contains { $0.pin == pin } || key?.pins.contains(pin) == true
    }
}

// MARK: - Chains

extension Verdict {
    /// Evaluates a presented chain: first its trust, then its pins. `flag` is the one that gives roots.
    init(
        on trust: ServerTrust, port: UInt16, expecting pins: PinSource, time: Date, from origin: ChainOrigin,
        trustedBy flag: Flag = .caFile
    ) {
        func untrusted(_ finding: TrustFinding) -> Verdict {
            .untrusted(
                finding,
                finding.text(from: origin, trustedBy: flag, under: pins.rule(for: trust.name, port: port)))
        }
        if let file = pins.file(unlisting: trust.name, port: port) {
            self = .unlisted(by: file.path)
            return
        }
        guard let policy = pins.policy(for: trust.name) else {
            do throws(TrustFinding) {
                self = .trusted(try trust.evaluate(at: time), nil)
            } catch {
                self = untrusted(error)
            }
            return
        }
        do throws(PinningError) {
            switch try policy.evaluate(trust, port: Int(port), at: time) {
            case .matched(let path, let matches, let rule): self = .matched(path, matches, rule)
            // mutant check-mismatch: .trusted(mismatch.path, nil) by CheckTests
            case .forgiven(let mismatch): self = .mismatch(mismatch)
            case .bypassed(let mismatch): self = .bypassed(mismatch)
            case .unpinned(let path, let rule): self = .trusted(path, rule)
            // mutant check-expired: .trusted(path, nil) by CheckTests VerifyTests PlanAgreementTests
            case .stopped(let path, let rule): self = .expired(rule, path, rule.stop)
            }
        } catch {
            switch error {
            case .untrusted(let finding): self = untrusted(finding)
            case .mismatch(let mismatch): self = .mismatch(mismatch)
            case .denied(let match, let path, _): self = .denied(match.pin, path, error.text)
            case .expired(let rule, let path, _): self = .expired(rule, path, error.text)
            case .unlisted: self = .unlisted(by: "the policy")
            }
        }
    }

    /// The chain is trusted, and these pins match.
    private static func matched(_ path: VerifiedPath, _ matches: [PinMatch], _ rule: PinningRule) -> Verdict {
        let isOnlyBackup = matches.allSatisfy(\.pin.isBackup)
        let names = matches.map { "\($0.pin.title) (\($0.role.rawValue))" }.joined(separator: ", ")
        var verdict = Verdict(
            isOnlyBackup ? .okBackupOnly : .ok,
            "matched \(names)" + (isOnlyBackup ? ", a backup only: ship the pin of the next backup key" : ""),
            on: path, by: rule)
        verdict.matches = matches
        return verdict
    }

    /// The chain is trusted, and there are no pins to check. If there is a rule, its pins are off.
    private static func trusted(_ path: VerifiedPath, _ rule: PinningRule?) -> Verdict {
        guard let rule else { return Verdict(.ok, "trusted", on: path) }
        return Verdict(.okPinsOff, "trusted; pinning is off for this rule (\(rule.origin))", on: path, by: rule)
    }

    /// The chain is trusted, but the pins don't match. This includes rules in report mode.
    static func mismatch(_ mismatch: PinMismatch) -> Verdict {
        Verdict(.pinMismatch, "pin mismatch: \(mismatch.finding)", short: "pin mismatch: \(mismatch.finding)", mismatch)
    }

    /// The pins don't match this key of the server, but they match another of its keys.
    static func keyMismatch(_ mismatch: PinMismatch) -> Verdict {
        Verdict(
            .keyMismatch, "key mismatch: another key of the server matches, but for this key \(mismatch.finding)",
            short: "key mismatch: only another key of the server matches", mismatch)
    }

    /// The pins don't match, but clients accept the server because its path ends outside of the system's anchors.
    static func bypassed(_ mismatch: PinMismatch) -> Verdict {
        Verdict(
            .bypassed,
            "pins bypassed: \(mismatch.finding), but clients connect because the root isn't one of the system roots",
            short: "pins bypassed: \(mismatch.finding)", mismatch)
    }

    private init(_ word: VerdictWord, _ finding: String, short: String, _ mismatch: PinMismatch) {
        let isForgiven = mismatch.rule.mode == .report || mismatch.expiry != nil
        self.init(
            word,
            "\(finding) (\(mismatch.rule.origin))"
                + (isForgiven ? "; mode report: clients report it and connect" : ""), short: short,
            on: mismatch.path, by: mismatch.rule, operands: [mismatch.path.anchor.spkiFingerprint.description])
        matches = mismatch.matches
        self.mismatch = mismatch
    }

    /// The chain is trusted, but contains a denied key or certificate, or the key is one.
    private static func denied(_ pin: Pin, _ path: VerifiedPath?, _ text: ProblemText) -> Verdict {
        var verdict = Verdict(
            .denied, text.problem, remedy: text.remedy, on: path, operands: ["\(pin.fingerprint)"])
        verdict.members = [("denied", .string("\(pin.fingerprint)"))]
        return verdict
    }

    /// The chain is trusted, but its rule has expired, so clients reject the server or no longer pin.
    private static func expired(_ rule: PinningRule, _ path: VerifiedPath?, _ text: ProblemText) -> Verdict {
        Verdict(
            .expired, text.problem, remedy: text.remedy, on: path, by: rule, operands: [rule.host.description])
    }

    /// The chain isn't trusted. Pins weren't checked.
    private static func untrusted(_ finding: TrustFinding, _ text: ProblemText) -> Verdict {
        let word: VerdictWord =
            switch finding.rule {
            case .nameMismatch: .nameMismatch
            case .expired: .chainExpired
            default: .untrusted
            }
        var verdict = Verdict(
            word, "\(finding.label): \(text.problem)", remedy: text.remedy, short: "not trusted: \(text)",
            operands: [finding.rule.rawValue, finding.groupOperand])
        verdict.reason = "\(text)"
        verdict.groupTitle = finding.groupTitle(text)
        // The remedies of the other words say more than the finding.
        if word == .untrusted || word == .chainExpired && finding.depth != 0 { verdict.remedy = text.remedy }
        verdict.members = finding.members
        verdict.distrust = finding
        return verdict
    }

    /// There was no chain to evaluate.
    static func unreachable(_ failure: ProbeFailure) -> Verdict {
        // A remedy that is for this host alone is repeated.
        let isShared = failure.remedy == failure.sharedRemedy
        var verdict = Verdict(
            .unreachable, "unreachable: \(isShared ? failure.located(failure.problem) : "\(failure)")",
            remedy: isShared ? failure.remedy : nil, operands: [failure.groupTitle, failure.sharedRemedy])
        verdict.reason = "\(failure)"
        verdict.groupTitle = "unreachable: \(failure.groupTitle)"
        verdict.remedy = failure.remedy
        // The reason often changes.
        verdict.baselineOperands = []
        verdict.members = [("unreachable", .string(failure.reasonWord))]
        verdict.failure = failure
        return verdict
    }

    /// The policy has no rule for the server. Nothing else was checked.
    static func unlisted(by policy: String) -> Verdict {
        // mutant check-unlisted: .ok for `.notCovered` by ScriptTests
        var verdict = Verdict(.notCovered, "not covered: \(policy) has no rule for it", remedy: "add one")
        verdict.groupTitle = "not covered: the policy has no rule for them"
        verdict.members = [("policy", .string(policy))]
        return verdict
    }
}

// MARK: - Chains that the policy accepts

extension Verdict {
    /// Files exported from the policy reject the chain.
    func refused(by refusals: [ExportRefusal]) -> Verdict {
        let files = refusals.map(\.finding).joined(separator: "; ")
        return Verdict(
            .exportMismatch, "rejected by \(files), but accepted by the policy\(position)",
            short: "rejected by \(files)", on: path, by: rule, operands: refusals.map(\.finding))
    }

    /// The server uses another key exchange group than the required one, or one that isn't known.
    func lacking(_ group: RequiredGroup) -> Verdict {
        var verdict = Verdict(
            .groupMismatch, group.finding + position, short: group.finding, on: path, by: rule,
            operands: [group.name, group.used ?? group.version])
        verdict.members = [("required_group", .string(group.name))]
        return verdict
    }

    /// A server fails to start with the files of the leaf, whatever its clients do. A failure of the chain is reported
    /// too.
    func behind(_ faults: FileFaults) -> Verdict {
        guard let first = faults.all.first else { return self }
        func joined(_ parts: [String], _ own: String?) -> String {
            (parts + [isGood ? nil : own].compactMap(\.self)).joined(separator: "; ")
        }
        func joined(_ own: [String]) -> [String] {
            faults.all.flatMap(\.operands) + (isGood ? [] : [word.rawValue] + own)
        }
        var verdict = self
        // mutant files-both: text.problem by FilesInUseTests/bothFailures
        let problem = joined(faults.all.map(\.problem), text.problem)
        verdict.text = isGood ? ProblemText(problem + position, remedy: nil) : ProblemText(problem, remedy: text.remedy)
        verdict.reason = "\(verdict.text)"
        verdict.shortFinding = joined(faults.all.map(\.short), shortFinding)
        verdict.groupTitle = groupTitle.map { joined(faults.all.map(\.short), $0) }
        verdict.operands = joined(operands)
        verdict.baselineOperands = baselineOperands.map { joined($0) }
        verdict.word = first.word
        if !isGood {
            verdict.also = word
            verdict.members.append(("also", .string(word.rawValue)))
        }
        return verdict
    }

    private var position: String { rule.map { " (\($0.origin))" } ?? "" }
}

// MARK: - Files

extension Verdict {
    /// A key without a chain that matches these pins.
    static func keyMatched(_ key: SPKIFingerprint, _ pins: [Pin], _ rule: PinningRule) -> Verdict {
        let names = pins.map { "\($0.title) (\($0.role.rawValue))" }.joined(separator: ", ")
        var verdict = Verdict(.keyMatched, "key matches \(names) (\(rule.origin))", by: rule)
        verdict.key = (key, pins)
        return verdict
    }

    /// A key without a chain that matches no pin of the rule, or of any rule if none is given.
    static func keyUnmatched(_ key: SPKIFingerprint, _ rule: PinningRule?) -> Verdict {
        let miss = rule.map { "isn't one of \($0.pins.count) pins (\($0.origin))" } ?? "isn't a pin of any rule"
        var verdict = Verdict(
            .pinMismatch, "pin mismatch: \(key) \(miss)",
            short: "pin mismatch: the key isn't pinned by the rules for it", by: rule,
            operands: rule.map { [$0.host.description] } ?? [])
        verdict.key = (key, [])
        return verdict
    }

    /// A key without a chain that the rule pins, but only in these roles, in which it can't appear.
    static func keyInAnotherRole(_ key: SPKIFingerprint, _ roles: [PinRole], _ rule: PinningRule) -> Verdict {
        let isLeaf = roles.contains(.leaf)
        let remedy = "\(isLeaf ? "" : "give its CA certificate, or ")correct the role of the pin"
        var verdict = Verdict(
            .pinMismatch,
            "pin mismatch: \(key) is pinned as \(roles.map(\.rawValue).joined(separator: " and ")), not as the key of "
                + "a \(isLeaf ? "CA" : "leaf") (\(rule.origin))",
            remedy: remedy, short: "pin mismatch: the key is pinned in another role", by: rule,
            operands: [rule.host.description, "role"])
        verdict.remedy = remedy
        verdict.key = (key, [])
        return verdict
    }

    /// A key without a chain that the policy denies.
    static func keyDenied(_ pin: Pin) -> Verdict {
        denied(
            pin, nil, ProblemText("the policy denies this key, \(pin.title)", remedy: "generate another key"))
    }

    /// A key without a chain whose rule has expired.
    static func keyExpired(_ rule: PinningRule, _ expiry: PinningExpiry) -> Verdict {
        expired(
            rule, nil,
            ProblemText(
                "the rule expired at \(expiry.end.rfc3339) (\(rule.origin))",
                remedy: "ship a policy with a later expiry"))
    }

    /// No certificate in the files is valid for the rule's host. `names` are the names in the certificates.
    static func noCertificate(_ rule: PinningRule, names: [String]) -> Verdict {
        let valid = names.isEmpty ? "" : ", only for \(FirstNames(names, limit: 5))"
        var verdict = Verdict(
            .noCertificate, "no certificate in the files is valid for this host\(valid) (\(rule.origin))",
            remedy: VerdictWord.noCertificate.row.remedy,
            short: "no certificate in the files is valid for the host", by: rule)
        verdict.baselineOperands = [rule.host.description]
        verdict.members = [("names", .array(names.map { .string($0) }))]
        return verdict
    }
}

extension Pin {
    /// The name of the pin, or else the pin itself.
    var title: String { name ?? fingerprint.description }
}

extension PinningRule {
    /// The position of the rule, or `--pin`.
    var origin: String { location.map { "policy \($0)" } ?? "--pin" }
}

extension PinMismatch {
    /// The number of matching pins, and the required roles without a match.
    var finding: String {
        let count = "\(Set(matches.map(\.pin)).count) of \(rule.pins.count) pins match"
        return unmetRoles == [.any]
            ? count : "no match as \(unmetRoles.map(\.rawValue).joined(separator: " and ")), \(count)"
    }
}
