import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The pins of servers in git's configuration, which git hands to curl.
enum GitPins {
    /// The servers of a section, whatever the spelling of its URL.
    struct Servers: Hashable {
        let pattern: HostPattern
        let port: UInt16?
    }

    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        let git = GitConfiguration(try TextCursor(checking: bytes, path: path))
        let reading = reading(of: git, path: path, &problems)
        guard problems.isEmpty else {
            throw PolicyFileError(problems: problems.sorted, known: reading.policy.rules)
        }
        return reading
    }

    /// Returns a section for each host and port.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        try sections(of: policy).map(\.text).joined()
    }

    /// Returns a configuration in which only the values for the policy's servers are replaced. Those that it lacks get
    /// a section at the end.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let git: GitConfiguration
        do throws(PolicyFileError) {
            git = GitConfiguration(try TextCursor(checking: bytes, path: path))
            // A configuration without pins gets its first ones.
            if !git.entries.isEmpty || git.malformed != nil { _ = try read(bytes, path: path) }
        } catch {
            throw DialectWriteError(error)
        }
        var missing = try sections(of: policy)
        var edit = MarkupEdit(bytes, usualStep: "\t")
        var done: Set<Servers> = []
        var problems = PolicyProblems(path: path)
        // git uses the last value.
        for entry in git.entries.reversed() {
            guard let servers = servers(of: entry, &problems), done.insert(servers).inserted else { continue }
            guard let index = missing.firstIndex(where: { $0.servers == servers }) else {
                // mutant git-removed: continue by GitConfigurationTests/refusedChanges
                throw DialectWriteError(
                    "no rule of the policy pins \(entry.url.map(visibleText) ?? "the other servers") at this port: "
                        + "remove the pins here, or add a rule", at: PolicyLocation(path: path, entry.position))
            }
            let section = missing.remove(at: index)
            let pins = CurlPins.pins(in: entry.text, at: entry.position, &problems)
            if Set(pins.map(\.value)) != Set(section.rule.pins.map(\.value)) {
                edit.replace(entry.range, with: section.value)
            }
        }
        if !missing.isEmpty {
            let isOpen = bytes.last.map { $0 != UInt8(ascii: "\n") } ?? false
            let text = (isOpen ? "\n" : "") + missing.map(\.text).joined()
            edit.replace(bytes.count..<bytes.count, with: text)
        }
        let result = edit.result
        try PinDialect.git.check(result, path: path, says: try write(policy))
        return result
    }

    // MARK: Sections

    /// A section for the servers of a rule at one port.
    private struct Section {
        let servers: Servers
        let rule: CanonicalRule
        /// The pins in quotes, because a semicolon begins a comment elsewhere.
        let value: String

        var text: String {
            let host = servers.pattern.host
            let name = (servers.pattern.scope == .oneLabelBelow ? "*." : "") + (host.contains(":") ? "[\(host)]" : host)
            let port = servers.port.map { $0 == GitPins.usualPort ? "" : ":\($0)" } ?? ""
            return "[http \"https://\(name)\(port)/\"]\n\tpinnedPubkey = \(value)\n"
        }
    }

    private static let usualPort: UInt16 = 443

    private static func sections(of policy: CanonicalPolicy) throws(DialectWriteError) -> [Section] {
        var sections: [Section] = []
        for rule in policy.rules {
            guard rule.patterns.count == 1, let pattern = rule.patterns.first, rule.mode == .enforce,
                pattern.scope == .exact || pattern.scope == .oneLabelBelow
            else {
                throw DialectWriteError(
                    "git can't express the rule for \(rule.title): convert the policy to git first", at: rule.location)
            }
            let value = "\"\(try CurlPins.argument(of: rule))\""
            for port in (rule.ports ?? [Int(usualPort)]).sorted() {
                let servers = Servers(pattern: pattern, port: UInt16(clamping: port))
                sections.append(Section(servers: servers, rule: rule, value: value))
            }
        }
        guard !sections.isEmpty else { throw DialectWriteError("the policy pins no host: add a rule") }
        return sections
    }

    // MARK: Reading

    /// Returns the rules of git, which uses the last value for the URL that is closest to a server's.
    private static func reading(
        of git: GitConfiguration, path: String, _ problems: inout PolicyProblems
    ) -> DialectReading {
        var reading = DialectReading(CanonicalPolicy(rules: [], combination: .closest))
        if let position = git.malformed {
            problems.add("git can't read its configuration from here on: correct this line", at: position)
        } else if git.entries.isEmpty {
            problems.add(
                "no section [http] has pinnedPubkey: write [http \"https://HOST\"] above it",
                at: SourcePosition(line: 1, column: 1))
        }
        let servers = git.entries.map { self.servers(of: $0, &problems) }
        var last: [Servers: Int] = [:]
        for (index, servers) in servers.enumerated() { if let servers { last[servers] = index } }
        for (index, entry) in git.entries.enumerated() {
            guard let servers = servers[index] else { continue }
            let location = PolicyLocation(path: path, entry.position)
            // mutant git-last: true for `last[servers] == index` by GitConfigurationTests/notes
            guard last[servers] == index else {
                reading.notes.append(
                    ConversionNote(
                        .quirk, .either,
                        "git uses only the last pinnedPubkey for a URL, and ignores this one: remove it",
                        at: location, rule: .ignoredSetting))
                continue
            }
            // mutant git-comment: nil by GitConfigurationTests/refused
            if let cut = entry.cut {
                problems.add(
                    "git takes this semicolon for the start of a comment and ignores the pins behind it: put the value "
                        + "in quotes", at: cut, rule: .ignoredSetting)
            }
            let pins = CurlPins.pins(in: entry.text, at: entry.position, &problems)
            reading.policy.rules.append(
                CanonicalRule(
                    patterns: [servers.pattern], ports: servers.port.map { [Int($0)] }, pins: pins,
                    location: location))
        }
        return reading
    }

    /// Returns the servers of a section, or adds a problem.
    static func servers(
        of entry: GitConfiguration.Entry, _ problems: inout PolicyProblems
    ) -> Servers? {
        guard let url = entry.url else { return Servers(pattern: HostPattern("", .every), port: nil) }
        func problem(_ message: String) -> Servers? {
            problems.add("\(quoted(url)) \(message)", at: entry.position)
            return nil
        }
        let rest = url.lowercased().hasPrefix("https://") ? url.dropFirst(8) : ""
        guard !rest.isEmpty else { return problem("isn't the URL of a server with TLS: write https://HOST") }
        let path = rest.drop { $0 != "/" }
        // mutant git-path: false by GitConfigurationTests/refused
        guard path.isEmpty || path == "/" else {
            return problem("is a part of a server, and other paths of it have no pins: remove the path")
        }
        let authority = rest.prefix { $0 != "/" }
        guard !authority.contains("@") else { return problem("counts for one user only: remove the name") }
        var name = authority[...]
        var port = usualPort
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else {
                return problem("has a malformed port: write a number")
            }
            (name, port) = (authority[..<colon], number)
        }
        let isWildcard = name.hasPrefix("*.")
        if isWildcard { name = name.dropFirst(2) }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        do throws(ServerNameError) {
            let name = try ServerName(String(name))
            return Servers(
                pattern: HostPattern(name.description, isWildcard ? .oneLabelBelow : .exact), port: port)
        } catch {
            return problem("has no valid host: \(error)")
        }
    }
}
