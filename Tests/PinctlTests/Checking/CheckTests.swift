import CertificatePinning
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl check")
struct CheckTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func check(_ words: String..., variables: [String: String] = [:]) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile] + words, variables: variables)
    }

    @Test("check prints the pins that match, and sends the server no application data")
    func matched() async throws {
        try await site.serve { server in
            let policy = try site.policy(
                "{ \"pin\": \"\(try site.root.key.pin)\", \"role\": \"root\" }, \"\(unknownPin)\"")
            let run = await check("--policy", policy, server.target())
            let subject = "api.test:\(server.port) via 127.0.0.1:\(server.port)"
            #expect(
                run.lines == ["ok    \(subject)  matched \(try site.root.key.pin) (root)", "1 checked: 1 ok"])
            #expect(run.errors == "")
            #expect(run.status == 0)
            // One handshake, and one that asks for the other kind of key.
            let records = await server.ended(2)
            #expect(records.count == 2)
            #expect(records.allSatisfy { $0.serverName == "api.test" })
            #expect(records.allSatisfy { $0.applicationBytes.isEmpty && !$0.handshakeCompleted })
        }
    }

    @Test("A list of targets without any is an error, also beside another one", arguments: [1, 2])
    func emptyLists(count: Int) async throws {
        let lists = try (0..<count).map { try site.directory.add("# none\n\n", name: "list\($0)") }
        let run = await pinctl(["check", "--pin", unknownPin] + lists.flatMap { ["--targets", $0] })
        let names = lists.joined(separator: ", ")
        #expect(run.errors == "pinctl: --targets: nothing to check in \(names): give at least one target\n", "\(run)")
        #expect(run.status == 2 && run.lines == ["0 checked"], "\(run)")
    }

    @Test("A mismatch prints what is served, what is pinned and what to do")
    func mismatch() async throws {
        try await site.serve { server in
            let policy = try site.directory.add(
                """
                { "version": 1,
                  "pins": {
                    "api-2026": { "pin": "\(unknownPin)", "role": "leaf" },
                    "backup-27": { "pin": "\(try site.root.key.pin)", "role": "leaf", "backup": true } },
                  "domains": [
                    { "host": "api.test", "pins": ["api-2026", "backup-27"] } ] }
                """, name: "pins.jsonc")
            let run = await check("--policy", policy, server.target())
            #expect(
                run.lines == [
                    "FAIL  api.test:\(server.port) via 127.0.0.1:\(server.port)  "
                        + "pin mismatch: 0 of 2 pins match (policy \(policy):6:5)",
                    "  verified path                                                      pinned",
                    "  leaf          \(try site.leaf.key.pin)  \(unknownPin)  leaf          api-2026   not served",
                    "  intermediate  \(try site.intermediate.key.pin)  \(try site.root.key.pin)  "
                        + "leaf          backup-27  backup, served as root",
                    "  root          \(try site.root.key.pin)",
                    "  leaf          CN=api.test, valid from 2026-01-01 until 2036-01-01 (3329 d), served",
                    "  intermediate  CN=Test Intermediate, valid from 2026-01-01 until 2036-01-01 (3329 d), served",
                    "  root          CN=Test Root, valid from 2026-01-01 until 2036-01-01 (3329 d), store",
                    "  cause: the key of backup-27 is on the path as root, but the pin counts only as leaf",
                    "  do: \(ifYours), give the pin the role root, or pin the key that has the role leaf\(ifNotYours)",
                    "  cause: the server has a new key, in a certificate valid since 2026-01-01",
                    "  do: if this change is yours (confirm it as above), serve a pinned or backup key again, because "
                        + "released apps keep their pins, and keep that key when you renew; if not, "
                        + "don't pin any served key",
                    "1 checked: 1 failed",
                ])
            #expect(run.status == 1)
        }
    }

    @Test("check reports when only a backup matches, when pinning is off and when clients only report")
    func modes() async throws {
        try await site.serve { server in
            let pin = try site.leaf.key.pin
            let backup = try site.policy("{ \"pin\": \"\(pin)\", \"backup\": true }, \"\(unknownPin)\"")
            let onBackup = await check("--policy", backup, server.target())
            #expect(
                onBackup.lines[0].hasSuffix(
                    "matched \(pin) (leaf), a backup only: ship the pin of the next backup key"))
            #expect(onBackup.status == 0)
            let off = await check(
                "--policy", try site.policy("\"\(unknownPin)\"", rule: "\"mode\": \"off\","), server.target())
            #expect(off.lines[0].contains("  trusted; pinning is off for this rule (policy "))
            #expect(off.status == 0)
            let report = await check(
                "--policy", try site.policy("\"\(unknownPin)\"", rule: "\"mode\": \"report\","), server.target())
            #expect(report.lines[0].hasPrefix("FAIL  "))
            #expect(report.lines[0].hasSuffix("; mode report: clients report it and connect"))
            #expect(report.status == 1)
        }
    }

    @Test("Without a target, check checks every host of the policy at the ports of its rule")
    func everyHost() async throws {
        let other = try site.root.leaf("127.0.0.1") { $0.alternativeNames = [.ip([127, 0, 0, 1])] }
        try await site.serve([other]) { first in
            try await site.serve { second in
                let policy = try site.directory.add(
                    """
                    { "version": 1, "domains": [
                      { "host": "127.0.0.1", "ports": [\(first.port), \(second.port)], \
                    "pins": ["\(try other.key.pin)"] } ] }
                    """, name: "pins.jsonc")
                let run = await check("--in-order", variables: ["PINCTL_POLICY": policy])
                // The second server's certificate is for another hostname.
                let wanted = [(first.port, "ok  "), (second.port, "FAIL")].sorted { $0.0 < $1.0 }
                let results = run.lines.filter { $0.hasPrefix("ok  ") || $0.hasPrefix("FAIL") }
                #expect(results.count == 2)
                #expect(zip(results, wanted).allSatisfy { $0.hasPrefix("\($1.1)  127.0.0.1:\($1.0)  ") })
                #expect(run.lines.last == "2 checked: 1 ok, 1 not trusted")
                #expect(run.status == 4)
            }
        }
    }

    @Test("check connects to the targets that a rule lists, with that rule's settings")
    func settings() async throws {
        try await site.serve { server in
            let policy = try site.policy(
                "\"\(try site.root.key.pin)\"", rule: #""check": { "targets": ["\#(server.target())"] },"#)
            let run = await check("--policy", policy)
            #expect(run.lines.last == "1 checked: 1 ok")
            #expect(run.status == 0)
            let more = try site.policy(
                "\"\(try site.root.key.pin)\"",
                rule: #""check": { "targets": ["\#(server.target())"], "keys": "ecdsa", "allAddresses": true },"#)
            let asked = await check("--policy", more, "--json")
            #expect(asked.output.contains("\"key\":\"ecdsa\""))
            #expect(asked.output.contains("\"address\":\"127.0.0.1:\(server.port)\""))
            #expect(asked.status == 0)
        }
        let wrong = try site.policy("\"\(unknownPin)\"", rule: #""check": { "targets": ["gopher://a.test"] },"#)
        let run = await check("--policy", wrong)
        let problem = "the target \"gopher://a.test\" of \"check\": unsupported scheme \"gopher\""
        #expect(run.errors.contains("\(wrong):3:1: \(problem)"))
        #expect(run.status == 2)
    }

    @Test("check reports an expired rule and a denied key")
    func ended() async throws {
        try await site.serve { server in
            let pin = "\"\(try site.root.key.pin)\""
            for (action, text) in [("fail", "so it rejects every server"), ("stop-pinning", "PINNING IS OFF")] {
                let rule = #""expires": "2026-01-02", "onExpiry": "\#(action)","#
                let run = await check("--policy", try site.policy(pin, rule: rule), server.target())
                #expect(run.lines.first?.hasPrefix("FAIL") == true)
                #expect(run.lines.first?.contains(text) == true)
                #expect(run.status == 1)
                let json = await check("--json", "--policy", try site.policy(pin, rule: rule), server.target())
                #expect(json.output.contains("\"verdict\":\"expired\",\"trusted\":true"))
            }
            let policy = try site.directory.add(
                """
                { "version": 1, "deny": [\(pin)], "domains": [{ "host": "api.test", "pins": ["\(unknownPin)"] }] }
                """)
            let run = await check("--policy", policy, server.target())
            #expect(run.lines.first?.contains("the policy denies \(try site.root.key.pin), the root") == true)
            #expect(run.status == 1)
        }
    }

    @Test("check reads pins/pins.jsonc, or reports that there is no policy")
    func lookup() async throws {
        let none = try await shell("pinctl check", in: site.directory)
        #expect(
            none.errors == "pinctl: no policy was given, and the default, pins/pins.jsonc, doesn't exist: "
                + "give --policy FILE, or --pin, or create one with pinctl init\n")
        #expect(none.output == "")
        #expect(none.status == 2)
        let broken = try await shell("mkdir pins; echo '{' >pins/pins.jsonc; pinctl check", in: site.directory)
        #expect(broken.errors.hasPrefix("pinctl: pins/pins.jsonc:2:1: error: "))
        #expect(broken.errors.contains("\npinctl: no policy was given, so the default is pins/pins.jsonc: give"))
        let policy = try site.policy("\"\(unknownPin)\"", host: "unlisted.test")
        let run = try await shell(" cp \(policy) pins/pins.jsonc; pinctl check api.test", in: site.directory)
        #expect(
            run.lines == [
                "FAIL  api.test:443  not covered: pins/pins.jsonc has no rule for it: add one", "1 checked: 1 failed",
            ])
        #expect(run.status == 1)
    }

    @Test("check distinguishes unreachable, untrusted and matching servers")
    func outcomes() async throws {
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        try await site.serve { server in
            let run = await check(
                "--in-order", "--pin", try site.leaf.key.pin, closed.target(), server.target("www.test"),
                server.target())
            #expect(run.lines[0].hasPrefix("??    api.test:\(closed.port) via 127.0.0.1:\(closed.port)  unreachable: "))
            #expect(run.lines[0].contains("onnection refused"))
            #expect(
                run.lines[1].contains(
                    "  not trusted [name-mismatch]: leaf (CN=api.test): hostname mismatch (certificate is valid for "
                        + "api.test, not www.test)"))
            #expect(run.lines[2].hasPrefix("ok    api.test:"))
            #expect(run.lines[3] == "3 checked: 1 ok, 1 not trusted, 1 unreachable")
            #expect(run.status == 4)
            #expect(await check("--pin", try site.leaf.key.pin, closed.target(), server.target()).status == 3)
            #expect(
                await check("--pin", unknownPin, closed.target(), server.target(), server.target("x.test")).status == 1)
        }
    }

    @Test("CL11: With --in-order, results for many targets are printed in the order of the targets")
    func order() async throws {
        try await site.serve { server in
            let targets = (0..<60).map { index in
                index % 3 == 0 ? "api.test:\(index + 1)@127.0.0.1:\(server.port)" : server.target("host-\(index).test")
            }
            let run = await pinctl(
                ["check", "--in-order", "--ca-file", site.rootFile, "--pin", try site.leaf.key.pin] + targets)
            #expect(run.lines.count == 63)
            for (index, line) in run.lines.prefix(60).enumerated() {
                #expect(line.hasPrefix(index % 3 == 0 ? "ok    api.test:\(index + 1) " : "FAIL  host-\(index).test:"))
            }
            #expect(run.lines[60].hasPrefix("40 hosts (host-1.test:"))
            #expect(
                run.lines[60].hasSuffix(
                    " and 37 more): not trusted [name-mismatch]: hostname mismatch, the certificate of CN=api.test is "
                        + "for other names"))
            #expect(run.lines[61].hasPrefix("  do: connect to a hostname that the certificate is valid for"))
            #expect(run.lines.last == "60 checked: 20 ok, 40 not trusted")
        }
    }

    @Test("check times out when a server doesn't answer")
    func timeout() async throws {
        try await site.serve(script: .stall) { server in
            let run = await check("--pin", unknownPin, "--timeout", "0.2", server.target())
            #expect(run.lines[0].hasPrefix("??    "))
            #expect(run.lines[0].contains("connected, no TLS answer within 0.2 s: "))
            #expect(run.status == 3)
        }
    }

    @Test("check trusts a test CA only if it is in the trust store")
    func systemRoots() async throws {
        try await site.serve { server in
            let run = await pinctl(
                "check", "--pin", try site.leaf.key.pin, server.target(), variables: ["SSL_CERT_FILE": site.chainFile])
            #expect(run.status == 0)
            let other = try site.directory.add(TestCertificate.root("Another Root").pemText)
            let refused = await pinctl(
                "check", "--pin", try site.leaf.key.pin, server.target(), variables: ["SSL_CERT_FILE": other])
            #expect(refused.lines[0].contains("not trusted ["))
            #expect(refused.status == 4)
        }
    }

    struct Document: Decodable {
        struct Result: Decodable {
            let target: String
            let verdict: String
            let trusted: Bool?
        }
        struct Summary: Decodable {
            let checked: Int
            let good: Int
            let couldNotCheck: Int
            let verdict: String
            let exitCode: Int32
        }
        let results: [Result]
        let summary: Summary
    }

    @Test("CL5: The counts in the JSON summary agree with the results and the exit code")
    func json() async throws {
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        try await site.serve { server in
            let run = await check("--json", "--pin", try site.leaf.key.pin, closed.target(), server.target())
            let document = try run.decoded(as: Document.self)
            #expect(document.results.map(\.verdict) == ["unreachable", "ok"])
            #expect(document.results.map(\.trusted) == [nil, true])
            #expect(document.results[0].target == "api.test:\(closed.port) via 127.0.0.1:\(closed.port)")
            #expect(document.summary.checked == 2)
            #expect(document.summary.good == 1)
            #expect(document.summary.couldNotCheck == 1)
            #expect(document.summary.verdict == "could_not_check")
            #expect(document.summary.exitCode == run.status)
            #expect(run.status == 3)
        }
    }

    @Test("PE19: The JSON contains the digest of the policy that was used")
    func digest() async throws {
        try await site.serve { server in
            let policy = try site.policy("\"\(try site.root.key.pin)\"")
            let digest = try PinningPolicy(contentsOfFile: policy).digest
            let run = await check("--json", "--policy", policy, server.target())
            let digits = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(run.output.contains("\"policy_digest\":\"\(digits)\""))
        }
    }
}
