import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let sign = CommandDefinition(
        name: "sign", summary: "sign a policy as a bundle, for programs that update it", operands: "POLICY|BUNDLE",
        operandCount: 1...1,
        flags: [
            .keySets, .signingKey, .signer, .previousBundle, .sequence, .validFor, .rollout, .servers,
            .caFile.described("with --servers, trust the CA certificates in FILE instead of the system roots"),
            .transparencyLogs.described(
                "with --servers, verify Certificate Transparency with the logs in FILE (such as Google's "
                    + "log_list.json)"),
            .passwordFile, .passwordDescriptor, .allowChange, .output, .at,
        ],
        notes: [
            "A bundle contains the policy and every file that it names. Programs accept it from a",
            "PolicyUpdater if enough keys of their key set have signed it. If the operand is a bundle,",
            "signatures are added to it, so that keys on several machines can sign one after the other.",
            "",
            "A key set is JSON. Each key is the Base64 of what openssl pkey -in KEY -pubout -outform DER",
            "prints:",
            "",
            "  { \"version\": 1, \"audience\": \"com.example.app\", \"number\": 1, \"threshold\": 2,",
            "    \"keys\": [\"MCowBQYDK2VwAyEA…\", \"MFkwEwYHKoZIzj0C…\", \"MCowBQYDK2VwAyEA…\"] }",
            "",
            "--keys is required. Programs in use may have different key sets: give the file of each, from",
            "the oldest set to the newest. The bundle then contains the newer sets, and programs accept",
            "the newest from then on. A bundle from another signer with a key set that isn't one of",
            "--keys is refused, because the owners of that set could sign every later bundle.",
            "",
            "A policy with errors of pinctl lint isn't signed. --after is required for every bundle but the",
            "first. pinctl reports what changes for each host, and which changes can lock out servers.",
            "",
            "Without --allow lockout, pinctl refuses changes after which clients accept no server that they",
            "accepted before: if all pins, all pins of a required role or all anchors of a rule are",
            "replaced, if hosts without a rule are refused now, or if a rule refuses every server from a",
            "date on. Other changes lock out some servers: those without the key, the root or the",
            "timestamps that are required now. pinctl names these changes, but the policy doesn't show which",
            "servers they are. With --servers, it checks the servers first, and signs nothing if one of them",
            "is refused or can't be checked.",
            "",
            "A pin of a certificate that becomes one of its key, or the reverse, is recognized if the",
            "certificate is known: from the bundles, from anchors, or from the file that the pin names.",
            "",
            "Without --allow gap, pinctl refuses a bundle whose number isn't the next after that of --after,",
            "because the changes between aren't shown.",
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
            (
                "Replace a key set",
                "pinctl sign pins.jsonc --keys keys.json --keys keys-2.json --after next.json --key one.pem -o "
                    + "half.json"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let time = try arguments.time(in: environment)
            let path = arguments.operands[0]
            let keySets = try arguments.keySets()
            guard let keySet = keySets.last else { throw .missingFlag(.keySets) }
            try arguments.checkOutput()
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
                guard let new = try arguments.newBundle(path, bytes, keySets, time, &console) else { return }
                bundle = new
            }
            guard console.status == .good else { return }
            if let unrelated = keySets.first(where: { $0.audience != bundle.audience }) {
                throw .invalidValue(
                    .keySets,
                    reason: "a key set is for \(quoted(unrelated.audience)), and the bundle for "
                        + "\(quoted(bundle.audience)): give only key sets of one program")
            }
            if arguments.has(.servers), try await !areServed(path, arguments, environment, &console) { return }
            try arguments.sign(&bundle, keySets, environment)
            let signers = bundle.signers(among: keySets.flatMap(\.keys))
            for signer in signers { console.note("note: signed by \(signer)") }
            for signer in bundle.keySetSigners(among: keySets.flatMap(\.keys)) where !signers.contains(signer) {
                console.note("note: key set \(keySet.number) signed by \(signer)")
            }
            do throws(PolicyBundleError) {
                // The bytes that are written, because signatures make them larger.
                // mutant bundle-signed-size: bundle for `PolicyBundle(json: bundle.json)` by BundleTests/signedSize
                _ = try PolicyBundle(json: bundle.json).verifiedAtAnyTime(by: PolicyBundleTrust(keySet: keySets[0]))
            } catch {
                guard case .tooFewSignatures = error else { throw .unusable(["\(path): \(error)"]) }
                let flags = [Flag.keySets, .previousBundle].flatMap { flag in
                    arguments.all(flag).map { " \(flag.dashed) \($0)" }
                }
                console.note(
                    "note: \(error): pinctl sign \(arguments[.output] ?? "FILE")\(flags.joined()) "
                        + "\(Flag.signingKey.dashed) KEY")
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
        // Otherwise the results would be mixed with the bundle.
        guard arguments.has(.output) else { throw .missingFlag(.output) }
        let evidence = [Flag.caFile, .transparencyLogs].flatMap { flag in
            arguments.all(flag).flatMap { [flag.dashed, $0] }
        }
        let checks = try Arguments([Flag.policy.dashed, path] + evidence, for: check)
        try await check.run(checks, environment, &console)
        guard console.status != .good else { return true }
        console.note("nothing is signed: correct the policy or the servers, or sign without \(Flag.servers.dashed)")
        return false
    }
}
