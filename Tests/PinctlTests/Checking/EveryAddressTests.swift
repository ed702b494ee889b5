import CertificatePinning
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The addresses and the keys that `check` looks at, in a network of its own.
@Suite("Every address and every key")
struct EveryAddressTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private static let hasNamespaces = TestCommand.isPresent(
        "unshare", "-mn", "sh", "-c", "ip link set lo up && mount --bind /etc/hosts /etc/hosts")

    /// Runs a script where `api.test` has these addresses, and `openssl s_server` serves the site's chain, or another
    /// certificate, at some of them. This machine has a route to 127.0.0.0/8 and to `::1` alone.
    private func network(
        _ addresses: [String], serving servers: [(address: String, certificate: String)], _ script: String
    ) async throws -> Run {
        _ = try site.directory.add(addresses.map { "\($0) api.test\n" }.joined(), name: "hosts")
        _ = try site.directory.add(site.leaf.key.privateKeyPEM, name: "leaf.key")
        _ = try site.directory.add(site.leaf.pemText, name: "leaf.pem")
        let unrelated = try site.intermediate.leaf("api.test")
        _ = try site.directory.add(unrelated.key.privateKeyPEM, name: "unrelated.key")
        _ = try site.directory.add(unrelated.pemText, name: "unrelated.pem")
        _ = try site.directory.add(site.intermediate.pemText, name: "intermediate.pem")
        let start = servers.map { server in
            let host = server.address.contains(":") ? "[\(server.address)]" : server.address
            return
                "openssl s_server -quiet -accept \(host):443 -cert \(server.certificate).pem -key "
                + "\(server.certificate).key -cert_chain intermediate.pem > /dev/null 2>&1 & servers=\"$servers $!\"\n"
                + "for n in {1..100}; do (: > /dev/tcp/\(server.address)/443) 2> /dev/null && break; sleep 0.05; done\n"
        }.joined()
        _ = try site.directory.add(
            """
            ip link set lo up; mount --bind hosts /etc/hosts
            \(start)
            check="pinctl check --at 2026-11-20 --ca-file root.pem --pin \(try site.leaf.key.pin) --timeout 60"
            \(script)
            [ -z "$servers" ] || kill $servers
            """, name: "script")
        // libdispatch needs the /proc of the namespace.
        return try await shell("unshare -mn --pid --fork --kill-child --mount-proc bash script", in: site.directory)
    }

    @Test(
        "Each address of a name is checked, and a wrong key behind one of them fails the run",
        .enabled(if: hasNamespaces, "network namespaces take privileges"))
    func addresses() async throws {
        let run = try await network(
            ["127.0.0.2", "127.0.0.3", "::1"],
            serving: [("127.0.0.2", "leaf"), ("127.0.0.3", "leaf"), ("::1", "unrelated")],
            """
            $check --in-order --failures api.test; echo $?
            $check --first --in-order api.test@127.0.0.2; echo $?
            """)
        let failures = run.lines.filter { $0.hasPrefix("FAIL") }
        #expect(failures.count == 1 && failures[0].contains("api.test:443 ([::1]:443)  pin mismatch"), "\(run)")
        #expect(run.lines.contains("3 checked: 2 ok, 1 failed"))
        #expect(run.lines.filter { ["0", "1", "3"].contains($0) } == ["1", "0"])
    }

    @Test(
        "One host with a wrong certificate at each of its addresses suggests no captive portal",
        .enabled(if: hasNamespaces, "network namespaces take privileges"))
    func sameHost() async throws {
        let places = ["127.0.0.2", "127.0.0.3", "::1"]
        let run = try await network(
            places, serving: places.map { ($0, "leaf") },
            "mv hosts other; sed s/api.test/b.test/ other > hosts\n"
                + "mount --bind hosts /etc/hosts; $check b.test; echo $?")
        #expect(run.lines.contains("3 checked: 3 not trusted") && run.lines.last == "4", "\(run)")
        #expect(!run.output.contains("captive portal"), "\(run)")
    }

    @Test(
        "An address without a route is noted, and is a failure only if no other was judged or if it must be checked",
        .enabled(if: hasNamespaces, "network namespaces take privileges"),
        arguments: ["2001:db8::1", "192.0.2.7"])
    func unrouted(address: String) async throws {
        let shown = address.contains(":") ? "[\(address)]:443" : "\(address):443"
        let run = try await network(
            [address, "127.0.0.2"], serving: [("127.0.0.2", "leaf")],
            """
            $check api.test; echo $?
            $check --quiet api.test; echo quiet $?
            $check --all-addresses api.test > all; echo all $?
            $check api.test:444 | grep -v '^ '; echo refused ${PIPESTATUS[0]}
            """)
        #expect(run.lines.first == "ok    api.test:443  matched \(try site.leaf.key.pin) (leaf)", "\(run)")
        #expect(run.lines.dropFirst().prefix(4) == ["1 checked: 1 ok", "0", "quiet 0", "all 3"])
        let notes = run.errors.split(separator: "\n")
        #expect(
            notes.first == "pinctl: note: api.test:443: this machine has no route to \(shown), so it was not checked")
        #expect(notes.count == 1)
        // Nothing accepted a connection, so there is one failure, with both addresses.
        let rest = run.lines.drop { $0 != "all 3" }.dropFirst()
        #expect(rest.count { $0.hasPrefix("??") } == 1 && rest.contains("1 checked: 1 unreachable"), "\(run)")
        #expect(
            rest.first?.contains(shown.replacing(":443", with: ":444")) == true
                && rest.first?.contains("127.0.0.2:444") == true, "\(run)")
        #expect(rest.last == "refused 3")
    }

    @Test(
        "An address that refuses a connection fails the run, because clients are sent there",
        .enabled(if: hasNamespaces, "network namespaces take privileges"))
    func refused() async throws {
        let run = try await network(
            ["127.0.0.2", "127.0.0.3"], serving: [("127.0.0.2", "leaf")],
            """
            $check --in-order api.test | grep -v '^ '; echo ${PIPESTATUS[0]}
            $check --first api.test | tail -n 1
            """)
        #expect(run.lines.contains("2 checked: 1 ok, 1 unreachable") && run.lines.contains("3"), "\(run)")
        #expect(run.lines.last == "1 checked: 1 ok")
    }

    @Test(
        "A name to none of whose addresses there is a route is unreachable",
        .enabled(if: hasNamespaces, "network namespaces take privileges"),
        arguments: [["192.0.2.7"], ["192.0.2.7", "2001:db8::1"]])
    func unroutedOnly(addresses: [String]) async throws {
        let run = try await network(addresses, serving: [], "$check api.test; echo $?")
        #expect(run.lines.count == 3 && run.lines[1...] == ["1 checked: 1 unreachable", "3"], "\(run)")
        #expect(run.lines.first?.contains("check this machine's network, which has no route to") == true)
        #expect(run.errors.isEmpty)
    }

    @Test(
        "A name without an address of the requested family is shown with the addresses that it has",
        .enabled(if: hasNamespaces, "network namespaces take privileges"),
        arguments: [
            (["192.0.2.7"], "-6", "has no IPv6 address, only 192.0.2.7: leave out --ipv6"),
            (["127.0.0.2", "127.0.0.3"], "-6", "has no IPv6 address, only 127.0.0.2, 127.0.0.3: leave out --ipv6"),
            (["2001:db8::1"], "-4", "has no IPv4 address, only 2001:db8::1: leave out --ipv4"),
        ])
    func family(addresses: [String], flag: String, text: String) async throws {
        let run = try await network(
            addresses, serving: [], "$check \(flag) api.test; echo $?; $check \(flag) --first api.test")
        let line = "??    api.test:443  unreachable: api.test \(text), or give a host with such an address"
        #expect(run.lines == [line, "1 checked: 1 unreachable", "3", line, "1 checked: 1 unreachable"], "\(run)")
    }

    @Test(
        "A name that leads only to this machine, where nothing answers, points to DNS",
        .enabled(if: hasNamespaces, "network namespaces take privileges"),
        arguments: [["127.0.0.1"], ["0.0.0.0"], ["::1", "127.0.0.1"]])
    func blocked(addresses: [String]) async throws {
        let run = try await network(addresses, serving: [], "$check api.test; $check localhost; $check 127.0.0.1")
        #expect(run.lines.count { $0.hasPrefix("??") } == 3, "\(run)")
        let hint = "; the name resolves to this machine, so check DNS and /etc/hosts too"
        #expect(run.lines.count { $0.contains(hint) } == 1 && run.lines.first?.hasSuffix(hint) == true, "\(run)")
    }

    @Test(
        "The other kind of key is checked too if the server has it", arguments: [TestKey.Kind.p256, .rsa2048],
        [LoopbackServer.TLSVersion.tls12, .tls13])
    func keys(kind: TestKey.Kind, version: LoopbackServer.TLSVersion) async throws {
        let leaf = try site.intermediate.leaf("api.test", key: try .shared(kind))
        let other = try site.intermediate.leaf("api.test", key: try .shared(kind == .p256 ? .rsa2048 : .p256))
        let server = try LoopbackServer(chain: [leaf, site.intermediate]) {
            $0.otherChain = [other, site.intermediate]
            $0.protocolVersions = version...version
        }
        try await server.run { server in
            func check(_ words: String...) async throws -> Run {
                await pinctl(["check", "--ca-file", site.rootFile, server.target()] + words)
            }
            for (pin, ok) in [
                (try leaf.key.pin, kind == .p256 ? "ECDSA" : "RSA"),
                (try other.key.pin, kind == .p256 ? "RSA" : "ECDSA"),
            ] {
                let run = try await check("--pin", pin)
                #expect(run.status == 1 && run.lines.last == "2 checked: 1 ok, 1 failed", "\(run)")
                #expect(
                    run.lines.contains {
                        $0.hasPrefix("ok ") && $0.contains("127.0.0.1:\(server.port), \(ok))  matched")
                    })
                #expect(run.lines.contains { $0.hasPrefix("FAIL") && $0.contains("key mismatch") })
            }
            #expect(try await check("--pin", try site.root.key.pin).lines.last == "2 checked: 2 ok")
            let before = server.records.count
            #expect(try await check("--first", "--pin", try site.root.key.pin).lines.last == "1 checked: 1 ok")
            #expect(server.records.count == before + 1)
            #expect(try await check("--keys=auto", "--pin", try site.root.key.pin).lines.last == "1 checked: 1 ok")
            for words in [["--first", "--all-addresses"], ["--first", "--keys=both"]] {
                let run = await pinctl(["check", "--pin", unknownPin, server.target()] + words)
                #expect(run.status == 2 && run.errors.contains("--first makes one handshake"))
            }
        }
    }

    @Test(
        "A rule's settings restrict the keys and addresses, and --first overrides them",
        arguments: [
            (#""keys": "auto""#, 1), (#""keys": "both""#, 2), (#""allAddresses": false"#, 2),
            (#""allAddresses": true"#, 2),
            (#""keys": "rsa""#, 1), ("", 2),
        ])
    func settings(setting: String, count: Int) async throws {
        let leaf = try site.intermediate.leaf("api.test", key: try .shared(.p256))
        let other = try site.intermediate.leaf("api.test", key: try .shared(.rsa2048))
        let server = try LoopbackServer(chain: [leaf, site.intermediate]) {
            $0.otherChain = [other, site.intermediate]
        }
        try await server.run { server in
            let policy = try site.policy("\"\(try site.root.key.pin)\"", rule: "\"check\": { \(setting) },")
            let words = ["check", "--policy", policy, "--ca-file", site.rootFile, server.target()]
            #expect(await pinctl(words).lines.last == "\(count) checked: \(count) ok")
            #expect(await pinctl(words + ["--first"]).lines.last == "1 checked: 1 ok")
        }
    }

    @Test(
        "A server with one kind of key has one result, as with one handshake",
        arguments: [
            TestKey.Kind.p256, .rsa2048, .ed25519,
        ])
    func single(kind: TestKey.Kind) async throws {
        let leaf = try site.intermediate.leaf("api.test", key: try .shared(kind))
        try await site.serve([leaf, site.intermediate]) { server in
            let words = ["check", "--ca-file", site.rootFile, "--pin", try leaf.key.pin, server.target()]
            let run = await pinctl(words)
            let first = await pinctl(words + ["--first"])
            #expect(run.status == 0 && run.lines == first.lines, "\(run)")
        }
    }
}
