import CertificatePinning

extension CommandDefinition {
    static let check = CommandDefinition(
        name: "check", summary: "verify the chains of servers, and check their pins", operands: "[TARGET|FILE…]",
        operandCount: 0...Int.max,
        flags: [
            .policy.described("check against this policy file"), .pin, .targets, .files,
            .host.described("with --files, check the chains and keys for this host, with an optional :PORT"),
            .allowUnread, .allowMissing, .passwordDescriptor, .caFile,
            .systemRoots,
            .store.described("verify with the roots in FILE too, once for each NAME, and warn about failures"),
            .profile, .at, .crl,
            .revocation.described(
                "use: check the CRLs and a stapled OCSP response; require: every certificate needs one of them"),
            .transparencyLogs, .transparency,
        ]
            + Flag.probing(
                .allAddresses.described(
                    "connect to every address of a host, also to those that this machine has no route to",
                    details: "Without this flag or --first, every address is checked too, but one that this machine "
                        + "has no route to is only noted. With the flag, such an address is unreachable."),
                .keys.described(
                    details: "Without this flag or --first, pinctl makes a handshake for each kind of key that the "
                        + "server has, as with both."))
            + [
                .first, .inOrder, .requireGroup, .failures, .warnWithin, .failOn, .exitZero, .baseline, .maxUnreachable,
                .report,
                .annotations,
            ],
        notes: [
            "TARGET is host, host:port, [v6]:port, https://host/ or host:443@ADDRESS (see pinctl help",
            "targets). Without targets, pinctl checks every host of the policy. If a rule lists targets in",
            "\"check\", pinctl checks these instead of the rule's host. With --files, the operands are files.",
            "",
            "The policy is the file of --policy, or else of the environment variable PINCTL_POLICY, or else",
            "pins/pins.jsonc. The policy can list files for other systems in \"exports\". pinctl also checks",
            "each chain against these files, and evaluates a file like the system that reads it.",
            "",
            "pinctl checks every address that a name resolves to, and both kinds of key, RSA and ECDSA, if",
            "the server has both. An address that this machine has no route to, such as an IPv6 address on a",
            "machine without IPv6, is only noted. --first makes one handshake for each target instead.",
            "",
            "pinctl closes the connection after the server has sent its certificate. No byte of a request",
            "is sent.",
            "",
            "With --crl or --revocation, a stapled OCSP response is checked too. With --ct-logs, a leaf needs",
            "as many timestamps of Certificate Transparency logs as Chrome and Apple require, or else gets a",
            "warning (--transparency report) or is rejected (--transparency require). With --store, a chain is",
            "also verified with the roots of other clients, and a failure with these roots is a warning.",
            "--store doesn't apply to hosts whose rules have their own anchors.",
            "",
            "If several failures have one cause, the first is printed in full, and the summary counts the",
            "others. Results are printed as they finish. With --ndjson, the last line printed has",
            "\"type\":\"summary\". Ctrl-C prints the summary of what is known, and ends with exit code 130.",
            "pinctl help verdicts explains the verdicts and what to do.",
        ],
        examples: [
            ("Check every host of pins/pins.jsonc", "pinctl check"),
            ("Check one server with a policy", "pinctl check --policy pins.jsonc api.example.com"),
            ("Check certificates and requests before they are deployed", "pinctl check --files certs"),
            ("Write a report that the CI system displays", "pinctl check --report junit=pins.xml"),
            (
                "Check a long list, and allow a few hosts to be down",
                "pinctl check --targets hosts.txt --max-unreachable 2%"
            ),
            (
                "Fail only on what is new since an earlier run",
                "pinctl check --baseline known.json --report json=today.json"
            ),
            (
                "Check one server with a pin",
                "pinctl check api.example.com --pin sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let check = try Check(arguments, in: environment)
            let reports = try arguments.reports(in: environment, &console)
            reports.write(await check.run(&console, keepsResults: !reports.isEmpty), &console)
        })
}
