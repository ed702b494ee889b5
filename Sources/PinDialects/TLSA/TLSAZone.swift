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

    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        var reader = ZoneReader(try TextCursor(checking: bytes, path: path))
        let found = reader.records(ofType: ["TLSA", "TYPE52", "CNAME"], &problems)
        let records = TLSAAliases(found).applied(to: found, &problems)
        var notes: [ConversionNote] = []
        if records.isEmpty {
            notes.append(
                ConversionNote(
                    .quirk, .unchanged, "no pins: the zone has no TLSA record: write _443._tcp.HOST. IN TLSA 3 1 1",
                    at: PolicyLocation(path: path, line: 1, column: 1), rule: .pinsNothing))
        }
        var services: [Service] = []
        var rules: [Service: CanonicalRule] = [:]
        for record in records {
            let location = PolicyLocation(path: path, record.position)
            guard let service = service(record, &problems), let data = TLSARecord(record, &problems) else { continue }
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
                let numbers = "\(data.usage) \(data.selector) \(data.matchingType)"
                notes.append(
                    ConversionNote(
                        .quirk, .either, "clients ignore a \(numbers) record: write 3 1 1 or 2 1 1",
                        at: location, rule: .ignoredSetting))
                continue
            }
            if let length = pin.digest.length, pin.value.count != length {
                problems.add(
                    "the record has \(pin.value.count) bytes, but \(pin.digest.rawValue) has \(length): hash the key "
                        + "again",
                    at: record.position)
            } else if rules[service]?.pins.contains(pin) == false {
                rules[service]?.pins.append(pin)
            }
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        return DialectReading(
            CanonicalPolicy(rules: merged(services.compactMap { rules[$0] }, &notes), combination: .union), notes: notes
        )
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
    private static func service(_ record: ZoneRecord, _ problems: inout PolicyProblems) -> Service? {
        let labels = record.owner.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        let host = labels.count == 3 ? labels[2].lowercased() : ""
        guard let name = try? ServerName(host), !name.isIPAddress, labels[1].lowercased() == "_tcp" else {
            problems.add(
                "\(quoted(record.owner)) isn't the name of a TLS service: write _443._tcp.HOST. in front of the record",
                at: record.position)
            return nil
        }
        if labels[0] == "*" { return Service(host: name.description, port: nil) }
        guard labels[0].hasPrefix("_"), labels[0].dropFirst().utf8.allSatisfy(\.isDigit),
            let port = Int(labels[0].dropFirst()), (1...65_535).contains(port)
        else {
            problems.add("\(quoted(String(labels[0]))) isn't a port: write _443", at: record.position)
            return nil
        }
        return Service(host: name.description, port: port)
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
