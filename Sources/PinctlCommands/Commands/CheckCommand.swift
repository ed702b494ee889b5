import CertificatePinning

extension CommandDefinition {
    static let check = CommandDefinition(
        name: "check", summary: "connect to servers, verify their chains, judge their pins", operands: "[TARGET|FILE…]",
        operandCount: 0...Int.max,
        flags: [
            .policy, .pin, .targets, .files, .passwordDescriptor, .caFile, .systemRoots, .store, .profile, .at, .crl,
            .revocation,
        ] + Flag.probing
            + [.failures, .warnWithin, .failOn, .exitZero, .baseline, .maxUnreachable, .report, .annotations],
        notes: [
            "TARGET is host, host:port, [v6]:port, https://host/ or host:443@ADDRESS (pinctl help",
            "targets). Without one, every host of the policy is checked, at the targets of its rule's",
            "\"check\" where it has some. The policy is that of --policy, else of the environment",
            "variable PINCTL_POLICY, else pins/pins.jsonc.",
            "Files that the policy lists in \"exports\" are judged too, as their own systems judge.",
            "With --files the operands are files. The connection is closed at the server's",
            "certificate; no byte of a request is sent.",
            "With --crl or --revocation a stapled OCSP response is held against the chain too.",
            "With --store a chain is held against the roots of other clients too: what would fail",
            "there is a warning; rules with anchors of their own are left out. Of several failures",
            "for one cause the first is told in full, and the end counts them. --ndjson answers each",
            "line of --targets with its lines, in order, and closes with the one of",
            "\"type\":\"summary\". What the verdicts mean, and what to do: pinctl help verdicts.",
        ],
        examples: [
            ("every host of pins/pins.jsonc", "pinctl check"),
            ("one server, by a policy", "pinctl check --policy pins.jsonc api.example.com"),
            ("certificates and requests before they are deployed", "pinctl check --files certs"),
            ("in a pipeline, for whoever reads the results", "pinctl check --report junit=pins.xml"),
            (
                "a long list, while nobody minds a host that is down",
                "pinctl check --targets hosts.txt --max-unreachable 2%"
            ),
            (
                "what is new since somebody looked at it",
                "pinctl check --baseline known.json --report json=today.json"
            ),
            (
                "one server, by a pin",
                "pinctl check api.example.com --pin sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let check = try Check(arguments, in: environment)
            let reports = try arguments.reports(in: environment, &console)
            reports.write(await check.run(&console, keepsResults: !reports.isEmpty), &console)
        })
}
