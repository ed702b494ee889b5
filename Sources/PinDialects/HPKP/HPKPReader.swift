import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of Public-Key-Pins: the value of a header field, the header of a response with one or both of the fields,
/// or the configuration of nginx or Apache that adds them.
enum HPKPReader {
    /// Reads the header that a server with this hostname sends. Without a hostname, the rule applies to every host.
    static func read(_ bytes: [UInt8], path: String, host: String? = nil) throws(PolicyFileError) -> DialectReading {
        var cursor = try TextCursor(checking: bytes, path: path)
        var problems = PolicyProblems(path: path)
        var reading = DialectReading(CanonicalPolicy(rules: [], combination: .carveOut))
        var seen: Set<Server> = []
        let values =
            HPKPConfiguration.isRecognized(in: bytes)
            ? configured(HPKPConfiguration(cursor, bytes), host, path: path, &problems)
            : (fields(cursor) ?? [(start(&cursor), false)]).map { ($0.0, $0.1, Server(number: 0, host: host)) }
        for (var cursor, isReportOnly, server) in values {
            let (location, host) = (PolicyLocation(path: path, cursor.position), server.host)
            guard seen.insert(server.with(isReportOnly)).inserted else {
                reading.notes.append(
                    ConversionNote(
                        .quirk, .either, "clients read only the first field with this name: remove this one",
                        at: location, rule: .ignoredSetting))
                continue
            }
            let header = HPKPHeader(&cursor, isReportOnly: isReportOnly, problems: &problems)
            reading.policy.rules.append(rule(header, host, location))
            reading.notes += notes(header, host, location)
        }
        if let host, (try? ServerName(host))?.isIPAddress ?? true {
            problems.add(
                "clients don't pin \(quoted(host)): use the hostname, not an address",
                at: SourcePosition(line: 1, column: 1))
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        return reading
    }

    /// A server with its own header.
    private struct Server: Hashable {
        let number: Int
        let host: String?
        var isReportOnly = false

        func with(_ isReportOnly: Bool) -> Server {
            Server(number: number, host: host, isReportOnly: isReportOnly)
        }
    }

    /// Returns the fields of a configuration. Those of a server that has no single name are for `host`.
    private static func configured(
        _ configuration: HPKPConfiguration, _ host: String?, path: String, _ problems: inout PolicyProblems
    ) -> [(TextCursor, Bool, Server)] {
        if configuration.fields.isEmpty {
            problems.add(
                "no add_header or Header sets Public-Key-Pins here: name the file that does",
                at: SourcePosition(line: 1, column: 1))
        }
        var fields: [(TextCursor, Bool, Server)] = []
        for field in configuration.fields {
            if let problem = field.problem {
                problems.add(problem, at: field.value.position)
            } else {
                let server = Server(number: field.block, host: configuration.host(of: field) ?? host)
                fields.append((field.value, field.isReportOnly, server))
            }
        }
        return fields
    }

    private static func start(_ cursor: inout TextCursor) -> TextCursor {
        _ = cursor.take { $0.isBlank || $0.isLineEnd }
        return cursor
    }

    /// Returns the start of the value of each of the two fields, or `nil` if no line contains either.
    private static func fields(_ cursor: TextCursor) -> [(TextCursor, isReportOnly: Bool)]? {
        var cursor = cursor
        var fields: [(TextCursor, Bool)] = []
        while cursor.byte != nil {
            let name = String(decoding: cursor.take(while: HPKPHeader.isTokenByte), as: UTF8.self).lowercased()
            if name == "public-key-pins" || name == "public-key-pins-report-only", cursor.take(":") {
                fields.append((cursor, name != "public-key-pins"))
            }
            _ = cursor.take { !$0.isLineEnd }
            cursor.step()
        }
        return fields.isEmpty ? nil : fields
    }

    private static func rule(_ header: HPKPHeader, _ host: String?, _ location: PolicyLocation) -> CanonicalRule {
        let scope: HostPattern.Scope =
            host == nil ? .every : header.includesSubdomains ? .exactAndBelow : .exact
        return CanonicalRule(
            patterns: [HostPattern(host ?? "", scope)], pins: header.pins,
            mode: header.isReportOnly ? .report : .enforce,
            expiry: header.isReportOnly ? nil : header.maxAge.map { RuleExpiry(.age($0), .stopPinning) },
            reports: header.reportURI.map { [$0] } ?? [], location: location)
    }

    private static func notes(_ header: HPKPHeader, _ host: String?, _ location: PolicyLocation) -> [ConversionNote] {
        var notes = header.passedOver.map { message, direction, position, rule in
            ConversionNote(.quirk, direction, message, at: PolicyLocation(path: location.path, position), rule: rule)
        }
        func note(_ direction: SecurityDirection, _ message: String, _ rule: LintRule? = nil) {
            notes.append(ConversionNote(.quirk, direction, message, at: location, rule: rule))
        }
        if header.isReportOnly, header.maxAge != nil {
            note(.unchanged, "clients ignore max-age in a report-only header")
        }
        if !header.isReportOnly, header.maxAge == 0 {
            note(.weaker, "max-age=0 tells clients to delete the pins, so nothing is pinned", .pinsNothing)
        }
        if !header.isReportOnly, let age = header.maxAge, age > RuleExpiry.longestAge {
            note(
                .weaker, "browsers keep pins for at most \(RuleExpiry.longestAge) seconds, not for \(age)",
                .misreadSetting)
        }
        if host == nil, header.includesSubdomains {
            note(.weaker, "includeSubDomains is lost, because the header doesn't contain its host: give it with --host")
        }
        return notes
    }
}
