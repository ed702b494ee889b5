import CertificatePinning
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let find = CommandDefinition(
        name: "find", summary: "find every pin in a source tree, and compare the places", operands: "[DIR…]",
        operandCount: 0...Int.max, flags: [.at, .report, .annotations],
        notes: [
            "find searches DIR, by default the working directory, for pins: in files of known dialects,",
            "and in source code, scripts, configuration and documentation, where a pin is recognized by",
            "its form and the words around it. In a work tree of git, ignored files are skipped. Binary",
            "files and links are skipped too.",
            "",
            "For each host, find lists its pins with their places, and the places that lack a pin that",
            "another one has for the same names. Pins in comments, documentation, tests, unused",
            "constants, disabled or expired rules and removed lines of patches, and pins that a client",
            "refuses or ignores, are listed, and aren't missed elsewhere.",
            "",
            "The exit code is 0 if all places agree, 1 if two of them disagree on a host or if there are",
            "no pins at all, and 2 if a pin file is empty, can't be read or has settings that are errors,",
            "if a pin is damaged, or if code compares certificates or keys in a way that isn't read. A",
            "comment pinctl-allow unread-pins: REASON on its line or above allows such code.",
        ],
        examples: [
            ("Find the pins of an app", "pinctl find"),
            ("Fail a CI job if two places disagree", "pinctl find -q app ios"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let time = try arguments.time(in: environment)
            let reports = try arguments.reports(in: environment, &console)
            var report = Report(command: "find", time: time, policy: nil)
            report.rules = [
                ReportRule(
                    identifier: "pins_disagree", summary: "A place lacks a pin of its host that another place has"),
                ReportRule(identifier: "no_pins", summary: "The directory has no pins"),
            ]
            var finder = PinFinder(at: time, variables: environment.variables())
            let operands = arguments.operands.isEmpty ? ["."] : arguments.operands
            for operand in operands { await finder.search(operand) }
            for note in finder.notes + [finder.omission].compactMap(\.self) { console.note("note: \(note)") }
            let agreement = finder.agreement
            for host in agreement.hosts {
                console.result(host.lines, host.json, host.disagrees ? .finding : .good)
                report.entries += host.entries
            }
            for problem in finder.problems {
                let location = problem.location
                console.problem(
                    location.line > 0 ? problem.description : "\(location): \(problem.message)", .badInput,
                    members: [("file", .string(location.path))]
                        + (location.line > 0 ? [("line", .integer(location.line))] : []))
                report.entries.append(
                    ReportEntry(
                        outcome: .badInput, subject: location.path, verdict: "bad_input", finding: problem.message,
                        location: location, json: nil))
            }
            // What couldn't be read may have pins.
            if agreement.hosts.isEmpty, finder.problems.isEmpty {
                let message =
                    "no pins: \(operands.joined(separator: " ")) pins nothing: give the directory of the sources"
                console.problem(message, .finding)
                report.entries.append(
                    ReportEntry(
                        outcome: .failed, subject: operands.joined(separator: " "), verdict: "no_pins",
                        finding: message, json: nil))
            }
            report.closing = finder.summary(of: agreement)
            console.summarize(report.closing, finder.members(of: agreement))
            reports.write(report, &console)
        })
}

extension PinFinder {
    /// The line that ends the text, such as `12 places, 5 pins, 2 hosts: 1 host disagrees (310 files searched)`.
    func summary(of agreement: PinAgreement) -> String {
        let hosts = agreement.hosts.filter { $0.host != nil }
        let bad = hosts.count(where: \.disagrees)
        // mutant find-closing: true for `problems.isEmpty` by FindTests
        let agreed = problems.isEmpty ? "no disagreement" : "no disagreement in the rest"
        let verdict =
            (problems.isEmpty ? "" : plural(problems.count, "problem") + ", ")
            + (bad == 0 ? agreed : plural(bad, "host") + (bad == 1 ? " disagrees" : " disagree"))
        let skipped = tooLarge.isEmpty ? "" : ", \(FirstNames(tooLarge)) too large to be searched"
        let files = "\(grouped(fileCount)) file\(fileCount == 1 ? "" : "s")"
        return "\(plural(agreement.placeCount, "place")), \(plural(agreement.pinCount, "pin")), "
            + "\(plural(hosts.count, "host")): \(verdict) (\(files) searched\(skipped))"
    }

