import CertificatePinning
import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

/// The facts in `pins/providers.jsonc`, and the rule that compares pins with them.
@Suite("The roots of providers of certificates")
struct ProviderPoolTests {
    /// A root of a provider, as the file and `public-roots.jsonc` have it.
    struct Root: Sendable {
        let name: String
        let pin: String
    }

    /// A provider and its roots, read without the library's reader.
    struct Provider: Sendable, CustomTestStringConvertible {
        let name: String
        let roots: [Root]

        var testDescription: String { name }

        static let all: [Provider] = {
            guard let file = try? ProviderPoolTests.file("providers.jsonc"),
                let known = try? ProviderPoolTests.file("public-roots.jsonc")
            else { return [] }
            return (file["x-providers"]?.members ?? []).map { provider in
                let roots = (provider.value["authorities"]?.members ?? []).flatMap { authority in
                    // Those of today.
                    (file["x-authorities"]?[authority.key]?["roots"]?.members ?? []).filter { root in
                        (root.value["until"]?.string ?? "9999") > "2026-11-28"
                    }.map { root in
                        let pin = known["pins"]?[root.key]?["pin"] ?? file["pins"]?[root.key]?["pin"]
                        return Root(name: root.key, pin: pin?.string ?? "")
                    }
                }
                return Provider(name: provider.key, roots: roots)
            }
        }()
    }

    private static func file(_ name: String) throws -> JSONValue {
        let bytes = try Data(contentsOf: URL(filePath: Repository.root + "/pins/\(name)"))
        return try #require(JSONCReader.read(Array(bytes), dialect: .jsonc).root)
    }

    private static func provider(_ name: String) throws -> Provider {
        try #require(Provider.all.first { $0.name == name })
    }

