import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

/// Pins that public apps shipped, and what pinctl says of them on the day before they stopped matching and in months
/// without a change. Only hosts and pins are taken from the named commits.
@Suite("Replay of public pins")
struct ReplayTests {
    struct History: Sendable, CustomTestStringConvertible {
        /// The repository and the commit of the pins.
        let source: String
        let host: String
        let provider: String
        /// Names of `public-roots.jsonc` and `providers.jsonc`, or digests.
        let pins: [String]
        /// The days before the pins stopped matching, with a root that had to be pinned.
        var red: [(day: String, root: String)] = []
        /// Days on which nothing was wrong.
        var green: [String] = []

        var testDescription: String { "\(source) \(host)" }
    }

    private static let amazon = [
        "amazon-root-ca-1", "amazon-root-ca-2", "amazon-root-ca-3", "amazon-root-ca-4",
        "starfield-services-root-certificate-authority-g2",
    ]
    private static let tum = [
        "dVphPQ9xG7woPpEKXrNalw4eMUQ4Fw9r3OXTzxfuL5A=", "SwdQoHL7SB/6o12XsIhbQJ9bANVnbrJoHTLzlu/qXT0=",
        "VzL+FtAKvzb4N5igmFJyv83GD7CBK7Yyw+R6XdRRfmg=", "0d4q5hyN8vpiOWYWPUxz1GC/xCjldYW+a/65pWMj0bY=",
        "YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=", "dst-root-ca-x3",
    ]
    private static let r3 = "jQJTbIh0grw0/1TkHSumWb+Fs0Ggogr621gT3PvPKG0="

    static let histories: [History] = [
        // The leaf and its intermediate, until the CDN changed to Google on 2026-07-07.
        History(
            source: "Expensify/App 63851bad", host: "www.expensify.com", provider: "cloudflare",
            pins: [
                "cSP5K9Slk59AgwZPst+dLPuNE+ZhypUlYRQNW1XC/fc=", "brzvtCELCIZUo4sD/qPX0ccRtPsd3DY6RfmxpOU9oB4=",
            ], red: [("2026-07-06", "gts-root-r4")]),
        // The roots of every CA, but not all roots above them: chains to the missing ones are still possible.
        History(
            source: "Expensify/App 0db6f1cf", host: "www.expensify.com", provider: "cloudflare",
            pins: [
                "isrg-root-x1", "isrg-root-x2", "gts-root-r1", "gts-root-r2", "gts-root-r3", "gts-root-r4",
                "ssl-com-tls-ecc-root-ca-2022", "ssl-com-tls-rsa-root-ca-2022",
                "usertrust-rsa-certification-authority", "usertrust-ecc-certification-authority",
                "sectigo-public-server-authentication-root-r46", "sectigo-public-server-authentication-root-e46",
            ], red: [("2026-11-01", "aaa-certificate-services")]),
        // Amazon RSA 2048 M01 was replaced by M04 in July 2026.
        History(
            source: "Expensify/App 63851bad", host: "d2k5nsl2zxldvw.cloudfront.net", provider: "aws-acm",
            pins: [
                "P9HBoLji8YncXSnb0AnAm72fJO/vpmxZrsl4fvUBkxc=", "DxH4tt40L+eduF6szpY6TONlxhZhBd+pJ9wbHlQ2fuw=",
            ], red: [("2026-06-30", "amazon-root-ca-1")]),
        History(
            source: "Expensify/App 0db6f1cf", host: "d2k5nsl2zxldvw.cloudfront.net", provider: "aws-acm", pins: amazon,
            green: ["2026-09-20", "2026-11-01"]),
        // Leaf and intermediate, of which the leaf ended on 2026-08-10.
        History(
            source: "safe-global/safe-wallet-monorepo 9b0904cc", host: "safe-client.safe.global", provider: "aws-acm",
            pins: [
                "VOstDe9L/YZ7RKPPd7iwAMbsAwCqqblfg3l1IqjUvuE=", "18tkPyr2nckv4fgo0dhAkaUtJ2hu2831xlO2SKhq8dg=",
            ], red: [("2026-06-11", "amazon-root-ca-1")]),
        History(
            source: "safe-global/safe-wallet-monorepo 763c9110", host: "safe-client.safe.global", provider: "aws-acm",
            pins: amazon, green: ["2026-07-01", "2026-11-01"]),
        // The client ended its paths at intermediates on 2026-01-16. The list only knows about the new roots.
        History(
            source: "brave/brave-core 001a229e", host: "anonymous.ads.bravesoftware.com", provider: "lets-encrypt",
            pins: amazon + [
                "globalsign-root-ca", "globalsign-root-ca-r3", "globalsign-root-ca-r6", "globalsign-root-r46",
                "globalsign-ecc-root-ca-r5", "globalsign-root-e46", "isrg-root-x1", "isrg-root-x2",
            ], red: [("2026-01-15", "root-ye")], green: ["2025-02-01", "2025-06-01", "2025-09-01"]),
        // R3 below ISRG Root X1 was first reported on 2021-07-10.
        History(
            source: "TUM-Dev/Campus-Android daa75a88", host: "tumcabe.in.tum.de", provider: "lets-encrypt", pins: tum,
            red: [("2020-10-01", "isrg-root-x1"), ("2021-07-09", "isrg-root-x1")],
            green: ["2018-08-01", "2019-06-01", "2020-06-01"]),
        History(
            source: "TUM-Dev/Campus-Android 51c055bd", host: "tumcabe.in.tum.de", provider: "lets-encrypt",
            pins: tum + ["isrg-root-x1"], green: ["2021-07-20", "2022-07-01", "2024-07-01"]),
        // YE1 below ISRG Root X2 came on 2026-06-02.
        History(
            source: "msfjarvis/compose-lobsters ea0dd4cb", host: "lobste.rs", provider: "lets-encrypt",
            pins: ["Bla1TIdpGeHXQS0/CIrA5hhFhOTZd94IIJRS3G3AcIo=", r3, "isrg-root-x1"],
            red: [("2026-06-01", "isrg-root-x2")], green: ["2023-05-01", "2024-06-01", "2025-08-01"]),
        // A leaf's key that was replaced, then one root until the summer of 2026.
        History(
            source: "techlore/Plexus-app 95853da8", host: "plexus.techlore.tech", provider: "lets-encrypt",
            pins: ["RacvZ7FBPeVMqaHMkRcNJ32cR8Qxz5KN3glkNrKu0no="], red: [("2025-06-10", "isrg-root-x1")]),
        History(
            source: "techlore/Plexus-app dd661de1", host: "plexus.techlore.tech", provider: "lets-encrypt",
            pins: ["isrg-root-x1"], red: [("2026-07-14", "isrg-root-x2")], green: ["2025-07-01", "2025-08-01"]),
        // The intermediate E5 in place of the root, until E7 came on 2025-10-13.
        History(
            source: "httptoolkit/android-ssl-pinning-demo 04fa4239", host: "ecc384.badssl.com",
            provider: "lets-encrypt", pins: ["isrg-root-x1", r3], green: ["2024-06-01", "2025-06-01"]),
        History(
            source: "httptoolkit/android-ssl-pinning-demo d3e5e2cd", host: "ecc384.badssl.com",
            provider: "lets-encrypt", pins: ["NYbU7PBwV4y9J67c4guWTki8FJ+uudrXL0a4V4aRcrg=", r3],
            red: [("2025-10-12", "isrg-root-x1")]),
    ]

