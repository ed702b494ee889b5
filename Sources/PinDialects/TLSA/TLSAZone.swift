import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader and writer of TLSA records as lines of a zone file: `_443._tcp.example.com. IN TLSA 3 1 1 …`.
enum TLSAZone {
    /// The host and port that a record's owner refers to.
    private struct Service: Hashable {
        let host: String
        /// The port, or `nil` for `*`, which means all ports.
        let port: Int?
    }

    /// Reads the TLSA records of a zone file, or of a part of one.
    ///
    /// A line that name servers refuse is an error. A record that can't be used doesn't prevent the use of the others,
    /// as in clients, and becomes a note.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        var reader = ZoneReader(try TextCursor(checking: bytes, path: path))
        let found = reader.records(&problems)
        let records = TLSAAliases(found).applied(to: found, &problems)
        var notes: [ConversionNote] = []
        // mutant tlsa-alias-origin: false for 2 by TLSATests/origins
        if let (name, position) = reader.relativeAliases.first, !records.isEmpty {
            notes.append(
                ConversionNote(
                    .quirk, .weaker,
                    "the alias \(quoted(name)) is relative, and the zone has no $ORIGIN, so it has no pins here: write "
                        + "$ORIGIN first", at: PolicyLocation(path: path, position), rule: .misreadSetting))
        }
        var services: [Service] = []
        var rules: [Service: CanonicalRule] = [:]
        for record in records {
            let location = PolicyLocation(path: path, record.position)
            guard let data = TLSARecord(record, &problems) else { continue }
            let service: Service
            switch Self.service(record.owner) {
            case .success(let found): service = found
            case .failure(let reason):
                if notes.count < TextLimits.notes { notes.append(reason.note(of: record.owner, at: location)) }
                continue
            }
            guard rules[service] != nil || services.count < TextLimits.rules,
                rules[service].map({ $0.pins.count < TextLimits.pins }) ?? true
            else {
                problems.add(
                    "there are more than \(TextLimits.rules) hosts, or \(TextLimits.pins) records for one: split the "
                        + "zone",
                    at: record.position)
                continue
            }
            if rules[service] == nil {
                services.append(service)
                rules[service] = CanonicalRule(
                    patterns: [HostPattern(service.host, .exact)], ports: service.port.map { [$0] }, pins: [],
                    location: location)
            }
            guard let pin = data.pin else {
                guard notes.count < TextLimits.notes else { continue }
                let numbers = "\(data.usage) \(data.selector) \(data.matchingType)"
                notes.append(
                    ConversionNote(
                        .quirk, .either, "clients ignore a \(numbers) record: write 3 1 1 or 2 1 1",
                        at: location, rule: .ignoredSetting))
                continue
            }
            if let length = pin.digest.length, pin.value.count != length {
                guard notes.count < TextLimits.notes else { continue }
                notes.append(
                    ConversionNote(
                        .quirk, .stricter,
                        "the record has \(pin.value.count) bytes, but \(pin.digest.rawValue) has \(length), so clients "
                            + "ignore it: hash the key again", at: location, rule: .malformedPin))
            } else if rules[service]?.pins.contains(pin) == false {
                rules[service]?.pins.append(pin)
            }
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        let all = merged(services.compactMap { rules[$0] }, &notes)
        if services.isEmpty {
            let what = records.isEmpty ? "TLSA record" : "TLSA record for a TLS service over TCP"
            notes.append(
                ConversionNote(
                    .quirk, .unchanged, "no pins: the zone has no \(what): write _443._tcp.HOST. IN TLSA 3 1 1",
                    at: PolicyLocation(path: path, line: 1, column: 1), rule: .pinsNothing))
        }
        return DialectReading(CanonicalPolicy(rules: all, combination: .union), notes: notes)
    }

    /// Returns what the digests of a zone's TLSA records are of, even if a record is for no host.
    static func contents(in bytes: [UInt8]) -> [[UInt8]: CanonicalPin.Content] {
        guard let cursor = try? TextCursor(checking: bytes, path: "") else { return [:] }
        var problems = PolicyProblems(path: "")
        var reader = ZoneReader(cursor)
        var contents: [[UInt8]: CanonicalPin.Content] = [:]
        for record in reader.records(&problems) where record.kind == .tlsa {
            guard let pin = TLSARecord(record, &problems)?.pin, pin.digest == .sha256 else { continue }
            contents[pin.value] = pin.content
        }
        return contents
    }

