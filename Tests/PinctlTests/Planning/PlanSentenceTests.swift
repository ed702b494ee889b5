import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// The sentences below a matrix, checked against the matrix and against plans for the chains that they recommend, for
/// releases and chains from a seed.
@Suite("pinctl plan, its sentences follow from its matrix")
struct PlanSentenceTests {
    private let site: PinctlSite
    private let roots: [TestCertificate]
    private let rootFile: String
    /// The keys by the names of their pins.
    private let keys: [String: TestKey]

    init() throws {
        site = try PinctlSite()
        let other = try TestCertificate.root("Other Root")
        roots = [site.root, other]
        rootFile = try site.directory.add(roots.map(\.pemText).joined(), name: "roots.pem")
        keys = [
            "a": site.leaf.key, "b": try TestKey(), "c": try TestKey(), "root": site.root.key, "other": other.key,
        ]
    }

    private struct Generator {
        var state: UInt64

        mutating func number(below limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }

        mutating func one<Value>(_ values: [Value]) -> Value { values[number(below: values.count)] }
    }

    private static let hosts = ["api.test", "pay.test"]

    private func chain(_ key: String, under root: Int, _ names: [String]) throws -> String {
        let issuer = root < roots.count ? roots[root] : try TestCertificate.root("Nobody's Root")
        var leaf = TestCertificate.Settings.server(names)
        leaf.notAfter = Int64(testTime.timeIntervalSince1970) + 80 * 86_400
        return try site.directory.add(issuer.issue(leaf, key: keys[key]).pemText)
    }

