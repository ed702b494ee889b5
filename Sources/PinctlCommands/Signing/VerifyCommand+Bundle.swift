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
        // Standard input can be read only once, and is a chain.
        guard path != "-", let bytes = try? DialectInput.contents(path),
            arguments.has(.keySets) || PolicyBundle.isRecognized(in: bytes)
        else { return false }
        guard !arguments.has(.host) else {
            throw .unusable(["\(path) is a policy bundle, which has no single host: remove \(Flag.host.dashed)"])
        }
        guard let keySet = try arguments.keySets().first else { throw .missingFlag(.keySets) }
        let time = try arguments.time(in: environment)
        var members: [(String, JSON)] = [("input", .string(path))]
        do throws(PolicyBundleError) {
            let bundle = try PolicyBundle(json: bytes)
            members += [
                ("audience", .string(bundle.audience)), ("sequence", .integer(bundle.sequence)),
                ("issued", .string(bundle.issued.rfc3339)), ("expires", .string(bundle.expires.rfc3339)),
            ]
            let verified = try bundle.verified(by: PolicyBundleTrust(keySet: keySet), at: time)
            let current = verified.trust.keySet
            members += [
                ("verdict", "ok"), ("key_set", .integer(current.number)),
                ("signers", .array(verified.signers.map { .string($0.description) })),
            ]
            console.result(
                [
                    "ok    \(path)  policy \(bundle.sequence) for \(bundle.audience), valid until \(bundle.expires.rfc3339)",
                    "      signed by \(verified.signers.count) of \(current.keys.count) keys of key set \(current.number), "
                        + "\(current.threshold) required",
                ] + verified.signers.map { "      \($0)" }, .object(members))
        } catch {
            members += [("verdict", "refused"), ("error", .string(error.description))]
            console.result(["FAIL  \(path)  \(error)"], .object(members), .finding)
        }
        return true
    }
}