    func members(of agreement: PinAgreement) -> [(String, JSON)] {
        [
            ("places", .integer(agreement.placeCount)), ("pins", .integer(agreement.pinCount)),
            ("hosts", .integer(agreement.hosts.count { $0.host != nil })),
            ("disagreeing", .integer(agreement.hosts.count(where: \.disagrees))), ("files", .integer(fileCount)),
            ("links", .integer(linkCount)), ("too_large", .array(tooLarge.map { .string($0) })),
        ]
    }
}

extension PinnedHost {
    /// The text output: a line with the verdict, and each pin with its places.
    fileprivate var lines: [String] {
        let count = "\(plural(pins.count, "pin")) in \(plural(places.count, "place"))"
        let verdict = disagrees ? "FAIL \(host ?? "")" : host.map { "ok \($0)" } ?? "no host known"
        return ["\(verdict): \(count)\(disagrees ? ", which disagree" : "")"]
            + pins.flatMap { key in
                ["  \(key.pin)"] + key.sightings.map { "    \($0.location) (\($0.remark))" }
                    + key.missing.map { "    missing in \($0.title)" }
                    + (key.moreMissing > 0 ? ["    missing in \(plural(key.moreMissing, "more place"))"] : [])
            }
    }

    fileprivate var json: JSON {
        [
            "type": "host", "host": host.map { .string($0) } ?? .null, "agrees": .bool(!disagrees),
            "pins": .array(
                pins.map { key in
                    .object(
                        [
                            ("pin", .string(key.pin.description)),
                            ("kind", .string(key.pin.content == .certificate ? "certificate" : "key")),
                            ("digest", .string(key.pin.digest.rawValue)),
                            ("places", .array(key.sightings.map(Self.place))),
                            ("missing", .array(key.missing.map { .string($0.title) })),
                        ] + (key.moreMissing > 0 ? [("more_missing", .integer(key.moreMissing))] : []))
                }),
        ]
    }

    private static func place(_ sighting: PinSighting) -> JSON {
        .object(
            members(sighting.location) + [
                ("dialect", sighting.dialect.map { .string($0.rawValue) } ?? .null),
                ("in_force", .bool(sighting.isInForce)), ("standing", .string(sighting.standing.rawValue)),
                ("host", sighting.host.map { .string($0) } ?? .null), ("scope", .string(sighting.scope.rawValue)),
            ] + (sighting.value.map { [("value", .object(members($0)))] } ?? []))
    }

    private static func members(_ location: PolicyLocation) -> [(String, JSON)] {
        [
            ("file", .string(location.path)), ("line", .integer(location.line)),
            ("column", .integer(location.column)),
        ]
    }

    /// The entries of reports: one for each place that lacks pins, at its first pin, or one for the host. Only the
    /// first has the results, which are those of all places.
    fileprivate var entries: [ReportEntry] {
        let count = "\(plural(pins.count, "pin")) in \(plural(places.count, "place"))"
        guard disagrees else {
            let first = pins.first?.sightings.first?.location
            return [
                ReportEntry(
                    outcome: .ok, subject: host ?? "no host known", verdict: "ok", finding: count, location: first,
                    json: json)
            ]
        }
        return lacking.enumerated().map { index, lack in
            let there = lack.pin.sightings.first { $0.isInForce }.map { ", which \($0.location) has" } ?? ""
            let more = lack.count > 1 ? ", and \(plural(lack.count - 1, "more pin"))" : ""
            return ReportEntry(
                outcome: .failed, subject: host ?? "", variant: lack.place.title, verdict: "pins_disagree",
                finding: "lacks \(lack.pin.pin)\(there)\(more)", location: lack.position,
                json: index == 0 ? json : nil)
        }
    }
}

extension PinSighting {
    /// The dialect or the form by which the pin was found, the names that it is for unless these are the host alone,
    /// its standing unless it is in force, and the position of the constant that has its value.
    fileprivate var remark: String {
        // mutant find-scope: "" by ScriptTests
        let names = scope == .exact ? "" : host.map { ", \(HostPattern($0, scope).title())" } ?? ""
        return (dialect?.rawValue ?? "text") + names + (standing == .inForce ? "" : ", \(standing.rawValue)")
            + (value.map { ", value at \($0)" } ?? "")
    }
}