    /// Returns the messages of P038 for a rule with these pins.
    private func lint(
        _ pins: [Root], role: String = "ca", rule: String, top: String = "", at time: Date = TestSite.time,
        providers: ProviderPools = .builtIn
    ) throws -> [String] {
        let pins = pins.map { #"{ "pin": "\#($0.pin)", "role": "\#(role)" }"# }.joined(separator: ", ")
        let text = #"{ "version": 1, \#(top) "domains": [ { "host": "a.test", \#(rule), "pins": [\#(pins)] } ] }"#
        return try PolicyFile(bytes: Array(text.utf8), path: "pins.jsonc")
            .lint(at: time, settings: LintSettings(), providers: providers, besides: [])
            .filter { $0.rule == .providerGap }
            .map { "\($0.severity): \($0.message)" }
    }

    @Test(
        "A rule with every root of a provider passes, and one without any of them is an error", arguments: Provider.all)
    func each(provider: Provider) throws {
        let rule = #""x-provider": "\#(provider.name)""#
        #expect(provider.roots.count >= 2)
        #expect(try lint(provider.roots, rule: rule) == [])
        for missing in provider.roots {
            let found = try lint(provider.roots.filter { $0.name != missing.name }, rule: rule)
            #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("error: no pin of a.test") })
            #expect(found.first?.contains("(\(missing.name))") == true, "\(found)")
            // The finding names nothing else.
            for other in provider.roots where other.name != missing.name {
                #expect(found.first?.contains(other.name) == false, "\(found)")
            }
        }
    }

    @Test("All providers that the project knows are in the tests")
    func providers() {
        #expect(Provider.all.map(\.name) == ProviderPools.builtIn.names)
        #expect(Provider.all.count >= 10)
        #expect(Provider.all.allSatisfy { $0.roots.allSatisfy { !$0.pin.isEmpty } })
    }

    @Test("Each fact has a source with a day, and each source is used")
    func sources() throws {
        let file = try Self.file("providers.jsonc")
        let sources = try #require(file["x-sources"]?.members)
        for source in sources {
            #expect(source.value["url"]?.string?.hasPrefix("https://") == true, "\(source.key)")
            let day = try #require((source.value["day"] ?? source.value["read"])?.string)
            #expect(Date(rfc3339: day) != nil, "\(source.key)")
        }
        var used: Set<String> = []
        for authority in try #require(file["x-authorities"]?.members) {
            for root in try #require(authority.value["roots"]?.members) {
                used.formUnion((root.value["source"]?.string ?? "").components(separatedBy: ", "))
            }
        }
        var authorities: Set<String> = []
        for provider in try #require(file["x-providers"]?.members) {
            for authority in try #require(provider.value["authorities"]?.members) {
                authorities.insert(authority.key)
                used.formUnion((authority.value.string ?? "").components(separatedBy: ", "))
            }
        }
        #expect(used == Set(sources.map(\.key)))
        #expect(authorities == Set(file["x-authorities"]?.members?.map(\.key) ?? []))
        // A name has one key.
        let names = Set(try Self.file("public-roots.jsonc")["pins"]?.members?.map(\.key) ?? [])
        #expect(names.isDisjoint(with: file["pins"]?.members?.map(\.key) ?? []))
    }

    @Test("A pin counts in its role: only as ca does it match both ends of a cross-signed path")
    func roles() throws {
        let roots = try Self.provider("google-cloud").roots
        let rule = #""x-provider": "google-cloud""#
        #expect(try lint(roots, role: "any", rule: rule) == [])
        // GTS Root R1 is an intermediate for clients that have only the root which signed it.
        let found = try lint(roots, role: "root", rule: rule)
        #expect(found.first?.contains("gts-root-r1 signed by globalsign-root-ca") == true, "\(found)")
        #expect(found.first?.hasSuffix("pin these roots with the role ca") == true, "\(found)")
        for role in ["leaf", "intermediate"] { #expect(try lint(roots, role: role, rule: rule).count == 1) }
    }

    @Test("Rules that report are checked like those that enforce, and those that are off are not")
    func modes() throws {
        let roots = Array(try Self.provider("cloudflare").roots.dropFirst())
        let provider = #""x-provider": "cloudflare""#
        #expect(try lint(roots, rule: provider + #", "mode": "report""#).count == 1)
        #expect(try lint(roots, rule: provider + #", "mode": "off""#) == [])
        // A denied root is refused whatever the rule pins.
        let all = try Self.provider("cloudflare").roots
        let denied = try lint(all, rule: provider, top: #""deny": ["\#(all[0].pin)"],"#)
        #expect(denied.first?.contains(all[0].name) == true)
        let leaf = try lint(all, role: "any", rule: provider + #", "require": ["leaf", "ca"]"#)
        #expect(
            leaf == [
                "error: a.test requires a match as leaf, but Cloudflare chooses the key: require a match as ca, or "
                    + "bring your own certificate"
            ])
        #expect(try lint(all, rule: provider + #", "require": ["ca"]"#) == [])
    }

    @Test("A name that isn't a provider's is an error, also in a rule that is off")
    func names() throws {
        let roots = try Self.provider("lets-encrypt").roots
        for (value, message) in [
            (#""cloudfare""#, #"error: "cloudfare" isn't a known provider: did you mean "cloudflare"?"#),
            (#""example""#, #"error: "example" isn't a known provider: use one of aws-acm, azure, "#),
            (#""""#, #"error: "" isn't a known provider: use one of"#),
            ("[]", #"error: "x-provider" has no provider: name one, such as "cloudflare""#),
            ("7", #"error: "x-provider" must be the name of a provider, found a number: name one"#),
            (#"{ "name": "cloudflare" }"#, #"error: "x-provider" must be the name of a provider, found an object"#),
        ] {
            for mode in ["enforce", "off"] {
                let found = try lint(roots, rule: #""x-provider": \#(value), "mode": "\#(mode)""#)
                #expect(found.count == 1 && found[0].hasPrefix(message), "\(found)")
            }
        }
        #expect(try lint(roots, rule: #""x-provider": ["lets-encrypt", "netlify"]"#) == [])
        #expect(try lint(roots, rule: #""x-provider": ["lets-encrypt", "cloudflare"]"#).count == 1)
        #expect(try lint(roots, rule: #""note": "no provider""#) == [])
    }

    @Test(
        "A misspelled x-provider is an error, and other free keys are not",
        arguments: [
            "x-povider", "x-providers", "x-Provider", "x-provder",
        ])
    func misspelled(key: String) throws {
        let roots = try Self.provider("lets-encrypt").roots
        #expect(
            try lint(roots, rule: #""\#(key)": "cloudflare""#)
                == [#"error: "\#(key)" isn't read: did you mean "x-provider"?"#])
        #expect(try lint(roots, rule: #""x-report-since": "2027-01-01", "x-provider-note": "a", "x-owner": "b""#) == [])
    }

    @Test("A root that only signed an intermediate of the CA is needed until that signature ends")
    func until() throws {
        let rule = #""x-provider": "cloudflare""#
        let roots = try Self.provider("cloudflare").roots.filter { $0.name != "aaa-certificate-services" }
        let last = try #require(Date(rfc3339: "2028-12-31T23:00:00Z"))
        #expect(try lint(roots, rule: rule, at: last).first?.contains("aaa-certificate-services") == true)
        #expect(try lint(roots, rule: rule, at: last.addingTimeInterval(7_200)) == [])
    }

    @Test("A list that is older than a year has a note with its day and source")
    func age() throws {
        func note(_ name: String, _ day: String) throws -> String? {
            try #require(ProviderPools.builtIn[name]).agingNote(at: try #require(Date(rfc3339: day)))
        }
        #expect(
            try note("netlify", "2026-11-27")
                == "the CAs of Netlify are those that "
                + "https://answers.netlify.com/t/support-guide-ssl-tls-certificate-provisioning/1300 listed on "
                + "2023-04-01, more than a year ago: check whether it lists others now, and pin their roots too")
        #expect(try note("cloudflare", "2026-11-27") == nil)
        // The document of a root counts too.
        #expect(try note("lets-encrypt", "2027-07-08") == nil)
        #expect(try note("lets-encrypt", "2027-07-10")?.contains("listed on 2026-07-08") == true)
        #expect(try note("fly-io", "2027-07-10")?.contains("https://letsencrypt.org/certificates/") == true)
        // A document that shows its day counts more than one without.
        #expect(try note("vercel", "2026-11-27")?.contains("listed on 2024-01-01") == true)
    }

    struct Problem: Sendable, CustomTestStringConvertible {
        let replaced: String
        let replacement: String
        let message: String

        var testDescription: String { message }
    }

    private static let good = """
        { "version": 1, "pins": { "own": { "pin": "\(PolicyFileTests.pinA)" } },
          "x-sources": { "page": { "url": "https://ca.test/", "day": "2026-11-01" } },
          "x-authorities": { "ca": { "title": "CA", "roots": { "own": { "source": "page" } } } },
          "x-providers": { "cdn": { "title": "CDN", "authorities": { "ca": "page" } } } }
        """

    private static let broken: [Problem] = [
        .init(
            replaced: #""day": "2026-11-01""#, replacement: #""x-day": """#,
            message: #""page" needs either "day" or "read": give the day that the document shows"#),
        .init(
            replaced: #""day""#, replacement: #""read": "2026-11-02", "day""#, message: #""page" needs either "day" or"#
        ),
        .init(replaced: "2026-11-01", replacement: "soon", message: #""soon" isn't a day: write 2026-11-20"#),
        .init(
            replaced: #""ca": "page""#, replacement: #""ca": "leaf""#,
            message: #""leaf" isn't in "x-sources": add it"#),
        .init(replaced: #"{ "source": "page" }"#, replacement: "{}", message: #""own" has no "source": add it"#),
        .init(
            replaced: #""own": { "source""#, replacement: #""other": { "source""#,
            message: #""other" isn't the name of a public root: use the names of public-roots.jsonc"#),
        .init(
            replaced: #""ca": "page""#, replacement: #""cb": "page""#,
            message: #""cb" isn't in "x-authorities": add it"#),
        .init(
            replaced: #""authorities": { "ca": "page" }"#, replacement: #""authorities": {}"#,
            message: #""cdn" has no root, so every pin set would pass: list its CAs"#),
        .init(
            replaced: #""source": "page""#, replacement: #""source": "page", "until": "later""#,
            message: #""later" isn't a day"#),
        .init(
            replaced: #""x-providers""#, replacement: #""x-provider""#,
            message: #"the file has no "x-providers": name a file such as pins/providers.jsonc"#),
        .init(replaced: good, replacement: "", message: "the file is empty"),
    ]

    @Test("A file with an incomplete fact isn't used", arguments: broken)
    func incomplete(problem: Problem) throws {
        let directory = try TestDirectory()
        let path = try directory.add(Self.good)
        let pools = try ProviderPools(contentsOfFile: path)
        #expect(pools.names == ["cdn"])
        let root = Root(name: "own", pin: PolicyFileTests.pinA)
        #expect(try lint([root], rule: #""x-provider": "cdn""#, providers: pools) == [])
        let bad = try directory.add(Self.good.replacing(problem.replaced, with: problem.replacement))
        let error = #expect(throws: PolicyFileError.self) { try ProviderPools(contentsOfFile: bad) }
        #expect(error?.description.contains(problem.message) == true, "\(String(describing: error))")
        #expect(throws: PolicyFileError.self) { try ProviderPools(contentsOfFile: directory.path + "/missing.jsonc") }
    }

    @Test("Programs read a policy that names a provider as if it didn't, and refuse the key without x-")
    func shipped() throws {
        func policy(_ rule: String) throws -> PinningPolicy {
            let text = """
                { "version": 1, "domains": [ { "host": "a.test", \(rule) "pins": ["\(PolicyFileTests.pinA)"] } ] }
                """
            return try PolicyFile(bytes: Array(text.utf8), path: "pins.jsonc").policy
        }
        #expect(try policy(#""x-provider": "cloudflare","#).digest == policy("").digest)
        let error = #expect(throws: PolicyFileError.self) { try policy(#""provider": "cloudflare","#) }
        #expect(error?.description.contains(#"unknown key "provider""#) == true)
    }
}
