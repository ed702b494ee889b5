import PinctlTestPKI
import Testing

@Suite("Remedies for untrusted chains")
struct FileRemedyTests {
    private let site: PinctlSite
    /// A chain in a file, or served: a leaf alone, a chain without its root, one with it, and a self-signed leaf.
    private let chains: [(name: String, file: String, certificates: [TestCertificate])]

    init() throws {
        site = try PinctlSite()
        let alone = try TestCertificate.selfSigned(.server(["buildhost"]))
        let all = [
            ("leaf", [site.leaf]), ("chain", site.chain), ("rooted", site.chain + [site.root]), ("alone", [alone]),
        ]
        var chains: [(name: String, file: String, certificates: [TestCertificate])] = []
        for (name, certificates) in all {
            let text = certificates.map(\.pemText).joined()
            chains.append((name, try site.directory.add(text, name: "remedy-\(name).pem"), certificates))
        }
        self.chains = chains
    }

    @Test("For a chain in a file, no remedy is about a server, and each names the flag that gives a root")
    func files() async throws {
        let policy = try site.policy("\"\(try site.leaf.key.pin)\"")
        for (name, file, _) in chains where name != "alone" {
            let commands = [
                ["plan", "--new", file, "--against", policy, "--host", "api.test"],
                ["verify", file, "--host", "api.test"], ["verify", file, "--host", "api.test", "--policy", policy],
                ["init", "--from", file], ["show", file], ["check", "--files", file, "--policy", policy],
                ["verify", "--json", file, "--host", "api.test"], ["show", "--json", file],
                ["check", "--json", "--files", file, "--policy", policy],
            ]
            for command in commands {
                let run = await pinctl(command)
                let text = run.output + run.errors
                #expect(text.contains("--ca-file"), "\(command): \(text)")
                for word in ["the server send", "the server doesn't send", "on the server", "trust store"] {
                    #expect(!text.contains(word), "\(command): \(text)")
                }
                let isIncomplete = text.contains("add the intermediate certificates to the file")
                #expect(isIncomplete == (name == "leaf") || name == "chain", "\(command): \(text)")
            }
        }
    }

    @Test("For a file with too many certificates or too long a chain, the remedy is about the file")
    func excess() async throws {
        var chain = [site.root]
        for depth in 0..<11 { chain.insert(try chain[0].intermediate("Intermediate \(depth)"), at: 0) }
        chain.insert(try chain[0].leaf("api.test"), at: 0)
        let crowd = [site.leaf] + Array(repeating: site.intermediate, count: 100)
        let policy = try site.policy("\"\(unknownPin)\"")
        for (rule, certificates) in [("budget", crowd), ("path-length", Array(chain.dropLast()))] {
            let file = try site.directory.add(certificates.map(\.pemText).joined())
            for command in [
                ["verify", file, "--host", "api.test"], ["verify", "--json", file, "--host", "api.test"],
                ["check", "--files", file, "--policy", policy],
                ["check", "--json", "--files", file, "--policy", policy],
            ] {
                let run = await pinctl(command + ["--ca-file", site.rootFile])
                #expect(run.status == 4 && run.output.contains(rule), "\(command): \(run)")
                #expect(run.output.contains("leave only the server's chain in the file, leaf first"), "\(run)")
                #expect(!run.output.contains("the server send"), "\(run)")
            }
        }
    }

    @Test("plan names --store for a store of that flag, and no flag for a release with its own roots")
    func stores() async throws {
        let file = chains[1].file
        let other = try site.directory.add(try TestCertificate.root("Other").pemText, name: "other.pem")
        let policy = try site.policy("\"\(try site.leaf.key.pin)\"")
        let store = await pinctl("plan", "--new", file, "--against", policy, "--store", "old=\(other)")
        #expect(store.output.contains("give it with --store") && !store.output.contains("--ca-file"), "\(store)")
        let own = try site.policy(
            "\"\(try site.leaf.key.pin)\"", rule: " \"anchors\": { \"files\": [\"other.pem\"] },")
        let run = await pinctl("plan", "--new", file, "--against", own)
        #expect(run.output.contains("issued by a CA that the release trusts"), "\(run)")
        #expect(!run.output.contains("--ca-file") && !run.output.contains("--store"), "\(run)")
    }

    @Test("For a server, init and show name --ca-file for a private root, and the hostname for a default certificate")
    func servers() async throws {
        for (name, _, certificates) in chains {
            try await site.serve(certificates) { server in
                for command in [["init"], ["show"], ["show", "--pem"]] {
                    let run = await pinctl(command + ["--retries", "0", server.target()])
                    let text = run.output + run.errors
                    #expect(run.status == 4)
                    #expect(!text.contains(": reissue it") && !text.contains("trust store"), "\(command): \(text)")
                    if name == "alone" {
                        #expect(text.contains(": configure the certificate for this hostname"), "\(command): \(text)")
                    } else {
                        #expect(text.contains("give it with --ca-file"), "\(command): \(text)")
                    }
                }
            }
        }
    }

    @Test("A self-signed certificate without names isn't reissued first, because a server may have made it")
    func withoutNames() async throws {
        var settings = TestCertificate.Settings.server(["localhost"])
        settings.alternativeNames = []
        let bare = try TestCertificate.selfSigned(settings)
        try await site.serve([bare]) { server in
            for command in ["init", "show"] {
                let run = await pinctl(command, "--retries", "0", server.target())
                let text = run.output + run.errors
                let first =
                    "configure the certificate for this hostname on the server, or, if this self-signed one is meant, "
                #expect(text.contains(first + "reissue it with subjectAltName DNS:api.test"), "\(text)")
            }
        }
    }
}
