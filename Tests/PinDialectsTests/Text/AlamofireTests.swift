import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Alamofire's trust evaluators")
struct AlamofireTests {
    private let first: TestCertificate
    private let second: TestCertificate

    init() throws {
        (first, second) = (try TestSite("api.test").leaf, try TestSite("b.test").leaf)
    }

    /// The reading of a program in a project with two certificates, or with these files.
    private func read(_ program: String, files: [(String, [UInt8])]? = nil) throws -> DialectReading {
        let files = files ?? [("Resources/api.cer", first.derBytes), ("Resources/other.DER", second.derBytes)]
        let project = SourceProject { kind in
            var contents = SourceProject.Contents()
            guard kind == .certificate else { return contents }
            for (path, bytes) in files { contents.add(bytes, path: path) }
            return contents
        }
        return try PinDialect.alamofire.read(Array(program.utf8), path: "Client.swift", target: nil, project: project)
    }

    private func problem(_ program: String, files: [(String, [UInt8])]? = nil) -> String {
        do {
            return "read: \(try read(program, files: files).policy)"
        } catch {
            return (error as? PolicyFileError)?.problems.map(\.description).joined(separator: "\n") ?? "\(error)"
        }
    }

    /// A program, with the hosts and the number of pins of each, and what is pinned.
    struct Row: Sendable {
        let program: String
        let hosts: [String]
        let content: CanonicalPin.Content
        let pins: Int
        var name = "api.cer"
    }

    static let rows = [
        Row(
            program: #"let m = ServerTrustManager(evaluators: ["api.test": PublicKeysTrustEvaluator()])"#,
            hosts: ["api.test"], content: .publicKey, pins: 2),
        Row(
            program: """
                let evaluators: [String: any ServerTrustEvaluating] = [
                  "api.test": PinnedCertificatesTrustEvaluator(acceptSelfSignedCertificates: false,
                      performDefaultValidation: true, validateHost: true),
                  // "old.test": PublicKeysTrustEvaluator(),
                  "plain.test": DefaultTrustEvaluator(), "b.test": PinnedCertificatesTrustEvaluator() ]
                """, hosts: ["api.test", "b.test"], content: .certificate, pins: 2),
        Row(
            program: """
                enum Hosts { static let api = "api.test" }
                let keys = PublicKeysTrustEvaluator(keys: Bundle.main.af.publicKeys, validateHost: true)
                let m = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [Hosts.api: keys])
                """, hosts: ["api.test"], content: .publicKey, pins: 2),
        Row(
            program: """
                let m = ServerTrustManager(evaluators: ["api.test": CompositeTrustEvaluator(evaluators: [
                    DefaultTrustEvaluator(), PinnedCertificatesTrustEvaluator()])])
                """, hosts: ["api.test"], content: .certificate, pins: 2),
        Row(
            program: """
                struct Files { static let one = load(forResource: "api", ofType: "cer") }
                let m = ["api.test": PinnedCertificatesTrustEvaluator(certificates: [Files.one])]
                """, hosts: ["api.test"], content: .certificate, pins: 1),
        // Dots in the name of a file.
        Row(
            program: """
                let m = ["api.test": PinnedCertificatesTrustEvaluator(certificates: [file("run.api")])]
                """, hosts: ["api.test"], content: .certificate, pins: 1, name: "run.api.cer"),
        Row(
            program: """
                let policies: [String: ServerTrustPolicy] = ["api.test": .pinPublicKeys(
                    publicKeys: ServerTrustPolicy.publicKeys(), validateCertificateChain: true, validateHost: true)]
                """, hosts: ["api.test"], content: .publicKey, pins: 2),
        Row(
            program: """
                let policies = ["api.test": ServerTrustPolicy.pinCertificates(
                    certificates: ServerTrustPolicy.certificates(in: Bundle.main),
                    validateCertificateChain: true, validateHost: true)]
                """, hosts: ["api.test"], content: .certificate, pins: 2),
    ]

    @Test("A host has the certificates of the bundle, or their keys", arguments: rows)
    func read(row: Row) throws {
        let reading = try read(
            row.program, files: [("Resources/\(row.name)", first.derBytes), ("Resources/other.DER", second.derBytes)])
        #expect(reading.policy.rules.flatMap(\.patterns) == row.hosts.map { HostPattern($0, .exact) })
        #expect(reading.notes.isEmpty, "\(reading.notes)")
        for rule in reading.policy.rules {
            #expect(rule.pins.count == row.pins && rule.pins.allSatisfy { $0.content == row.content }, "\(rule)")
            let certificate = try X509Certificate(derBytes: first.derBytes)
            let expected =
                row.content == .certificate
                ? Array(copying: certificate.fingerprint.bytes.span)
                : Array(copying: certificate.spkiFingerprint.bytes.span)
            #expect(rule.pins.first?.value == expected && rule.pins.first?.name == row.name)
        }
        #expect(PinDialect.allRecognized(in: Array(row.program.utf8)) == [.alamofire])
    }

