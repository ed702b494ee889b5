import CertificatePinning
import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Policies as Swift source")
struct SwiftTests {
    private static let pins = [
        CanonicalPin(
            .publicKey, .sha256, [UInt8](repeating: 1, count: 32), role: .leaf, name: "a \"key\"\\\n\u{202E}$"),
        CanonicalPin(.certificate, .sha256, [UInt8](repeating: 2, count: 32), role: .ca, isBackup: true),
    ]

    private func rule(_ host: String, _ adjust: (inout CanonicalRule) -> Void = { _ in }) -> CanonicalRule {
        var rule = CanonicalRule(patterns: [HostPattern(host, .exact)], pins: Self.pins)
        adjust(&rule)
        return rule
    }

    @Test("The generated source compiles with this project's modules and yields the policy")
    func compiles() async throws {
        let directory = try TestDirectory()
        let root = try TestCertificate.root("Root")
        let roots = try directory.add(root.pemText, name: "roots.pem")
        let policy = CanonicalPolicy(
            rules: [
                rule("a.example"),
                rule("b.example") {
                    $0.patterns = [HostPattern("b.example", .exactAndBelow)]
                    $0.ports = [8443, 443]
                    $0.requirement = .eachOf([.ca, .leaf])
                    $0.mode = .report
                    $0.expiry = RuleExpiry(.instant(1_798_761_600), .stopPinning)
                    $0.reports = ["https://reports.example/pins"]
                    $0.note = "a \"note\"\n"
                },
                rule("192.0.2.1") { $0.anchors = [AnchorSet(roots)] },
                rule("2001:db8::1") { $0.anchors = [AnchorSet("system"), AnchorSet(roots, bypassesPins: true)] },
            ], combination: .closest, denied: [CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 3, count: 32))],
            unlisted: .refuse)
        let output = try await output(
            of: try SwiftWriter.write(policy), in: directory, environment: ["SSL_CERT_FILE=\(roots)"])
        let pins = Self.pins.map { pin -> String in
            "\(pin) \(pin.role.rawValue) \(pin.isBackup) \(pin.name ?? "-")"
        }.joined(separator: ", ")
        let rules: [String] = [
            "a.example false all any enforce never none nothing - \(pins)",
            "b.example true 443,8443 ca,leaf report 1798761600 stop-pinning none https://reports.example/pins "
                + "a \"note\"\n \(pins)",
            "192.0.2.1 false all any enforce never own nothing - \(pins)",
            "2001:db8::1 false all any enforce never own nothing - \(pins)",
            "refuse sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",
        ]
        #expect(output.split(separator: "\u{1}").map(String.init) == rules)
    }

    /// Prints the policy, each rule after a different marker.
    private static let program = """
        import CertificatePinning
        import CertificateTrust

        func text(_ rule: PinningRule) -> String {
            let ports = rule.ports.map { $0.sorted().map(String.init).joined(separator: ",") } ?? "all"
            var roles = "any"
            if case .eachOf(let named) = rule.requirement \
        { roles = named.map(\\.rawValue).sorted().joined(separator: ",") }
            let end = rule.expiry.map { "\\(Int($0.end.timeIntervalSince1970)) \\($0.action.rawValue)" } ?? "never"
            let pins = rule.pins.map { "\\($0.fingerprint) \\($0.role.rawValue) \\($0.isBackup) \\($0.name ?? "-")" }
            let reports = rule.reports.map(\\.absoluteString).joined(separator: ",")
            return [
                "\\(rule.host)", "\\(rule.includesSubdomains)", ports, roles, rule.mode.rawValue, end,
                rule.anchors == nil ? "none" : "own", reports.isEmpty ? "nothing" : reports, rule.note ?? "-",
                pins.joined(separator: ", "),
            ].joined(separator: " ")
        }
        let policy = try PinningPolicy.pinned()
        for rule in policy.rules { print(text(rule), terminator: "\\u{1}") }
        print(policy.unlisted.rawValue, policy.deny.map { "\\($0.fingerprint)" }.joined(), terminator: "\\u{1}")
        """

    /// The output of the program, compiled with the policy and the modules of the running tests.
    private func output(of policy: String, in directory: TestDirectory, environment: [String]) async throws -> String {
        let program = directory.path + "/program"
        let files = [
            try directory.add(policy, name: "Policy.swift"), try directory.add(Self.program, name: "main.swift"),
        ]
        let modules = [
            "CertificatePinning", "CertificateTrust", "OpenSSLBridge", "PinctlBasics", "PinctlLibC", "PinctlFoundation",
        ]
        let compilation = try await TestBuild.compile(files, with: modules, to: program)
        try #require(compilation.status == 0, "\(policy)\n\(compilation.text)")
        let result = try await TestCommand.runAside(
            ["timeout", "120", program], environment: ["LC_ALL=C", "ASAN_OPTIONS=detect_leaks=0"] + environment)
        try #require(result.status == 0, "\(policy)\n\(result.text)")
        return String(decoding: result.output, as: UTF8.self)
    }

    @Test("A policy that Swift's types can't express is not written")
    func unwritable() throws {
        let rules = [
            rule("a.example") { $0.patterns = [HostPattern("a.example", .oneLabelBelow)] },
            rule("not a host"), rule("a.example") { $0.pins = [] },
            rule("a.example") { $0.pins[0].digest = .sha1 }, rule("a.example") { $0.pins[0].trust = .pinAlone },
            rule("a.example") { $0.expiry = RuleExpiry(.age(1), .fail) },
        ]
        for rule in rules {
            #expect(throws: DialectWriteError.self) {
                try SwiftWriter.write(CanonicalPolicy(rules: [rule], combination: .closest))
            }
        }
    }
}
