import PinctlCommands
import TestPKI
import Testing

@Suite("CL4: the exit code")
struct ExitCodeTests {
    /// A command line, in which `{…}` stands for a file or target, and the exit code it has to end with.
    struct Row: CustomTestStringConvertible {
        let line: String
        let code: Int32

        init(_ code: Int32, _ line: String) {
            self.code = code
            self.line = line
        }

        var testDescription: String { "\(code) \(line)" }
    }

    static let rows = [
        Row(0, "--help"), Row(0, "--version"), Row(0, "help"), Row(0, "help hash"), Row(2, "help nonsense"),
        Row(2, ""), Row(2, "nonsense"), Row(2, "--json"),

        Row(0, "hash {chain}"), Row(0, "hash -q {chain}"), Row(0, "hash --json {chain}"), Row(0, "hash -- {chain}"),
        Row(0, "hash --help"), Row(2, "hash"), Row(2, "hash {empty}"), Row(2, "hash {chain} {empty}"),
        Row(2, "hash {broken}"), Row(2, "hash -q {broken}"), Row(2, "hash --json {broken}"), Row(2, "hash /no/such"),
        Row(2, "hash {chain} --as nonsense"), Row(2, "hash -- --help"), Row(2, "hash {folder}"),

        Row(0, "verify {chain} {roots} --host api.test"), Row(0, "verify {chain} {roots} --host api.test --pin {pin}"),
        Row(1, "verify {chain} {roots} --host api.test --pin {strange}"),
        Row(0, "verify {chain} {roots} --host api.test --pin {strange} --pin {pin}"),
        Row(4, "verify {chain} {roots} --host www.test --pin {pin}"),
        Row(4, "verify {chain} {roots} --host www.test --pin {strange}"),
        Row(4, "verify {chain} --ca-file {leaf} --host www.test"),
        Row(4, "verify {leaf} {roots} --host api.test"),
        Row(4, "verify {chain} {roots} --host api.test --at 2036-01-02"),
        Row(0, "verify {chain} {roots} --host api.test --policy {policy}"),
        Row(1, "verify {chain} {roots} --host api.test --policy {mismatch}"),
        Row(1, "verify {chain} {roots} --host www.test --policy {policy}"),
        Row(2, "verify {chain} {roots} --host api.test --policy {policy} --pin {pin}"),
        Row(2, "verify {chain} {roots} --host api.test --policy {broken}"),
        Row(2, "verify {chain} {roots}"), Row(2, "verify {chain} {roots} --host *.test"),
        Row(2, "verify {chain} {roots} --host api.test --at yesterday"),
        Row(2, "verify {chain} {roots} --host api.test --pin AAAA"), Row(2, "verify {broken} {roots} --host api.test"),
        Row(2, "verify {chain} --ca-file /no/such --host api.test"), Row(2, "verify {chain} {chain} --host api.test"),

        Row(0, "check {roots} --pin {pin} {server}"), Row(0, "check -q {roots} --pin {pin} {server}"),
        Row(1, "check {roots} --pin {strange} {server}"), Row(4, "check {roots} --pin {pin} {wrong-name}"),
        Row(4, "check {roots} --pin {strange} {wrong-name}"), Row(3, "check {roots} --pin {pin} {closed}"),
        Row(3, "check {roots} --pin {pin} {server} {closed}"),
        Row(4, "check {roots} --pin {pin} {closed} {wrong-name}"),
        Row(1, "check {roots} --pin {strange} {closed} {wrong-name} {server}"),
        Row(0, "check {roots} --policy {policy} {server}"), Row(1, "check {roots} --policy {mismatch} {server}"),
        Row(1, "check {roots} --policy {policy} {wrong-name}"),
        Row(1, "check {roots} --policy {policy} {server} x.test"),
        Row(2, "check {roots} --policy {broken} {server}"), Row(2, "check {roots} --policy {policy} gopher://a"),
        Row(2, "check {roots} --pin {pin}"), Row(2, "check {roots} {server}"),
        Row(2, "check --ca-file {empty} --pin {pin} {server}"),
        Row(3, "check {roots} --pin {pin} --timeout 0.2 {stall}"),
        Row(2, "check {roots} --pin {pin} --timeout x {server}"),

        Row(0, "check {roots} --pin {strange} --exit-zero {server}"),
        Row(0, "check {roots} --pin {pin} --exit-zero {closed} {wrong-name}"),
        Row(2, "check {roots} --pin {pin} --exit-zero gopher://a"),
        Row(0, "check {roots} --pin {pin} --max-unreachable 50% {server} {closed}"),
        Row(3, "check {roots} --pin {pin} --max-unreachable 100% {closed}"),
        Row(1, "check {roots} --pin {pin} --fail-on warning --warn-within 36500d {server}"),
        Row(2, "check {roots} --pin {pin} --fail-on never {server}"),
        Row(2, "check {roots} --pin {pin} --baseline {chain} {server}"),
        Row(2, "check {roots} --pin {pin} --targets /no/such"), Row(0, "check {roots} --pin {pin} --files {chain}"),
        Row(1, "check {roots} --pin {strange} --files {chain}"), Row(4, "check {roots} --pin {pin} --files {leaf}"),
        Row(2, "check {roots} --pin {pin} --files {empty}"),

        Row(2, "verify {chain} {roots} --host="), Row(0, "explain {pin} --in {server}"),
        Row(3, "explain {pin} --in {closed}"), Row(3, "explain {pin} --in {chain} --in {closed}"),

        Row(0, "init {roots} {server}"), Row(0, "init {roots} {server} -o {folder}/new.jsonc"),
        Row(2, "init {roots} {server} -o {chain}"), Row(4, "init {roots} {wrong-name}"),
        Row(3, "init {roots} {closed}"),
        Row(4, "init {roots} {server} {closed} {wrong-name}"), Row(2, "init {roots}"), Row(2, "init {roots} http://a"),

        Row(0, "lint {policy}"), Row(1, "lint {slot}"), Row(1, "lint {unknown-key}"), Row(1, "lint {policy} {slot}"),
        Row(2, "lint /no/such"), Row(2, "lint {slot} /no/such"),
    ]