    @Test("An evaluator that isn't understood is an error that names it")
    func unread() {
        let rows = [
            ("let e = PublicKeysTrustEvaluator()", "1:9: error: PublicKeysTrustEvaluator isn't the value of a host"),
            ("evaluators[host] = PinnedCertificatesTrustEvaluator()", "isn't the value of a host"),
            ("let m = [host(): PublicKeysTrustEvaluator()]", "1:18: error: the host \"host()\" isn't set to a string"),
            (
                "let m = [a: [1, 2], API.host( 1 ): PublicKeysTrustEvaluator()]",
                "the host \"API.host( 1 )\" isn't set to a string"
            ),
            ("configure(policy: PublicKeysTrustEvaluator())", "isn't the value of a host"),
            ("let m = [API.host: PublicKeysTrustEvaluator()]", "the host \"API.host\" isn't set to a string"),
            (#"let m = ["https://api.test": PublicKeysTrustEvaluator()]"#, "is no URL's host"),
            (#"let m = ["*.api.test": PublicKeysTrustEvaluator()]"#, "is no URL's host"),
            (#"let m = ["API.test": PublicKeysTrustEvaluator()]"#, "is no URL's host"),
            (
                #"let m = ["a.test": PublicKeysTrustEvaluator()]; let n = ["a.test": PublicKeysTrustEvaluator()]"#,
                "has two evaluators"
            ),
            (
                #"let m = ["a.test": PublicKeysTrustEvaluator(keys: loaded)]"#,
                "the certificates \"loaded\" aren't known"
            ),
            (
                #"let m = ["a.test": CompositeTrustEvaluator(evaluators: [PublicKeysTrustEvaluator(), "#
                    + "PinnedCertificatesTrustEvaluator()])]", "isn't the value of a host"
            ),
        ]
        for (program, expected) in rows {
            let found = problem(program)
            #expect(found.contains(expected), "\(program): \(found)")
        }
        let program = #"let m = ["a.test": PublicKeysTrustEvaluator()]"#
        #expect(problem(program, files: []).contains("there is no .cer, .crt or .der file"))
        #expect(problem(program, files: [("a.crt", Array("-----BEGIN".utf8))]).contains("a.crt isn't one in DER"))
        #expect(!SourceProject.contains("a.kt", .certificate) && !SourceProject.contains("Tests/a.cer", .certificate))
        #expect(SourceProject.contains("Resources/a.CER", .certificate) && !SourceProject.contains("a.cer"))
        do {
            let reading = try PinDialect.alamofire.read(Array(program.utf8), path: "Client.swift")
            Issue.record("read without a project: \(reading)")
        } catch {
            #expect("\(error)".contains("no project is known"))
        }
        let limited = SourceProject { _ in
            var contents = SourceProject.Contents()
            contents.add(first.derBytes, path: "a.cer")
            contents.add(problem: "b.cer: permission denied")
            return contents
        }
        #expect(throws: PolicyFileError.self) {
            try PinDialect.alamofire.read(Array(program.utf8), path: "", target: nil, project: limited)
        }
    }

    @Test("Arguments that turn verification off, and files that Alamofire ignores, are noted")
    func settings() throws {
        let off = try read(
            #"let m = ["a.test": PublicKeysTrustEvaluator(performDefaultValidation: false, validateHost: isOn)]"#)
        #expect(off.notes.map(\.rule) == [.misreadSetting, .misreadSetting])
        #expect(off.notes.allSatisfy { $0.direction == .weaker })
        let pem = try read(
            #"let m = ["a.test": PublicKeysTrustEvaluator()]"#,
            files: [("a.cer", first.derBytes), ("b.crt", Array("-----BEGIN CERTIFICATE-----".utf8))])
        #expect(pem.policy.rules[0].pins.count == 1)
        #expect(pem.notes.map(\.rule) == [.ignoredSetting] && pem.notes[0].message.contains("ignores b.crt"))
    }

    @Test("The sources of Alamofire itself have no pins")
    func library() {
        for program in [
            "enum ServerTrustPolicy { case pinCertificates(a: [A])\n"
                + "func f() { switch self { case let .pinCertificates(a): g(a) } } }",
            "final class PublicKeysTrustEvaluator: ServerTrustEvaluating {}\n"
                + "extension T { static var keys: Self { PublicKeysTrustEvaluator() } }",
        ] {
            #expect(!PinDialect.allRecognized(in: Array(program.utf8)).contains(.alamofire), "\(program)")
        }
    }

    @Test("Mentions that create no evaluator aren't read as one")
    func others() {
        for program in [
            "// PublicKeysTrustEvaluator()", "class Mine: PublicKeysTrustEvaluator {}",
            #"let s = "x.pinPublicKeys(a)""#,
            "func pinPublicKeys(in view: View) {}", "CertificatePinner.pinCertificates()",
            "let e = DefaultTrustEvaluator()",
        ] {
            #expect(!PinDialect.allRecognized(in: Array(program.utf8)).contains(.alamofire), "\(program)")
        }
        // The pins of another library in the same program.
        let both = """
            let m = ["a.test": PublicKeysTrustEvaluator()]
            let c = [kTSKPinnedDomains: ["b.test": [kTSKPublicKeyHashes: ["\(String(repeating: "A", count: 43))="]]]]
            """
        #expect(PinDialect.allRecognized(in: Array(both.utf8)) == [.alamofire, .trustkit])
    }
}
