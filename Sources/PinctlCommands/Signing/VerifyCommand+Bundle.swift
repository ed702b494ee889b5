import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    /// Verifies the operand if it is a bundle. Returns false for any other operand.
    static func verifyBundle(
        _ arguments: Arguments, _ environment: CommandEnvironment, _ console: inout Console
    ) throws(UsageError) -> Bool {
        let path = arguments.operands[0]
        guard arguments.has(.keySets) else {
            // Standard input can be read only once, and is a chain.
            guard path != "-", let bytes = try? DialectInput.contents(path), PolicyBundle.isRecognized(in: bytes) else {
                return false
            }
            throw .missingFlag(.keySets)
        }
        guard !arguments.has(.host) else {
            throw .unusable([
                "\(Flag.keySets.dashed) is for a bundle, and \(Flag.host.dashed) for a chain: remove one of them"
            ])
        }
        let bundle = try Arguments.bundle(try DialectInput.contents(path), path)
        let time = try arguments.time(in: environment)
        let keySets = try arguments.keySets()
        for keySet in keySets {
            let title = keySets.count > 1 ? "\(path) (from key set \(keySet.number))" : path
            try bundle.report(to: &console, title, [("input", .string(path))], from: keySet, at: time)
        }
        if let first = keySets.first, let older = bundle.firstKeySetNumber, older <= first.number, first.number > 1 {
            console.note(
                "note: programs with a key set before \(first.number) weren't considered: "
                    + "give \(Flag.keySets.dashed) with theirs")
        }
        return true
    }
}

extension PolicyBundle {
    /// Verifies the bundle as a program with a key set does, and prints the result.
    fileprivate func report(
        to console: inout Console, _ title: String, _ first: [(String, JSON)], from keySet: PolicyKeySet, at time: Date
    ) throws(UsageError) {
        var members = first
        members += [
            ("program_key_set", .integer(keySet.number)), ("audience", .string(audience)),
            ("sequence", .integer(sequence)), ("issued", .string(issued.rfc3339)),
            ("expires", .string(expires.rfc3339)),
        ]
        if let rollout {
            members.append(
                ("rollout", ["share": .integer(rollout.share), "until": .string(rollout.until.rfc3339)]))
        }
        do throws(PolicyBundleError) {
            let verified = try verified(by: PolicyBundleTrust(keySet: keySet), at: time)
            let current = verified.trust.keySet
            members += [
                ("verdict", "ok"), ("key_set", .integer(current.number)),
                ("signers", .array(verified.signers.map { .string($0.description) })),
            ]
            let stage = rollout.map {
                "      in force for \($0.share)% of the installations until \($0.until.rfc3339), then for all"
            }
            console.result(
                [
                    "ok    \(title)  policy \(sequence) for \(audience), valid until \(expires.rfc3339)",
                    "      signed by \(verified.signers.count) of \(current.keys.count) keys of key set "
                        + "\(current.number), \(current.threshold) required",
                ] + verified.signers.map { "      \($0)" } + (stage.map { [$0] } ?? []), .object(members))
        } catch {
            switch error {
            case .malformed, .tooLarge, .policy: throw .unusable(Arguments.problems(of: error, in: title))
            default: break
            }
            members += [("verdict", "refused"), ("error", .string(error.description))]
            console.result(["FAIL  \(title)  \(error)"], .object(members), .finding)
        }
    }
}
