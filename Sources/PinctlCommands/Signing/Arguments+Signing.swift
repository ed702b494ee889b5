import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension Arguments {
    /// Returns the key sets of `--keys` in order of their numbers.
    func keySets() throws(UsageError) -> [PolicyKeySet] {
        var sets: [PolicyKeySet] = []
        for path in all(.keySets) {
            let bytes = try DialectInput.contents(path)
            do throws(PolicyBundleError) {
                sets.append(try PolicyKeySet(json: bytes))
            } catch {
                throw .invalidValue(.keySets, reason: "\(path): \(error)")
            }
        }
        return sets.sorted { $0.number < $1.number }
    }

    static func bundle(_ bytes: [UInt8], _ path: String) throws(UsageError) -> PolicyBundle {
        do throws(PolicyBundleError) {
            return try PolicyBundle(json: bytes)
        } catch {
            throw .unusable(["\(DialectInput.title(path)): \(error)"])
        }
    }

    /// Throws if `--output` can't be written. Checked before signing, which may take a user's touch on a token.
    func checkOutput() throws(UsageError) {
        guard let path = self[.output] else { return }
        do throws(NewFileError) {
            try checkNew(path)
        } catch {
            throw .invalidValue(.output, reason: "\(path): \(error)")
        }
    }

    /// Returns the bundle of `--after`, which programs with the first of these key sets must accept.
    private func previousBundle(_ keySets: [PolicyKeySet]) throws(UsageError) -> PolicyBundle? {
        guard let file = self[.previousBundle] else { return nil }
        let previous = try Self.bundle(try DialectInput.contents(file), file)
        try Self.requireOldest(keySets, for: previous, file)
        do throws(PolicyBundleError) {
            // mutant sign-previous: {} by ScriptTests
            _ = try previous.verifiedAtAnyTime(by: PolicyBundleTrust(keySet: keySets[0]))
        } catch {
            throw .invalidValue(.previousBundle, reason: "\(file): \(error)")
        }
        return previous
    }

    /// Throws unless a key set is known whose keys have to sign the first one in a bundle.
    private static func requireOldest(
        _ keySets: [PolicyKeySet], for bundle: PolicyBundle, _ path: String
    ) throws(UsageError) {
        // mutant sign-oldest: false for 2 by ScriptTests
        guard let first = bundle.firstKeySetNumber, keySets[0].number >= first else { return }
        throw .invalidValue(
            .keySets,
            reason: "\(path) contains key set \(first), which the keys of the set before have to sign: "
                + "give the file of key set \(first - 1) too")
    }

    /// Reports what the bundle of another signer changes, and refuses it if its key set isn't one of those that this
    /// signer gives: the owners of that set would take over.
    func review(
        _ bundle: PolicyBundle, _ path: String, _ keySets: [PolicyKeySet], _ console: inout Console
    ) throws(UsageError) {
        try Self.requireOldest(keySets, for: bundle, path)
        // mutant sign-key-set: true by ScriptTests
        guard !bundle.hasKeySets || bundle.claimedKeySet.map(keySets.contains) == true else {
            throw .unusable([
                "\(path) contains a key set that isn't one of \(Flag.keySets.dashed): "
                    + "name its file too, if you know each of its keys"
            ])
        }
        // mutant sign-invalid: Optional<SPKIFingerprint>.none by ScriptTests
        if let key = bundle.invalidSigner(among: keySets.flatMap(\.keys)) {
            throw .unusable([
                "\(path): the signature of \(key) isn't valid, or its key isn't in \(Flag.keySets.dashed): "
                    + "sign the policy again"
            ])
        }
        console.note(
            "note: policy \(bundle.sequence) for \(bundle.audience), valid until \(bundle.expires.rfc3339)"
                + (bundle.rollout.map { ", for \($0.share)% until \($0.until.rfc3339)" } ?? ""))
        let previous = try previousBundle(keySets)
        try Self.requirePrevious(
            previous, for: bundle.sequence, max(bundle.keySetNumber, bundle.claimedKeySet?.number ?? 1))
        if let previous, bundle.sequence <= previous.sequence {
            throw .invalidValue(
                .previousBundle,
                reason: "sequence number \(previous.sequence) isn't before \(bundle.sequence): "
                    + "name the bundle before this one")
        }
        // Only signatures can be added to it.
        try report(bundle, after: previous, path, check: "pinctl check --policy \(path)", &console)
    }

    /// Creates an unsigned bundle, and reports what it changes. Returns `nil` if lint finds errors, which it reports.
    func newBundle(
        _ path: String, _ bytes: [UInt8], _ keySets: [PolicyKeySet], _ time: Date, _ console: inout Console
    ) throws(UsageError) -> PolicyBundle? {
        guard path != "-" else { throw .invalidOperand(path, reason: "standard input has no directory: name a file") }
        let errors = try lintErrors(path, bytes, time)
        for error in errors { console.problem(error.description, .finding) }
        // mutant sign-lint: true by ScriptTests
        guard errors.isEmpty else {
            console.note("nothing is signed: correct the policy")
            return nil
        }
        let previous = try previousBundle(keySets)
        let keySet = keySets[keySets.count - 1]
        if let last = previous?.keySetNumber, last > keySet.number {
            throw .invalidValue(.keySets, reason: "the bundle before is signed by key set \(last): give its file too")
        }
        let sequence = try sequence(after: previous)
        try Self.requirePrevious(previous, for: sequence, keySet.number)
        let period = try period(.validFor) ?? 30 * 86_400
        guard period > 0, period <= PolicyBundle.maximumLifetime else {
            throw .invalidValue(.validFor, reason: "a bundle is valid for up to 400 days: give another period")
        }
        // To the second, as the bundle has it.
        let issued = Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down))
        let rollout = try rollout(from: issued, until: issued + period)
        let bundle: PolicyBundle
        do throws(PolicyBundleError) {
            bundle = try PolicyBundle(
                policyAt: path, sequence: sequence, issued: issued, expires: issued + period, rollout: rollout,
                keySet: keySet, after: previous)
        } catch {
            throw .unusable(Self.problems(of: error, in: path))
        }
        if previous == nil {
            console.note(
                "note: this is bundle 1, which programs that have had a bundle ignore: if it isn't the first, give the "
                    + "one before with \(Flag.previousBundle.dashed)")
        }
        try report(bundle, after: previous, path, check: Flag.servers.dashed, &console)
        return bundle
    }

    /// Throws if a bundle isn't the first, and the one before isn't known. Without it, a signer wouldn't see what
    /// changes, or that it locks servers out.
    private static func requirePrevious(
        _ previous: PolicyBundle?, for sequence: Int, _ keySet: Int
    ) throws(UsageError) {
        // mutant sign-first: false for 2 by ScriptTests
        guard previous == nil, sequence > 1 || keySet > 1 else { return }
        let reason = keySet > 1 ? "key set \(keySet)" : "sequence number \(sequence)"
        throw .unusable([
            "\(Flag.previousBundle.dashed) is required with \(reason): give the bundle before, to see whether servers "
                + "are locked out"
        ])
    }

    /// Returns the errors that lint finds in a policy.
    private func lintErrors(_ path: String, _ bytes: [UInt8], _ time: Date) throws(UsageError) -> [LintFinding] {
        do throws(PolicyFileError) {
            let file = try PolicyFile.reading(bytes, path: path)
            return file.lint(
                at: time, settings: LintSettings(), calendar: try RootCalendar(of: file), besides: []
            ).filter { $0.severity == .error }
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns the lines for an error of a bundle at this path.
    static func problems(of error: PolicyBundleError, in path: String) -> [String] {
        if case .policy(let error) = error { return error.problems.map { "\(path)/\($0)" } }
        return ["\(path): \(error)"]
    }

    /// Returns the stage of `--rollout`, such as `10%,3d`, in a bundle that is valid until `end`.
    private func rollout(from time: Date, until end: Date) throws(UsageError) -> PolicyRollout? {
        guard let text = self[.rollout] else { return nil }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].last == "%", let share = Int(parts[0].dropLast()), (0...99).contains(share),
            let period = Self.period(String(parts[1])), period > 0
        else {
            throw .invalidValue(
                .rollout, reason: "\(quoted(text)) isn't a share of at most 99% and a period: write 10%,3d")
        }
        guard time + period < end else {
            throw .invalidValue(
                .rollout,
                reason: "\(quoted(text)) ends after the bundle: give a shorter period, or a longer "
                    + Flag.validFor.dashed)
        }
        return PolicyRollout(share: share, until: time + period)
    }

    private func sequence(after previous: PolicyBundle?) throws(UsageError) -> Int {
        let next = (previous?.sequence ?? 0) + 1
        guard let text = self[.sequence] else { return next }
        guard let number = Int(text), number >= next else {
            throw .invalidValue(
                .sequence,
                reason: "\(quoted(text)) must be a number of at least \(next), because programs refuse older bundles")
        }
        return number
    }

    /// Reports what a bundle changes, and refuses it if that locks a server out, or if there are bundles between.
    /// `check` is the way to find out which keys the servers have.
    private func report(
        _ bundle: PolicyBundle, after previous: PolicyBundle?, _ path: String, check: String, _ console: inout Console
    ) throws(UsageError) {
        let changes: [PolicyChange]
        do throws(PolicyBundleError) {
            changes = try bundle.changes(from: previous, besides: path)
        } catch {
            throw .unusable(Self.problems(of: error, in: path))
        }
        if let previous { console.note("note: compared with policy \(previous.sequence)") }
        for change in changes where !change.dependsOnServers { console.note("note: \(change)") }
        for change in changes where change.dependsOnServers {
            if !has(.servers) {
                console.note("note: \(change): check the servers with \(check)")
            } else if !change.isChecked {
                // mutant sign-unchecked: {} by PolicyLockoutTests/unchecked
                console.note(
                    "note: \(change): \(Flag.servers.dashed) doesn't check every name and port that this is about: "
                        + "check the others with pinctl check HOST:PORT --policy \(path)")
            }
        }
        let allowed = all(.allowChange)
        for value in allowed where !PolicyChange.allowable.contains(value) {
            throw .unknownChoice(.allowChange, value, known: PolicyChange.allowable)
        }
        // mutant sign-gap: false for 2 by ScriptTests
        if let previous, bundle.sequence - 1 > previous.sequence, !allowed.contains(PolicyChange.gap) {
            console.problem(
                "policy \(bundle.sequence) is compared with policy \(previous.sequence), so what changes from the ones "
                    + "between isn't shown: give policy \(bundle.sequence - 1) with \(Flag.previousBundle.dashed), or, "
                    + "if there is none between, \(Flag.allowChange.dashed) \(PolicyChange.gap)",
                .finding)
        }
        guard !allowed.contains(PolicyChange.lockout) else { return }
        for change in changes {
            guard let lockout = change.lockout else { continue }
            // mutant sign-shown: {} by PolicyLockoutTests/unknownCertificate
            if change.isShownByServers, change.isChecked, has(.servers) { continue }
            console.problem(
                "\(change.host): \(lockout), or give \(Flag.allowChange.dashed) \(PolicyChange.lockout)", .finding)
        }
    }

    /// Adds the signatures of the keys and commands that the flags name.
    func sign(
        _ bundle: inout PolicyBundle, _ keySets: [PolicyKeySet], _ environment: CommandEnvironment
    ) throws(UsageError) {
        let password = try password()
        for path in all(.signingKey) {
            let key: MessageSigningKey
            do throws(ClientIdentityError) {
                key = try MessageSigningKey(contentsOfFile: path, password: password.bytes)
            } catch .passwordRequired {
                throw .invalidValue(
                    .signingKey,
                    reason: "\(path): the private key is encrypted: give \(Flag.passwordFile.dashed) or "
                        + Flag.passwordDescriptor.dashed)
            } catch {
                throw .invalidValue(.signingKey, reason: "\(path): \(error.reason)")
            }
            guard keySets.contains(where: { $0.keys.contains(key.publicKey) }),
                !bundle.unsigned(by: key.publicKey).isEmpty
            else {
                throw .invalidValue(
                    .signingKey,
                    reason: "\(path): has nothing to sign: its key has signed, or isn't in the key set")
            }
            do throws(ClientIdentityError) {
                try bundle.sign(with: key)
            } catch {
                throw .invalidValue(.signingKey, reason: "\(path): \(error.reason)")
            }
        }
        for command in all(.signer) { try bundle.sign(with: command, keys: keySets.flatMap(\.keys), in: environment) }
    }
}