    private func release(_ generator: inout Generator, _ index: Int) throws -> String {
        var (rules, roles) = ([String](), [String: String]())
        for name in keys.keys {
            roles[name] = ["root", "other"].contains(name) ? "ca" : "leaf"
        }
        if generator.number(below: 2) == 0 { roles = roles.mapValues { _ in "any" } }
        for host in Self.hosts where host == "api.test" || generator.number(below: 2) == 0 {
            var pins = ["a", "b", "c"].filter { _ in generator.number(below: 3) == 0 }
            pins += ["root", "other"].filter { _ in generator.number(below: 4) == 0 }
            if pins.isEmpty { pins = ["b"] }
            let isMixed = pins.contains { roles[$0] == "leaf" } && pins.contains { roles[$0] == "ca" }
            let require = isMixed && generator.number(below: 2) == 0 ? #""require": ["leaf", "ca"],"# : ""
            let expiry = generator.one([
                "", "", "", #""expires": "2026-06-01", "onExpiry": "fail","#,
                #""expires": "2026-06-01", "onExpiry": "stop-pinning","#,
                #""expires": "2026-12-15", "onExpiry": "fail","#,
            ])
            let mode = generator.one(["", "", "", "", #""mode": "off","#, #""mode": "report","#])
            let list = pins.map { "\"\($0)\"" }.joined(separator: ", ")
            rules.append(#"{ "host": "\#(host)", \#(mode) \#(expiry) \#(require) "pins": [\#(list)] }"#)
        }
        let named = try keys.map { name, key in
            #""\#(name)": { "pin": "\#(try key.pin)", "role": "\#(roles[name] ?? "any")" }"#
        }
        let denied = generator.number(below: 8) == 0 ? #""deny": ["\#(try #require(keys["c"]).pin)"],"# : ""
        return try site.directory.add(
            """
            { "version": 1, \(denied) "pins": { \(named.sorted().joined(separator: ", ")) },
              "domains": [\(rules.joined(separator: ", "))] }
            """, name: "app-\(index)-\(generator.state).jsonc")
    }

    private struct Document: Decodable {
        struct Result: Decodable {
            let release: String?
            let host: String?
            let verdict: String?
        }
        struct Entry: Decodable {
            let name: String?
            let wayBackFor: [String]
            let removable: String
        }
        struct Summary: Decodable { let timeline: [Entry] }
        let results: [Result]
        let summary: Summary
    }

    private static let failing: Set = ["breaks", "not_trusted", "ends", "unread"]

    @Test("What makes a change safe makes it safe, for hundreds of plans", arguments: 0..<12)
    func sentences(seed: Int) async throws {
        var generator = Generator(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 7)
        for _ in 0..<30 {
            let releases = try (0...generator.number(below: 3)).map { try release(&generator, $0) }
            let names = generator.one([Self.hosts, Self.hosts, ["api.test"]])
            let root = generator.one([0, 0, 0, 1, 1, 2])
            let new = try chain(generator.one(["a", "b", "c", "c"]), under: root, names)
            let second = generator.number(below: 4) == 0 ? try chain("b", under: 0, names) : nil
            let current = generator.one([nil, site.chainFile, try chain("a", under: 0, Self.hosts)])
            let within = generator.number(below: 3) == 0 ? ["--fail-within", "60d"] : []
            let words =
                ["plan", "--timeline", "--ca-file", rootFile] + releases.flatMap { ["--against", $0] } + within
                + (current.map { ["--current", $0] } ?? [])
            let news = [new] + (second.map { [$0] } ?? [])
            let run = await pinctl(words + news.flatMap { ["--new", $0] })
            guard run.status != 2 else {
                Issue.record("\(run)")
                continue
            }
            let json = await pinctl(words + news.flatMap { ["--new", $0] } + ["--json"])
            let document = try json.decoded(as: Document.self)
            let context = Comment(rawValue: "\(run.output)\n\(words) \(news)")
            try await check(run, document, releases, context) { key, file in
                let changed = try chain(key, under: root, names)
                return await pinctl(
                    words + news.flatMap { ["--new", file == nil || $0 == file ? changed : $0] } + ["--json"])
            }
            for entry in document.summary.timeline {
                // No advice to remove a key that a server has.
                let isToday = entry.name == "a" && current != nil || entry.name == "root" && current != nil
                #expect(!(isToday && entry.removable.hasPrefix("now")), context)
                for release in entry.wayBackFor {
                    let key = try #require(entry.name)
                    var connects = false
                    let authority = key == "root" ? 0 : key == "other" ? 1 : nil
                    for leaf in authority == nil ? [key] : ["a", "b", "c"] {
                        for issuer in authority.map({ [$0] }) ?? [0, 1] {
                            let other = await pinctl(
                                words + ["--new", try chain(leaf, under: issuer, names), "--json"])
                            let rows = try other.decoded(as: Document.self).results.filter { $0.release == release }
                            let isSame = document.results.filter { $0.release == release }
                            connects =
                                connects
                                || zip(rows, isSame).contains { $1.verdict == "breaks" && $0.verdict != "breaks" }
                        }
                    }
                    #expect(connects, "\(key) for \(release): \(context)")
                }
            }
        }
    }

    /// Checks the sentence about safety. `replan` plans with another key of the leaf in one file, or in all.
    private func check(
        _ run: Run, _ document: Document, _ releases: [String], _ context: Comment,
        _ replan: (String, String?) async throws -> Run
    ) async throws {
        let bad = document.results.filter { Self.failing.contains($0.verdict ?? "") }
        let safe = run.lines.first { $0.hasPrefix("the change is safe ") }
        let other = run.lines.first { $0.hasPrefix("the breaks end ") || $0.hasPrefix("the other breaks end ") }
        #expect(!bad.isEmpty || safe == nil && other == nil, context)
        #expect((run.status != 0) == !bad.isEmpty, context)
        let isWholly = Self.hosts.contains { host in
            let rows = document.results.filter { $0.host == host }
            return !rows.isEmpty && rows.allSatisfy { $0.verdict == "not_trusted" }
        }
        guard let sentence = safe ?? other else {
            // Without a sentence, nothing but other certificates or the day of an expiry would help.
            let isUncovered = run.output.contains("the new certificate lacks")
            #expect(bad.isEmpty || isWholly || isUncovered || bad.allSatisfy { $0.verdict == "ends" }, context)
            return
        }
        if let when = sentence.firstRange(of: "when ") {
            let text = String(sentence[when.upperBound...])
            let end = text.firstRange(of: " is retired") ?? text.firstRange(of: " are retired")
            let retired = Set(text[..<(try #require(end)).lowerBound].split(separator: ", ").map(String.init))
            #expect(retired.isSubset(of: releases), context)
            let left = document.results.filter { !retired.contains($0.release ?? "") }
            let still = left.filter { Self.failing.contains($0.verdict ?? "") || $0.verdict == "depends" }
            if safe != nil { #expect(still.isEmpty, context) }
            #expect(
                !still.contains { $0.verdict == "breaks" } || safe == nil && sentence.hasPrefix("the other"), context)
            for name in retired {
                #expect(bad.contains { $0.release == name && $0.verdict != "ends" }, context)
            }
        }
        guard let range = sentence.firstRange(of: "uses key ") else { return }
        let file = sentence.firstRange(of: "if the leaf of ").map { start in
            String(sentence[start.upperBound...].prefix { $0 != " " })
        }
        for key in String(sentence[range.upperBound...]).split(separator: " or ") {
            let again = try await replan(String(key), file)
            let rows = try again.decoded(as: Document.self).results
            let broken = rows.filter { $0.verdict == "breaks" || $0.verdict == "not_trusted" }
            let allowed = safe == nil ? Set(bad.map { "\($0.release ?? "") \($0.host ?? "")" }) : []
            #expect(
                broken.allSatisfy { allowed.contains("\($0.release ?? "") \($0.host ?? "")") }, "\(key): \(context)")
            if safe != nil { #expect(again.status == 0, "\(key): \(context)\n\(again.output)") }
        }
    }
}