    @Test("is the worst of what happened", arguments: rows)
    func code(row: Row) async throws {
        let site = try Site()
        let policy = try site.policy("\"\(site.leaf.key.pin)\"")
        var words = [
            "{chain}": site.chain, "{roots}": "--ca-file=\(site.anchors)", "{folder}": site.folder.path,
            "{leaf}": try site.folder.add(site.leaf.pemText), "{pin}": try site.leaf.key.pin, "{strange}": strangePin,
            "{empty}": try site.folder.add(""), "{policy}": policy, "{mismatch}": try site.policy("\"\(strangePin)\""),
            "{broken}": try site.folder.add(site.leaf.pemText + site.leaf.pemText.replacing("MII", with: "!II")),
            "{slot}": try site.policy("\"\(strangePin)\"", rule: "\"x-backup-slot\": \"none\","),
            "{unknown-key}": try site.policy("\"\(strangePin)\"", rule: "\"subdomain\": true,"),
        ]
        func run() async -> Run {
            await pinctl(
                row.line.split(separator: " ").map { word in
                    words.reduce(String(word)) { $0.replacing($1.key, with: $1.value) }
                })
        }
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        words["{closed}"] = closed.target()
        try await site.serve(script: .stall) { stalled in
            words["{stall}"] = stalled.target()
            try await site.serve { server in
                words["{server}"] = server.target()
                words["{wrong-name}"] = server.target("www.test")
                let run = await run()
                #expect(run.status == row.code, "\(run.output)\(run.errors)")
                if row.line.contains("-q ") { #expect(run.output == "") }
            }
        }
    }

    @Test("tell the worst of several outcomes: 2, 1, 4, 3, 0")
    func precedence() {
        let order: [ExitCode] = [.good, .couldNotCheck, .notTrusted, .finding, .badInput, .internalError]
        for (index, worse) in order.enumerated() {
            for better in order[...index] {
                var status = better
                status.record(worse)
                #expect(status == worse)
                status.record(better)
                #expect(status == worse)
            }
        }
    }
}
