import Foundation
import PinctlCommands
import PinctlTestPKI
import Testing

/// The JSON of every command against `pins/results.schema.json`, judged by another program.
@Suite("The schema of results")
struct ResultSchemaTests {
    private static let hasValidator = TestCommand.isPresent("python3", "-c", "import jsonschema")
    private static let schema = Repository.root + "/pins/results.schema.json"

    private static let script = """
        import json, jsonschema, sys
        schema = json.load(open(sys.argv[1]))
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        for line in sys.stdin:
            errors = sorted(validator.iter_errors(json.loads(line)), key=str)
            print(errors[0].message[:300] + " at " + str(list(errors[0].path)) if errors else "valid")
        """

    /// Returns `valid` or the first error for each document.
    private static func judge(_ documents: [String]) throws -> [String] {
        let lines = documents.map { $0.replacing("\n", with: " ") }.joined(separator: "\n")
        let run = try TestCommand.run(
            ["python3", "-c", script, schema], input: lines, environment: ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"])
        try #require(run.status == 0, "\(run.text)")
        return run.text.split(separator: "\n").map(String.init)
    }

    /// Returns the document that has the lines of `--ndjson` as its results.
    private static func document(ofLines text: String) throws -> String {
        var lines = text.split(separator: "\n").map(String.init)
        let last = lines.popLast() ?? ""
        // The summary begins with its type, the schema and the tool.
        let start = "{\"type\":\"summary\","
        let rest = try #require(last.hasPrefix(start) ? last.firstRange(of: "},") : nil)
        return "{" + last[..<rest.lowerBound].dropFirst(start.count) + "},\"results\":["
            + lines.joined(separator: ",") + "],\"summary\":{" + last[rest.upperBound...] + "}"
    }

    @Test(
        "The JSON of every command is valid, whatever the outcome",
        .enabled(if: hasValidator, "python3-jsonschema is not installed: no other validator reads the schema"))
    func valid() async throws {
        let site = try PinctlSite()
        let log = try TestLog("A")
        let logs = try site.directory.add(try TestLog.listJSON([log], published: "2026-11-01T00:00:00Z"))
        let logged = try site.intermediate.leaf("api.test", loggedBy: [log])
        let loggedFile = try site.directory.add(logged.pemText + site.intermediate.pemText)
        let good = try site.policy("\"\(try site.leaf.key.pin)\"")
        let named = try site.directory.add(
            """
            { "version": 1, "deny": ["\(try TestKey().pin)"], \
            "pins": { "old": { "pin": "\(unknownPin)", "role": "leaf" } },
              "domains": [ { "host": "api.test", \
            "pins": ["old", { "pin": "\(try TestKey().pin)", "backup": true }] } ] }
            """)
        let denied = try site.directory.add(
            #"{ "version": 1, "deny": ["\#(try site.leaf.key.pin)"], "domains": [] }"#)
        let other = try site.directory.add(try TestCertificate.root("Other").pemText)
        let android = try site.directory.add(androidText([try site.leaf.key.pin]))
        let broken = try site.directory.add("{ \"version\": 1,\n  \"domain\": [] }")
        let roots = ["--ca-file", site.rootFile]
        let dead = try DeadPort(.refusing)
        let unreachable = "api.test:\(dead.port)@127.0.0.1"
        var runs: [(words: [String], document: String, run: Run)] = []
        func add(_ words: [String]) async {
            let run = await pinctl(words + ["--json"])
            runs.append((words, run.output, run))
        }
        try await site.serve { server in
            let target = server.target()
            let commands: [[String]] = [
                ["check", "--policy", good, target] + roots, ["check", "--policy", named, target] + roots,
                ["check", "--policy", denied, target] + roots, ["check", "--policy", good, "other.test"] + roots,
                ["check", "--pin", try site.leaf.key.pin, target, "--ca-file", other],
                ["check", "--pin", try site.leaf.key.pin, "--keys", "both", target, target] + roots,
                ["check", "--pin", try site.leaf.key.pin, "--require-group", "P-521", target] + roots,
                ["check", "--pin", try site.leaf.key.pin, "--ct-logs", logs, target] + roots,
                ["check", "--pin", try site.leaf.key.pin, unreachable] + roots,
                ["check", "--policy", named, "--exit-zero", target] + roots,
                ["show", target] + roots, ["show", "--ca-file", other, target],
                ["show", unreachable],
                ["explain", "--in", target, unknownPin] + roots,
            ]
            for words in commands { await add(words) }
            let lines = await pinctl(["check", "--policy", named, "--ndjson", target, target, "b ad"] + roots)
            runs.append((["--ndjson"], try Self.document(ofLines: lines.output), lines))
        }
        let commands: [[String]] = [
            ["check", "--policy", good, "--files", site.chainFile] + roots,
            ["check", "--policy", named, "--files", site.chainFile, broken] + roots,
            ["verify", site.chainFile, "--host", "api.test"] + roots,
            ["verify", site.chainFile, "--host", "b.test", "-v"] + roots,
            ["verify", site.chainFile, "--host", "api.test", "--store", "a=\(other)", "--store", "b=\(site.rootFile)"],
            ["verify", loggedFile, "--host", "api.test", "--ct-logs", logs, "--transparency", "require"] + roots,
            ["show", site.chainFile] + roots, ["show", loggedFile, "--ct-logs", logs] + roots, ["show", broken],
            ["show", try site.directory.add(site.leaf.key.privateKeyPEM)],
            ["hash", site.chainFile, "nothing"], ["hash", "--as", "hex", site.chainFile],
            ["hash", "--as", "tlsa", "--expect", unknownPin, site.chainFile],
            ["lint", good, named, broken, "nothing"], ["find", good, named, android], ["find", site.directory.path],
            ["plan", "--new", site.chainFile, "--against", good, "--against", named, "--against", android] + roots,
            ["plan", "--new", site.chainFile, "--against", good, "--against", broken, "--fail-within", "9999d"] + roots,
            ["plan", "--new", site.chainFile, "--against", good, "--share", "\(good)=3%"] + roots,
            ["export", "--to", "okhttp", named], ["export", "--to", "okhttp", "--lossy", named], ["import", android],
            ["explain", "api.test", "--policy", good], ["init", "--host", "x", "y"], ["frob"],
        ]
        for words in commands { await add(words) }
        let key = try TestKey(.ed25519)
        let keyFile = try site.directory.add(key.privateKeyPEM)
        let spki = Data(try key.publicKeyDER).base64EncodedString()
        let keys = try site.directory.add(
            """
            {"version": 1, "audience": "com.example.app", "number": 1, "threshold": 1, "keys": ["\(spki)"]}
            """)
        let bundle = site.directory.path + "/bundle.json"
        for words in [
            ["sign", good, "--keys", keys, "--key", keyFile, "-o", bundle], ["sign", good, "--keys", keys],
            ["sign", broken, "--keys", keys], ["verify", bundle, "--keys", keys],
            ["verify", bundle, "--keys", keys, "--at", "2030-01-01"], ["verify", broken, "--keys", keys],
        ] {
            await add(words)
        }
        let verdicts = try Self.judge(runs.map(\.document))
        #expect(verdicts.count == runs.count)
        for (verdict, (words, _, run)) in zip(verdicts, runs) {
            #expect(verdict == "valid", "\(words.joined(separator: " ")): \(run.output)\(run.errors)")
        }
        // Each outcome was seen.
        #expect(Set(runs.map(\.run.status)).isSuperset(of: [0, 1, 2, 3, 4]))
        let all = runs.map(\.run.output).joined()
        for member in ["host", "port", "rule_place", "file", "line", "column", "diagnosis", "remedy", "cause"] {
            #expect(all.contains("\"\(member)\":"), "\(member)")
        }
    }

    @Test(
        "Documents with other members or values aren't valid",
        .enabled(if: hasValidator, "python3-jsonschema is not installed: no other validator reads the schema"))
    func invalid() async throws {
        let site = try PinctlSite()
        let run = await pinctl(
            "check", "--policy", try site.policy("\"\(try site.leaf.key.pin)\""), "--files", site.chainFile,
            "--ca-file",
            site.rootFile, "--json")
        let changes = [
            ("", ""), ("\"verdict\":\"ok\",\"trusted\"", "\"trusted\""), ("\"port\":443", "\"port\":\"443\""),
            ("\"matched\":true", "\"matched\":1"), ("\"role\":\"leaf\"", "\"roles\":\"leaf\""),
            ("\"exit_code\":0", "\"exit_code\":9"), ("pinctl.check/1", "pinctl.check/2"),
            ("\"mode\":\"enforce\"", "\"mode\":\"on\""), ("\"type\":\"check\"", "\"kind\":\"check\""),
            ("\"not_before\":\"", "\"not_before\":\"on "),
        ]
        let documents = changes.map { change in
            change.0.isEmpty ? run.output : run.output.replacing(change.0, with: change.1)
        }
        #expect(Set(documents).count == changes.count)
        let verdicts = try Self.judge(documents)
        #expect(verdicts.map { $0 == "valid" } == changes.map(\.0.isEmpty), "\(verdicts)")
    }

    @Test("help results prints the schema")
    func help() async throws {
        let schema = try String(contentsOfFile: Self.schema, encoding: .utf8)
        #expect(await pinctl("help", "results").output == schema)
        // A terminal doesn't change it.
        #expect(await pinctl("help", "results", terminal: Terminal(columns: 40)).output == schema)
    }
}
