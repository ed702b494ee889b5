import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension CommandDefinition {
    static let plan = CommandDefinition(
        name: "plan", summary: "check whether released apps survive a certificate change", operands: "--new INPUT",
        operandCount: 0...0,
        flags: [
            .newInput, .provider, .providers, .nextIssuer, .passwordFile, .passwordDescriptor, .against, .from,
            .repository,
            .targetLevel,
            .allowUnread.described(
                "exit without 2 if a release, a tag or a file in a directory wasn't understood",
                details: "It is still reported as unread, on standard error and in the summary, and nothing is known "
                    + "about its users."),
            .policy.described("plan for the releases that this policy file lists, and for the file itself"),
            .plannedHost, .caFile,
            .store, .calendar, .profile, .transparencyLogs, .at, .failWithin, .currentInput, .timeline, .share,
            .verbose.described("list every release and host, also those that survive, and the timeline"), .report,
            .annotations,
        ],
        notes: [
            "INPUT is a chain, leaf first, as servers will present it, or a request or a key if no",
            "certificate has been issued yet. If several are given, such as RSA and ECDSA, clients may",
            "receive any of them.",
            "",
            "--provider judges the chains below every root of a provider of managed certificates, by the",
            "roots' keys alone: whether clients trust them isn't checked. --next-issuer does this with",
            "every root of the CA that issued the chain of --current, or else of --new. A pin of a leaf or",
            "an intermediate never matches these chains. If the next certificate keeps its key, give that",
            "key with --new instead.",
            "",
            "SOURCE is git:TAGGLOB:PATH, a file as it was at each matching tag; a pin file in any",
            "dialect; or a directory of them. If the file moved, add its other paths: git:v*:OLD:NEW.",
            "A PATH may be a pattern, in which * also matches slashes. The default is the policy's",
            "\"releases\" and the policy itself.",
            "",
            "The exit code is 1 if something breaks, now or within --fail-within, 2 if a release is",
            "unread, and 4 if the chain is not trusted. If a release requires Certificate Transparency,",
            "as apps do that target Android 17, the timestamps in the chain are verified with the list of",
            "--ct-logs, and the chain isn't trusted without it.",
            "",
            "Hosts that the new certificate isn't valid for are judged only if --host names them, or if",
            "the chain of --current is valid for them.",
        ],
        examples: [
            (
                "Check whether releases survive this chain",
                "pinctl plan --new new-chain.pem --against 'git:v*:pins/pins.jsonc'"
            ),
            (
                "Check this on devices with other roots too",
                "pinctl plan --new new-chain.pem --store old=old-roots.pem --store new=new-roots.pem"
            ),
            (
                "Check a request before the certificate is issued",
                "pinctl plan --new backup.csr --against app/network_security_config.xml"
            ),
            (
                "Check whether releases survive every CA that a provider may change to",
                "pinctl plan --provider cloudflare --against 'git:v*:pins/pins.jsonc'"
            ),
            ("Fail early, while there is time for a new release", "pinctl plan --new chain.pem --fail-within 100d"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let input = InputReader(password: try arguments.password())
            let now = try arguments.time(in: environment)
            var candidates = try arguments.chains(.newInput, input)
            for pool in try arguments.providerPools() {
                console.note(of: pool, at: now)
                candidates += NewChain.all(of: pool, at: now)
            }
            guard !candidates.isEmpty || arguments.has(.nextIssuer) else { throw .missingFlag(.newInput) }
            let current = try arguments.chains(.currentInput, input)
            let limit = try arguments.period(.failWithin).map { now + $0 }
            let shares = try arguments.shares()
            let named = try arguments.plannedHosts()
            let reports = try arguments.reports(in: environment, &console)
            var report = Report(command: "plan", time: now, policy: arguments[.policy])
            let reader = try arguments.releases(in: environment, shares, &console)
            let (releases, unread) = (reader.releases, reader.unread)
            report.entries = unread.map(\.entry)
            guard !releases.isEmpty else {
                // Without a release there is nothing to be green about.
                // mutant plan-nothing-read: {} by PlanReleaseTests/nothingRead
                if !unread.isEmpty {
                    console.problem("none of the releases could be read, so nothing was judged", .badInput)
                }
                return reports.write(report, &console)
            }
            let stores = try arguments.trustStores(in: environment, besides: reader.rootedSources)
            let policy = try arguments.trustPolicy()
            if arguments.has(.nextIssuer) {
                candidates += try arguments.nextChains(
                    after: current.isEmpty ? candidates : current, stores.map(\.store), policy, at: now, &console)
            }
            if !reader.irrelevant.isEmpty {
                console.note("note: not releases: \(FirstNames(reader.irrelevant, limit: 5))")
            }
            let unpinned = releases.filter(\.pinsNothing).map(\.name)
            if !unpinned.isEmpty {
                console.note(
                    "note: \(FirstNames(unpinned, limit: 5)): no pins, so every trusted chain is accepted")
            }
            let hosts = named.isEmpty ? Plan.hosts(for: candidates, replacing: current, in: releases) : named
            guard !hosts.isEmpty else {
                let titles = candidates.map(\.title).joined(separator: ", ")
                let ruled = Plan.unjudged(besides: [], for: candidates, in: releases).map(\.title)
                let others = ruled.isEmpty ? "" : ", but for \(FirstNames(ruled, limit: 5))"
                throw .unusable([
                    "no release has a rule for a hostname of \(titles) (\(candidates.extent))\(others): "
                        + "give --host HOST, or check that these are the right files"
                ])
            }
            let obstacles = Plan.obstacles(to: named, for: candidates, in: releases)
            guard obstacles.isEmpty else { throw .unusable(obstacles) }
            let unjudged =
                named.isEmpty ? Plan.unjudged(besides: hosts, for: candidates, in: releases).map(\.title) : []
            if !unjudged.isEmpty {
                console.note(
                    "note: \(FirstNames(unjudged, limit: 5)): not judged, because the new certificate "
                        + "isn't valid for \(unjudged.count == 1 ? "it" : "them"), \(candidates.extent): name "
                        + "\(unjudged.count == 1 ? "it" : "them") with \(Flag.plannedHost.dashed) if it should be, or "
                        + "give today's chain with \(Flag.currentInput.dashed)")
            }
            let rootFlag = arguments.has(.caFile) ? Flag.caFile : stores.contains { $0.name != nil } ? .store : nil
            let ownRoots = hosts.filter { host in
                releases.contains { $0.rule(for: host.name, port: host.port).trustsOnlyOwnRoots }
            }
            if let note = rootFlag?.note(onAnchorsOf: ownRoots.map(\.title)) { console.note(note) }
            let logs = try arguments.transparency().logs
            let calendar = try arguments.plannedCalendar(in: environment)
            if let note = calendar.note(at: now) { console.note("note: \(note)") }
            var plan = Plan(
                candidates, against: releases, hosts: hosts, stores: stores, policy: policy, logs: logs,
                calendar: calendar, now: now)
            var today: Plan?
            if !current.isEmpty {
                var served = Plan(
                    current, against: releases, hosts: hosts, stores: stores, policy: policy, logs: logs, now: now)
                // Judging it finds its paths, whose keys are in use.
                for host in hosts.indices { _ = served.cells(at: host) }
                plan.learn(from: served)
                today = served
            }
            var cells: [PlanCell] = []
            for host in hosts.indices { cells += plan.cells(at: host, endingBefore: limit) }
            cells.sort { ($0.release, $0.host) < ($1.release, $1.host) }
            for note in plan.calendarNotes(on: cells) { console.note("note: \(note)") }
            for cell in cells {
                console.result([], cell.json(releases, hosts), cell.severity.exitCode)
            }
            let timeline = PlanTimeline(cells, of: plan, today: today, isComplete: unread.isEmpty)
            let text = PlanText(
                releases: releases, hosts: hosts, cells: cells, names: plan.names,
                unread: unread.map(\.name), columns: environment.terminal.columns ?? 80,
                isVerbose: arguments.has(.verbose))
            console.text(text.lines)
            let tally = PlanTally(cells, of: reader, unjudged: unjudged)
            console.text([""])
            report.closing = console.closing(tally.line)
            console.summarize(report.closing, tally.members + [("timeline", timeline.json)])
            let remedy = PlanRemedy(
                releases: releases, hosts: hosts, cells: cells, names: plan.names, candidates: candidates,
                isComplete: unread.isEmpty)
            console.text(remedy.lines)
            if !reports.isEmpty { report.entries += cells.map { $0.entry(releases, hosts, plan.names) } }
            report.matrix = ReportMatrix(
                hosts: hosts.map(\.title),
                rows: releases.indices.map { release in
                    let row = cells.filter { $0.release == release }
                    return (releases[release].name, row.map { (text.word($0), $0.severity) })
                } + unread.map { ($0.name, hosts.map { _ in ("unread", .badInput) }) }, ways: remedy.lines,
                removals: timeline.removals)
            let isShort = timeline.entries.count <= 8
            if isShort || arguments.has(.timeline) || arguments.has(.verbose) { console.text(timeline.lines) }
            reports.write(report, &console)
        })
}

extension Arguments {
    /// Returns a chain for each root of the CAs that issued these chains.
    fileprivate func nextChains(
        after chains: [NewChain], _ stores: [TrustStore], _ policy: TrustPolicy, at now: Date, _ console: inout Console
    ) throws(UsageError) -> [NewChain] {
        let known = try allProviderPools()
        var next: [NewChain] = []
        for chain in chains where !chain.isOfProvider {
            // mutant plan-next-key: false by PlanNextIssuerTests/refused
            if chain.isKey {
                throw .unusable([
                    "\(chain.title) is a key, whose CA isn't known: give today's chain with \(Flag.currentInput.dashed)"
                ])
            }
            let authorities = known.authorities(withAny: try chain.issuers(in: stores, policy, at: now))
            // mutant plan-next-unknown: true by PlanNextIssuerTests/refused
            guard !authorities.isEmpty else {
                throw .unusable([
                    "\(chain.title): the roots of its CA aren't known, only those of "
                        + "\(known.authorityNames.joined(separator: ", ")): give its next chain with "
                        + "\(Flag.newInput.dashed), or a file that has its roots with \(Flag.providers.dashed)"
                ])
            }
            for authority in authorities {
                console.note(of: authority, at: now)
                let roots = NewChain.all(of: authority, names: chain.names, at: now)
                guard !roots.isEmpty else {
                    throw .unusable([
                        "no root of \(authority.title) is one of its roots on \(now.day): name a newer list with "
                            + Flag.providers.dashed
                    ])
                }
                next += roots
            }
        }
        guard !next.isEmpty else {
            throw .unusable([
                "\(Flag.nextIssuer.dashed) needs today's chain: give it with \(Flag.currentInput.dashed) CHAIN.pem"
            ])
        }
        return next
    }
}

/// The number of combinations by standing.
private struct PlanTally {
    let line: String
    let members: [(String, JSON)]

    init(_ cells: [PlanCell], of reader: ReleaseReader, unjudged: [String]) {
        let (releases, unread) = (reader.releases, reader.unread.count)
        func count(_ standings: PlanCell.Standing...) -> Int { cells.count { standings.contains($0.standing) } }
        let ending = cells.count { $0.end != nil }
        let breaks = count(.breaks)
        let verb = breaks == 1 || cells.count == 1 ? "breaks" : "break"
        var parts = ["\(breaks) of \(plural(cells.count, "combination")) \(verb)"]
        if ending > 0 { parts.append("\(ending) \(ending == 1 ? "stops" : "stop") surviving later") }
        if count(.depends) > 0 {
            parts.append("\(count(.depends)) \(count(.depends) == 1 ? "depends" : "depend") on the issuer")
        }
        if count(.notTrusted) > 0 { parts.append("\(count(.notTrusted)) not trusted") }
        if count(.off) > 0 { parts.append("\(count(.off)) with pinning off") }
        if !unjudged.isEmpty {
            parts.append("\(plural(unjudged.count, "pinned host")) not judged")
        }
        if unread > 0 { parts.append("\(plural(unread, "release")) unread") }
        if !reader.irrelevant.isEmpty {
            parts.append("\(plural(reader.irrelevant.count, "file")) irrelevant")
        }
        let broken = Set(cells.filter { $0.standing == .breaks }.map(\.release))
        var share: Double?
        var unshared: [String] = []
        if releases.contains(where: { $0.share != nil }) {
            let sum = broken.map { releases[$0] }.share
            // Without a share, the number of users of a release isn't known.
            for release in broken.sorted().map({ releases[$0] })
            where release.share == nil && !release.isCurrent && !unshared.contains(release.users) {
                unshared.append(release.users)
            }
            let users = "\(Self.text(sum)) % of users have a release that breaks"
            parts.append(
                unshared.isEmpty
                    ? users : "at least \(users) (no share given for \(FirstNames(unshared, limit: 5)))")
            share = sum
        }
        line = parts.joined(separator: ", ")
        members =
            [("combinations", .integer(cells.count)), ("ending", .integer(ending))]
            + PlanCell.Standing.allCases.map { standing in (standing.rawValue, .integer(count(standing))) }
            + [
                ("unread", .integer(unread)), ("irrelevant", .integer(reader.irrelevant.count)),
                ("not_judged", .array(unjudged.map { .string($0) })),
            ]
            + (share.map { share in
                [
                    ("share_percent", .string(Self.text(share))),
                    ("without_share", .array(unshared.map { .string($0) })),
                ]
            } ?? [])
    }

    /// Formats a number with at most two decimals.
    private static func text(_ share: Double) -> String {
        let hundredths = Int((share * 100).rounded())
        let rest = hundredths % 100
        guard rest != 0 else { return "\(hundredths / 100)" }
        let digits = (rest < 10 ? "0" : "") + "\(rest)"
        return "\(hundredths / 100).\(digits.hasSuffix("0") ? String(digits.dropLast()) : digits)"
    }
}

extension PlanCell {
    /// Returns the report entry of the combination.
    fileprivate func entry(_ releases: [Release], _ hosts: [PlannedHost], _ names: KnownNames) -> ReportEntry {
        let pins = pins.map { pin in
            let isMatched = matched.contains { $0.isSameKey(as: pin) }
            return ReportPin(
                title: names.title(pin), pin: pin.description, role: pin.role.rawValue, isBackup: pin.isBackup,
                standing: isMatched ? "matches the new chain" : "not in the new chain", isMatched: isMatched)
        }
        return ReportEntry(
            outcome: severity, subject: releases[release].name, variant: hosts[host].title,
            verdict: word, finding: finding + (end?.text ?? ""), pins: pins, json: json(releases, hosts))
    }

    /// The verdict in JSON and reports.
    private var word: String { end == nil ? standing.rawValue : "ends" }

    fileprivate func json(_ releases: [Release], _ hosts: [PlannedHost]) -> JSON {
        var members: [(String, JSON)] = [
            ("release", .string(releases[release].name)), ("host", .string(hosts[host].title)),
            ("verdict", .string(word)), ("finding", .string(finding)),
            ("matched", .array(matched.map { .string($0.description) })),
            ("needs", .array(essential.map { .string($0.description) })),
        ]
        if let end {
            members += [("until", end.date.map { .string($0.rfc3339) } ?? .null), ("why", .string(end.why))]
        }
        return .object(members)
    }
}

extension Arguments {
    /// Returns the chains and keys of the files that a flag gives.
    fileprivate func chains(_ flag: Flag, _ reader: InputReader) throws(UsageError) -> [NewChain] {
        var chains: [NewChain] = []
        for path in all(flag) { chains += try NewChain.read(path, reader) }
        return chains
    }

    fileprivate func plannedHosts() throws(UsageError) -> [PlannedHost] {
        var hosts: [PlannedHost] = []
        for text in all(.plannedHost) {
            let endpoint = try Target(argument: text).endpoint
            let host = PlannedHost(name: endpoint.name, port: Int(endpoint.port))
            if !hosts.contains(host) { hosts.append(host) }
        }
        return hosts
    }

    fileprivate func shares() throws(UsageError) -> [(name: String, share: Double)] {
        var shares: [(name: String, share: Double)] = []
        for text in all(.share) {
            // Tags may contain an equals sign, but percentages don't.
            guard let sign = text.lastIndex(of: "="), sign > text.startIndex else {
                throw .invalidValue(.share, reason: "\"\(text)\" has no share: write \(Flag.share.valueName ?? "")")
            }
            var number = text[text.index(after: sign)...]
            if number.last == "%" { number.removeLast() }
            guard let share = Self.percentage(number) else {
                throw .invalidValue(.share, reason: "\"\(number)\" isn't a share: write 3% or 0.5%")
            }
            shares.append((String(text[..<sign]), share))
        }
        return shares
    }

    /// Returns the releases of `--against`, or otherwise those that the policy lists and the policy itself.
    fileprivate func releases(
        in environment: CommandEnvironment, _ shares: [(name: String, share: Double)], _ console: inout Console
    ) throws(UsageError) -> ReleaseReader {
        let sources = all(.against)
        let hosts = Set(try plannedHosts().map(\.name.description))
        let host = hosts.count == 1 ? hosts.first : nil
        let dialect = try self.dialect(.from)
        let roots = Dictionary(try namedStores().map { ($0.name, $0.store) }) { first, _ in first }
        var reader: ReleaseReader
        if sources.isEmpty {
            let file = try plannedPolicy(in: environment)
            let slash = file.path.lastIndex(of: "/")
            let directory = slash.map { String(file.path[..<$0]) } ?? "."
            reader = ReleaseReader(
                repository: self[.repository] ?? (directory.isEmpty ? "/" : directory),
                variables: environment.variables(), host: host, dialect: dialect, sources: [directory])
            try set(&reader, roots)
            for release in file.releases {
                reader.read(release.hasPrefix("git:") ? release : resolvedPath(release, besides: file.path), &console)
            }
            if file.releases.isEmpty {
                console.note(
                    "note: \(file.path) lists no \"releases\", so only the policy itself is checked: "
                        + "name released files with --against"
                )
            }
            reader.append(current: file, &console)
        } else {
            guard self[.policy] == nil else {
                throw .unusable(["--policy and --against cannot be used together: name the policy with --against too"])
            }
            reader = ReleaseReader(
                repository: self[.repository] ?? ".", variables: environment.variables(), host: host,
                dialect: dialect, sources: sources)
            try set(&reader, roots)
            for source in sources { reader.read(source, &console) }
        }
        try reader.assign(shares)
        return reader
    }

    private func set(_ reader: inout ReleaseReader, _ roots: [String: TrustStore]) throws(UsageError) {
        reader.target = try targetLevel()
        reader.roots = roots
        reader.allowsUnread = has(.allowUnread)
    }

    /// Returns the calendar of `--calendar`, or that of the policy whose releases are checked.
    fileprivate func plannedCalendar(in environment: CommandEnvironment) throws(UsageError) -> RootCalendar {
        if let calendar = try rootCalendar() { return calendar }
        guard all(.against).isEmpty else { return RootCalendar() }
        let policy = try plannedPolicy(in: environment)
        do throws(PolicyFileError) {
            return try RootCalendar(of: policy)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    private func plannedPolicy(in environment: CommandEnvironment) throws(UsageError) -> PolicyFile {
        if case .policy(let file) = try pinSource() { return file }
        return try Self.usualPolicy(in: environment, orElse: "give --policy FILE, or releases with --against SOURCE")
    }
}
