import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let sign = CommandDefinition(
        name: "sign", summary: "sign a policy as a bundle, for programs that update it", operands: "POLICY|BUNDLE",
        operandCount: 1...1,
        flags: [
            .keySets, .signingKey, .signer, .previousBundle, .sequence, .validFor, .rollout, .servers, .caFile,
            .passwordFile, .passwordDescriptor, .allow, .output, .at,
        ],
        notes: [
            "A bundle contains the policy and every file that it names. Programs accept it from a",
            "PolicyUpdater if enough keys of their key set have signed it. If the operand is a bundle,",
            "signatures are added to it, so that keys on several machines can sign one after the other.",
            "A key set in it has to be one of --keys, because its owners would sign from then on.",
            "",
            "A key set is JSON. Each key is the Base64 of what openssl pkey -in KEY -pubout -outform DER",
            "prints:",
            "",
            "  { \"version\": 1, \"audience\": \"com.example.app\", \"number\": 1, \"threshold\": 2,",
            "    \"keys\": [\"MCowBQYDK2VwAyEA…\", \"MFkwEwYHKoZIzj0C…\", \"MCowBQYDK2VwAyEA…\"] }",
            "",
            "With --after, pinctl reports what changes for each host. A host whose pins are all replaced",
            "is refused without --allow lockout, because its server can't serve two keys at once. With",
            "--servers, so is a policy that refuses a server as it is now, or that can't be checked.",
        ],
        examples: [
            (
                "Sign the first bundle with two keys",
                "pinctl sign pins.jsonc --keys keys.json --key one.pem --key two.pem -o bundle.json"
            ),
            (
                "Sign the next bundle, and add a signature on another machine",
                "pinctl sign pins.jsonc --keys keys.json --key one.pem --after bundle.json -o half.json"
            ),
            (
                "Add the second signature, after a look at what changes",
                "pinctl sign half.json --keys keys.json --key two.pem --after bundle.json -o next.json"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let time = try arguments.time(in: environment)
            let path = arguments.operands[0]
            let keySets = try arguments.keySets()
            var bundle: PolicyBundle
            let bytes = try DialectInput.contents(path)
            if PolicyBundle.isRecognized(in: bytes) {
                for flag in [Flag.sequence, .validFor, .rollout, .servers] where arguments.has(flag) {
                    throw .unusable([
                        "\(path) is a bundle, to which only signatures can be added: remove \(flag.dashed)"
                    ])
                }
                bundle = try Arguments.bundle(bytes, path)
                try arguments.review(bundle, path, keySets, &console)
            } else {
                guard let keySet = keySets.last else { throw .missingFlag(.keySets) }
                bundle = try arguments.newBundle(path, keySet, time, &console)
            }
            if arguments.has(.servers), try await !areServed(path, arguments, environment, &console) { return }
            try arguments.sign(&bundle, keySets, environment)
            let signers = bundle.claimedSigners
            for signer in signers { console.note("note: signed by \(signer)") }
            for signer in bundle.claimedKeySetSigners where !signers.contains(signer) {
                console.note("note: key set \(bundle.keySetNumber) signed by \(signer)")
            }
            if let keySet = keySets.last, keySet.number == bundle.keySetNumber, signers.count < keySet.threshold {
                console.note(
                    "note: \(signers.count) of \(keySet.threshold) required signatures: "
                        + "add the others with pinctl sign \(arguments[.output] ?? "FILE") --key KEY")
            }
            let members: [(String, JSON)] = [
                ("audience", .string(bundle.audience)), ("sequence", .integer(bundle.sequence)),
                ("expires", .string(bundle.expires.rfc3339)),
                ("signers", .array(signers.map { .string($0.description) })),
            ]
            try arguments.deliver(bundle.json, members, to: &console)
        })

    /// Checks the servers of a policy, and returns whether clients accept all of them.
    private static func areServed(
        _ path: String, _ arguments: Arguments, _ environment: CommandEnvironment, _ console: inout Console
    ) async throws(UsageError) -> Bool {
        let roots = arguments.all(.caFile).flatMap { [Flag.caFile.dashed, $0] }
        let checks = try Arguments([Flag.policy.dashed, path] + roots, for: check)
        try await check.run(checks, environment, &console)
        guard console.status != .good else { return true }
        console.note("nothing is signed: correct the policy or the servers, or sign without \(Flag.servers.dashed)")
        return false
    }
}

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

    /// Returns the bundle of `--after`, if it is for this application.
    private func previousBundle(for audience: String) throws(UsageError) -> PolicyBundle? {
        guard let file = self[.previousBundle] else { return nil }
        let previous = try Self.bundle(try DialectInput.contents(file), file)
        guard previous.audience == audience else {
            throw .invalidValue(
                .previousBundle,
                reason: "the bundle is for \(quoted(previous.audience)), not for \(quoted(audience)): "
                    + "name the bundle before this one")
        }
        return previous
    }

    /// Reports what a bundle changes that somebody else has created, and refuses a key set that this signer doesn't
    /// know: its owners would take over.
    fileprivate func review(
        _ bundle: PolicyBundle, _ path: String, _ keySets: [PolicyKeySet], _ console: inout Console
    ) throws(UsageError) {
        if bundle.hasKeySets {
            guard !keySets.isEmpty else { throw .missingFlag(.keySets) }
            guard let last = bundle.claimedKeySet, keySets.contains(last) else {
                throw .unusable([
                    "\(path) contains a key set that isn't one of \(Flag.keySets.dashed): "
                        + "name its file too, if you know each of its keys"
                ])
            }
        }
        guard let previous = try previousBundle(for: bundle.audience) else {
            guard bundle.sequence > 1 else { return }
            return console.note(
                "note: to see what changes before you sign, give \(Flag.previousBundle.dashed) with the bundle before")
        }
        guard bundle.sequence > previous.sequence else {
            throw .invalidValue(
                .previousBundle,
                reason: "sequence number \(previous.sequence) isn't before \(bundle.sequence): "
                    + "name the bundle before this one")
        }
        let changes: [PolicyChange]
        do throws(PolicyBundleError) {
            changes = try bundle.changes(from: previous)
        } catch {
            throw .unusable(["\(error)"])
        }
        try report(changes, &console)
    }

    /// Creates an unsigned bundle, and reports what it changes.
    fileprivate func newBundle(
        _ path: String, _ keySet: PolicyKeySet, _ time: Date, _ console: inout Console
    ) throws(UsageError) -> PolicyBundle {
        guard path != "-" else { throw .invalidOperand(path, reason: "standard input has no directory: name a file") }
        let previous = try previousBundle(for: keySet.audience)
        let sequence = try sequence(after: previous)
        let period = try period(.validFor) ?? 30 * 86_400
        guard period > 0, period <= PolicyBundle.maximumLifetime else {
            throw .invalidValue(.validFor, reason: "a bundle is valid for at most 400 days: give a shorter period")
        }
        // To the second, as the bundle has it.
        let issued = Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down))
        let rollout = try rollout(from: issued)
        let bundle: PolicyBundle
        let changes: [PolicyChange]
        do throws(PolicyBundleError) {
            bundle = try PolicyBundle(
                policyAt: path, sequence: sequence, issued: issued, expires: issued + period, rollout: rollout,
                keySet: keySet, after: previous)
            changes = try bundle.changes(from: previous)
        } catch {
            throw .unusable(["\(error)"])
        }
        try report(changes, &console)
        return bundle
    }

    /// Returns the stage of `--rollout`, such as `10%,3d`.
    private func rollout(from time: Date) throws(UsageError) -> PolicyRollout? {
        guard let text = self[.rollout] else { return nil }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].last == "%", let share = Int(parts[0].dropLast()), (0...99).contains(share),
            let period = Self.period(String(parts[1])), period > 0
        else {
            throw .invalidValue(
                .rollout, reason: "\(quoted(text)) isn't a share of at most 99% and a period: write 10%,3d")
        }
        return PolicyRollout(share: share, until: time + period)
    }

    private func sequence(after previous: PolicyBundle?) throws(UsageError) -> Int {
        let next = (previous?.sequence ?? 0) + 1
        guard let text = self[.sequence] else { return next }
        guard let number = Int(text), number >= next else {
            throw .invalidValue(
                .sequence, reason: "\(quoted(text)) isn't a number from \(next): programs refuse older bundles")
        }
        return number
    }

    /// Reports changes, and refuses those that lock a server out.
    private func report(_ changes: [PolicyChange], _ console: inout Console) throws(UsageError) {
        for change in changes { console.note("note: \(change)") }
        let isAllowed = all(.allow).contains(PolicyChange.lockout)
        for value in all(.allow) where value != PolicyChange.lockout {
            throw .unknownChoice(.allow, value, known: [PolicyChange.lockout])
        }
        let hosts = changes.filter(\.locksOut).map(\.host)
        guard hosts.isEmpty || isAllowed else {
            throw .unusable(
                hosts.map {
                    "\($0): no pin of the bundle before is left, so its server must change its key in the same moment: "
                        + "keep one of the pins until the server serves a new one, or give --allow \(PolicyChange.lockout)"
                })
        }
    }

    /// Adds the signatures of the keys and commands that the flags name.
    fileprivate func sign(
        _ bundle: inout PolicyBundle, _ keySets: [PolicyKeySet], _ environment: CommandEnvironment
    ) throws(UsageError) {
        let password = try password()
        for path in all(.signingKey) {
            let key: MessageSigningKey
            do throws(ClientIdentityError) {
                key = try MessageSigningKey(contentsOfFile: path, password: password.bytes)
            } catch {
                throw .invalidValue(.signingKey, reason: "\(path): \(error)")
            }
            // Nothing is known about the keys before the first set that the bundle contains.
            let isForeign =
                bundle.keySetNumber == 1 && keySets.first.map { !$0.keys.contains(key.publicKey) } ?? false
            guard !isForeign, !bundle.unsigned(by: key.publicKey).isEmpty else {
                throw .invalidValue(
                    .signingKey,
                    reason: "\(path): has nothing to sign: its key has signed, or isn't in the key set")
            }
            do throws(ClientIdentityError) {
                try bundle.sign(with: key)
            } catch {
                throw .invalidValue(.signingKey, reason: "\(path): \(error)")
            }
        }
        for command in all(.signer) { try bundle.sign(with: command, keys: keySets.flatMap(\.keys), in: environment) }
    }
}
