import CertificatePinning
import PinctlBasics

/// The CNAME records of a zone, which lead clients to the TLSA records of other names (RFC 7671, section 7).
struct TLSAAliases {
    private var targets: [String: String] = [:]

    /// The longest chain of aliases that is followed, the same as in resolvers.
    private static let longestChain = 16
    /// The maximum number of records that aliases may produce: every host and record of a zone within the limits.
    private static let maximumRecords = 100_000

    init(_ records: [ZoneRecord]) {
        for record in records {
            guard let target = record.target else { continue }
            targets[record.owner.lowercased()] = target
        }
    }

    /// Returns the TLSA records of `records`, once for every service that leads to them.
    ///
    /// Such a service is an alias of the record's owner, or the same service of a host that is an alias of the owner's
    /// host.
    func applied(to records: [ZoneRecord], _ problems: inout PolicyProblems) -> [ZoneRecord] {
        let aliases = records.filter { $0.kind == .alias }
        let records = records.filter { $0.kind == .tlsa }
        guard !targets.isEmpty, !records.isEmpty else { return records }
        var services: [String: [String]] = [:]
        var hosts: [String: [String]] = [:]
        for alias in aliases {
            guard let end = end(of: alias.owner.lowercased()) else {
                problems.add(
                    "\(quoted(alias.owner)) is an alias of itself, or of more than \(Self.longestChain) others: use "
                        + "the owner of its records", at: alias.position)
                continue
            }
            let owner = alias.owner.lowercased()
            if Self.host(of: owner) == nil {
                hosts[end, default: []].append(owner)
            } else {
                services[end, default: []].append(owner)
            }
        }
        var direct: [ZoneRecord] = []
        for record in records {
            let owners = services[record.owner.lowercased()] ?? []
            if owners.isEmpty || Self.host(of: record.owner) != nil { direct.append(record) }
            direct += owners.prefix(Self.maximumRecords - min(direct.count, Self.maximumRecords)).map {
                record.renamed($0)
            }
        }
        var expanded: [ZoneRecord] = []
        for record in direct {
            guard let host = Self.host(of: record.owner.lowercased()), let aliases = hosts[host] else { continue }
            let service = record.owner.dropLast(host.count)
            expanded += aliases.prefix(Self.maximumRecords - min(expanded.count, Self.maximumRecords))
                .map { record.renamed(service + $0) }
        }
        if direct.count >= Self.maximumRecords || expanded.count >= Self.maximumRecords {
            problems.add(
                "aliases turn these into more than \(Self.maximumRecords) records: split the zone",
                at: aliases[0].position)
        }
        // Records found through a host's alias take precedence over records of the host's own name.
        let owners = Set(expanded.map { $0.owner.lowercased() })
        return direct.filter { !owners.contains($0.owner.lowercased()) } + expanded
    }

    /// Returns the last name in a chain of aliases, or `nil` if the chain is too long or never ends.
    private func end(of name: String) -> String? {
        var name = name
        for _ in 0...Self.longestChain {
            guard let next = targets[name] else { return name }
            name = next
        }
        return nil
    }

    /// Returns the host of `_443._tcp.example.com`, or `nil` if the name isn't a service.
    private static func host(of owner: String) -> String? {
        let labels = owner.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard labels.count == 3, labels[0].hasPrefix("_") || labels[0] == "*", labels[1].hasPrefix("_") else {
            return nil
        }
        return String(labels[2])
    }
}

extension ZoneRecord {
    /// Returns the same record with another owner.
    fileprivate func renamed(_ owner: String) -> ZoneRecord {
        ZoneRecord(owner: owner, position: position, kind: kind, data: data)
    }
}
