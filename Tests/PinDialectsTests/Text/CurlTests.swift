import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("curl's --pinnedpubkey")
struct CurlTests {
    private static let served = [UInt8](repeating: 1, count: 32)
    private static let other = [UInt8](repeating: 2, count: 32)

    /// Rows about files and options, not about the argument's text.
    private static let aboutFiles = ["a.pub.pem", "a.pub.der", "cert+pub.pem", "pubB+pubA.pem"]
    /// curl 7.88.1 finds the pin after an invalid one, later versions don't. Here the argument is rejected.
    private static let deviations = ["sha256//B;md5//xx;sha256//A"]

    @Test(
        "An argument matches the served key where curl matches it",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func executed() throws {
        let rows = try #require(PeerCases.all).pin_strings.curl_pinnedpubkey.executed.elements
        try #require(rows.count == 14)
        var judged = 0
        for row in rows {
            let argument = try #require(row.arg.string)
            guard !Self.aboutFiles.contains(argument), !argument.hasPrefix("-") else { continue }
            judged += 1
            let text = argument.replacing("//A", with: "//" + Base64.encode(Self.served.span))
                .replacing("//B", with: "//" + Base64.encode(Self.other.span))
            let pins = (try? CurlPins.read(Array(text.utf8), path: "argument"))?.policy.rules.flatMap(\.pins) ?? []
            let matches = pins.contains { $0.value == Self.served }
            let expected = row.rc.integer == 0 && !Self.deviations.contains(argument)
            #expect(matches == expected, "\(argument)")
        }
        #expect(judged == 6)
    }

    @Test(
        "Only the notation that every curl version reads is accepted",
        arguments: [
            "sha256//AQEB;", "sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=; sha256//x", "SHA256//AQEB",
            "sha256/AQEB",
            "sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
            "sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=;",
            "", "key.pem", "sha256//AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\nmore",
        ])
    func refused(_ text: String) {
        #expect(throws: PolicyFileError.self) { try CurlPins.read(Array(text.utf8), path: "argument") }
    }

    @Test("A policy with several rules isn't written, because an argument applies to one host")
    func severalRules() throws {
        let argument = "sha256//" + Base64.encode(Self.served.span)
        var policy = try CurlPins.read(Array(argument.utf8), path: "argument").policy
        policy.rules.append(policy.rules[0])
        #expect(throws: DialectWriteError.self) { try CurlPins.write(policy) }
        policy.rules = []
        #expect(throws: DialectWriteError.self) { try CurlPins.write(policy) }
    }

    @Test(
        "An argument is written as it is read, bare or with its option",
        arguments: ["", "--pinnedpubkey ", "--pinnedpubkey='"])
    func roundTrip(_ front: String) throws {
        let argument = [Self.served, Self.other].map { "sha256//" + Base64.encode($0.span) }.joined(separator: ";")
        let reading = try CurlPins.read(Array((front + argument + "'\n").utf8), path: "argument")
        #expect(reading.policy.rules.map(\.patterns) == [[HostPattern("", .every)]])
        #expect(reading.policy.rules.flatMap(\.pins).map(\.role) == [.leaf, .leaf])
        #expect(try CurlPins.write(reading.policy) == argument)
    }
}