    /// Merges rules for the same host with the same pins, and drops rules without pins, which pin nothing (RFC 6698,
    /// section 4.1).
    private static func merged(_ rules: [CanonicalRule], _ notes: inout [ConversionNote]) -> [CanonicalRule] {
        var merged: [CanonicalRule] = []
        var indices: [[String]: Int] = [:]
        for rule in rules {
            guard !rule.pins.isEmpty else {
                notes.append(
                    ConversionNote(
                        .quirk, .weaker,
                        "\(visibleText(rule.patterns[0].host)) has no record that clients can use, so it isn't "
                            + "pinned: add one",
                        at: rule.location, rule: .pinsNothing))
                continue
            }
            let key = [rule.patterns[0].host] + rule.pins.map { "\($0.role) \($0.trust) \($0)" }
            if let index = indices[key], let ports = rule.ports, merged[index].ports != nil {
                merged[index].ports?.formUnion(ports)
            } else {
                indices[key] = merged.count
                merged.append(rule)
            }
        }
        return merged
    }

    /// Parses the host and port of an owner such as `_443._tcp.example.com`.
    private static func service(_ owner: String) -> Result<Service, UnusableOwner> {
        let labels = owner.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        let type = labels.count == 3 ? labels[1].lowercased() : ""
        guard type.hasPrefix("_") else {
            return .failure(owner.hasPrefix("*.") ? .wildcard : owner.hasPrefix("_") ? .target : .noService)
        }
        if ["_udp", "_sctp", "_dccp"].contains(type) { return .failure(.otherTransport(type)) }
        guard type == "_tcp" else { return .failure(.noService) }
        let host = labels[2].lowercased()
        if host.split(separator: ".").contains("*") { return .failure(.innerWildcard) }
        guard let name = try? ServerName(host), !name.isIPAddress else { return .failure(.noService) }
        if labels[0] == "*" { return .success(Service(host: name.description, port: nil)) }
        guard labels[0].hasPrefix("_"), labels[0].dropFirst().utf8.allSatisfy(\.isDigit),
            let port = Int(labels[0].dropFirst()), (1...65_535).contains(port)
        else { return .failure(.noPort(String(labels[0]))) }
        return .success(Service(host: name.description, port: port))
    }

    /// The reason why an owner isn't a TLS service of a policy.
    private enum UnusableOwner: Error {
        case otherTransport(String)
        /// A wildcard for names below a host, such as `*.example.com`.
        case wildcard
        /// An asterisk that isn't the first label.
        case innerWildcard
        /// A name such as `_dane.example.com`, which aliases in other zones may lead to.
        case target
        case noService
        case noPort(String)

        func note(of owner: String, at location: PolicyLocation) -> ConversionNote {
            func note(_ direction: SecurityDirection, _ message: String, _ rule: LintRule?) -> ConversionNote {
                ConversionNote(.quirk, direction, "\(quoted(owner)) \(message)", at: location, rule: rule)
            }
            return switch self {
            case .otherTransport(let type):
                note(.unchanged, "is for a service over \(type.dropFirst()), whose servers aren't checked", nil)
            case .wildcard:
                note(
                    .weaker,
                    "is for all names below it that have no records of their own, and isn't read: write a "
                        + "record for each service, such as _443._tcp.HOST.", .misreadSetting)
            case .innerWildcard:
                note(
                    .weaker,
                    "isn't a wildcard, because the * isn't the first label, so no client finds this record: "
                        + "write the hostname", .misreadSetting)
            case .target:
                note(
                    .weaker,
                    "isn't a service, and no CNAME in this file leads to it, so it pins nothing here: read the "
                        + "zones with its aliases together with it", .misreadSetting)
            case .noService:
                note(
                    .weaker,
                    "isn't the name of a TLS service, so clients don't find this record: write "
                        + "_443._tcp.HOST. in front of the record", .pinsNothing)
            case .noPort(let label):
                note(
                    .weaker,
                    "has no port, because \(quoted(label)) isn't one, so clients don't find this record: "
                        + "write _443", .pinsNothing)
            }
        }
    }

    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var lines = ""
        for rule in policy.rules {
            guard !rule.pins.isEmpty else {
                throw DialectWriteError("a host without pins has no records: remove its rule", at: rule.location)
            }
            for pattern in rule.patterns {
                guard pattern.scope == .exact, let name = try? ServerName(pattern.host), !name.isIPAddress else {
                    throw DialectWriteError(
                        "\(visibleText(pattern.host)) has no records of its own: convert the policy to TLSA first",
                        at: rule.location)
                }
                for owner in rule.ports.map({ $0.sorted().map { "_\($0)" } }) ?? ["*"] {
                    for pin in rule.pins {
                        guard let record = TLSARecord(pin) else {
                            throw DialectWriteError(
                                "a record can't express the pin \(pin) as \(pin.role.rawValue): convert the policy "
                                    + "to TLSA first",
                                at: rule.location)
                        }
                        lines += "\(owner)._tcp.\(name). IN TLSA \(record)\n"
                    }
                }
            }
        }
        return lines
    }
}