    /// The pins of roots by their names.
    private static let roots: [String: String] = {
        var roots: [String: String] = [:]
        for name in ["public-roots.jsonc", "providers.jsonc"] {
            let bytes = (try? Data(contentsOf: URL(filePath: Repository.root + "/pins/\(name)"))) ?? Data()
            for pin in JSONCReader.read(Array(bytes), dialect: .jsonc).root?["pins"]?.members ?? [] {
                roots[pin.key] = pin.value["pin"]?.string
            }
        }
        return roots
    }()

    @Test(
        "lint and plan fail the day before pins stop matching, and pass in months without a change",
        arguments: histories)
    func provider(history: History) async throws {
        let directory = try TestDirectory()
        let pins = history.pins.map { "\"\(Self.roots[$0] ?? "sha256/\($0)")\"" }
        let policy = try directory.add(
            """
            { "version": 1, "domains": [ {
              "host": "\(history.host)", "x-provider": "\(history.provider)",
              "pins": [\(pins.joined(separator: ", "))] } ] }
            """)
        func run(_ day: String) async -> [Run] {
            [
                await pinctl("lint", "--at", day, policy),
                await pinctl("plan", "--provider", history.provider, "--at", day, "--against", policy),
            ]
        }
        for (day, root) in history.red {
            for run in await run(day) {
                #expect(run.status == 1, "\(day): \(run.output) \(run.errors)")
                #expect(run.output.contains(root), "\(day): \(run.output)")
            }
        }
        for day in history.green {
            for run in await run(day) { #expect(run.status == 0, "\(day): \(run.output) \(run.errors)") }
        }
        #expect(!history.red.isEmpty || !history.green.isEmpty)
    }

    @Test("A pinned intermediate alone is red, and its root isn't (SwissCovid/swisscovid-app-ios 2b9990a1, 5f5023a1)")
    func intermediate() async throws {
        let directory = try TestDirectory()
        for (pin, role, day, status) in [
            ("KM3iZPSceB+hgYuNI+cSg4LRgTiUxCeGjrfXRQAY6Rs=", "intermediate", "2021-01-10", 1),
            ("KM3iZPSceB+hgYuNI+cSg4LRgTiUxCeGjrfXRQAY6Rs=", "intermediate", "2022-04-20", 1),
            ("quovadis-root-ca-2-g3", "root", "2022-03-20", 0),
        ] {
            let pin = Self.roots[pin] ?? "sha256/\(pin)"
            let policy = try directory.add(
                """
                { "version": 1, "domains": [
                  { "host": "www.pt.bfs.admin.ch", "pins": [ { "pin": "\(pin)", "role": "\(role)" } ] } ] }
                """)
            let run = await pinctl("lint", "--at", day, policy)
            #expect(run.status == Int32(status), "\(day): \(run.output)")
            #expect(run.output.contains("P012") == (status == 1))
        }
    }

    @Test("A certificate in place of a digest is refused (duosecurity/duo_universal_java 2b6ade2f)")
    func certificate() async throws {
        let directory = try TestDirectory()
        let policy = try directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.duosecurity.com", "pins": [
              "sha256/MIIDQTCCAimgAwIBAgITBmyfz5m/jAo54vB4ikPmljZbyjANBgkqhkiG9w0BAQsF" ] } ] }
            """)
        let run = await pinctl("lint", "--at", "2025-04-29", policy)
        #expect(run.status == 2)
        #expect(run.output.contains("P001"), "\(run.output)")
    }
}
