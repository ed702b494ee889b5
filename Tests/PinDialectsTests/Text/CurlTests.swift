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

    private static let one = "sha256//" + Base64.encode(served.span)
    @Test(
        "The pins of a config file are for the servers of its URLs",
        arguments: [
            ("url = \"https://www.example.com/\"\n{}", ["www.example.com 443"]),
            (
                "{}url=https://a.example.com:8443/x?y\nurl = \"https://b.example.com\"",
                ["a.example.com 8443", "b.example.com 443"]
            ),
            ("{}next\nurl = https://b.example.com\n", [" *"]), ("{}", [" *"]),
            ("url = www.example.com\n{}", [" *"]), ("url = http://www.example.com\n{}", [" *"]),
        ])
    func urls(_ text: String, _ expected: [String]) throws {
        let text = text.replacing("{}", with: "pinnedpubkey = \"\(Self.one)\"\n")
        let rules = try CurlPins.read(Array(text.utf8), path: "f").policy.rules
        let found = rules.map { rule in
            "\(rule.patterns[0].host) \(rule.ports?.map(String.init).joined() ?? "*")"
        }
        #expect(found == expected, "\(text)")
    }

    private static let two = one + ";sha256//" + Base64.encode(other.span)

    @Test(
        "Config files and scripts are read as curl and the shell read them",
        arguments: [
            ("# pins\nuser-agent = \"a\"\npinnedpubkey = \"\(two)\"\n", 2), ("pinnedpubkey=\(two)\n", 2),
            ("# see curl --pinnedpubkey\npinnedpubkey = \"\(two)\"\n", 2),
            ("pinnedpubkey: \"\(two)\"\r\ninsecure\r\n", 2), ("  --pinnedpubkey \"\(two)\"\n", 2),
            ("pinnedpubkey \(two) # a comment", 2), ("proxy-pinnedpubkey = \"\(one)\"\npinnedpubkey = \"\(two)\"", 2),
            ("url = a.test\npinnedpubkey = \"\(two)\"\nnext\nurl = b.test\npinnedpubkey = \"\(two)\"\n", 2),
            ("#!/bin/sh\n# don't\ncurl -fsS \\\n  --pinnedpubkey '\(two)' \\\n  https://a.test\n", 2),
            ("#!/bin/sh\nx=$(/usr/bin/curl --pinnedpubkey \"\(two)\" \"$1\")\necho \"$x\"\n", 2),
            ("RUN curl --pinnedpubkey '\(two)' https://a.test -o a", 2),
            ("\"$CURL\" -H \"X-Note: # 1\" --pinnedpubkey '\(two)' https://a.test\n", 2),
            // The shell ends the command at the semicolon.
            ("curl --pinnedpubkey \(two) https://a.test", 1),
        ])
    func texts(_ text: String, _ count: Int) throws {
        let reading = try CurlPins.read(Array(text.utf8), path: "f")
        #expect(reading.policy.rules.map(\.pins.count) == [count] && reading.notes.isEmpty)
    }

    @Test(
        "A text whose pins curl doesn't use is refused in one line",
        arguments: [
            ("# pinnedpubkey = \"\(one)\"\n", "there is no pinnedpubkey here"),
            ("proxy-pinnedpubkey = \"\(one)\"\n", "there is no pinnedpubkey here"),
            ("pinnedpubke = \"\(one)\"\n", "isn't an option of every curl"),
            ("pinnedpubkey = '\(one)'\n", "as a file name"), ("pinnedpubkey =\n\"\(one)\"\n", "there is no pin"),
            ("#!/bin/sh\ncurl --pinnedpubkey='\(one)' a.test\n", "curl doesn't know --pinnedpubkey="),
            ("#!/bin/sh\nP='\(one)'\ncurl --pinnedpubkey \"$P\" a.test\n", "the script computes the value"),
            ("#!/bin/sh\ncurl --pinnedpubkey \"$(cat pins)\" a.test # \(one)\n", "the script computes the value"),
            ("#!/bin/sh\necho '\(one)'\n", "no command here has curl's option"),
            ("pinnedpubkey \(one)\n--next\n--pinnedpubkey \(two)\n", "options with and without dashes are mixed"),
            ("#!/bin/sh\ncurl --pinnedpubkey '\(one) a.test\n", "a quote is never closed"),
            (
                "#!/bin/sh\ncurl --pinnedpubkey '\(one)' a.test\ncurl --pinnedpubkey '\(two)' b.test\n",
                "this transfer has other pins"
            ),
        ])
    func refusedTexts(_ text: String, _ message: String) {
        do throws(PolicyFileError) {
            _ = try CurlPins.read(Array(text.utf8), path: "f")
            Issue.record("it was read")
        } catch {
            #expect(error.problems.count == 1 && error.problems[0].message.contains(message), "\(error)")
        }
    }

    @Test("wget's option is read in both of its forms, and curl's in one")
    func wget() throws {
        for text in [
            "wget --pinnedpubkey='\(Self.one)' https://a.test/\n", "/usr/bin/wget --pinnedpubkey \(Self.one) x\n",
        ] {
            let reading = try CurlPins.read(Array(text.utf8), path: "f")
            #expect(reading.policy.rules.flatMap(\.pins).map(\.value) == [Self.served], "\(text)")
        }
        for text in [
            "wget x; curl --pinnedpubkey='\(Self.one)' a.test\n", "wget --pinnedpubkey=\"$P\" a.test # \(Self.one)\n",
        ] {
            #expect(throws: PolicyFileError.self) { try CurlPins.read(Array(text.utf8), path: "f") }
        }
    }

    @Test("curl uses the last pins of a transfer, and the others are noted")
    func repeated() throws {
        for text in [
            "pinnedpubkey = \"\(Self.two)\"\npinnedpubkey = \"\(Self.one)\"\n",
            "curl --pinnedpubkey '\(Self.two)' --pinnedpubkey '\(Self.one)' a.test",
        ] {
            let reading = try CurlPins.read(Array(text.utf8), path: "f")
            #expect(reading.policy.rules.map(\.pins.count) == [1])
            #expect(reading.notes.map(\.rule) == [.ignoredSetting])
        }
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
        arguments: [
            ("", ""), ("'", "'"), ("--pinnedpubkey '", "'"), ("--pinnedpubkey \"", "\""),
            ("curl --pinnedpubkey '", "' -fsS"),
        ])
    func roundTrip(_ front: String, _ back: String) throws {
        let argument = [Self.served, Self.other].map { "sha256//" + Base64.encode($0.span) }.joined(separator: ";")
        let reading = try CurlPins.read(Array((front + argument + back + "\n").utf8), path: "argument")
        #expect(reading.policy.rules.map(\.patterns) == [[HostPattern("", .every)]])
        #expect(reading.policy.rules.flatMap(\.pins).map(\.role) == [.leaf, .leaf])
        #expect(try CurlPins.write(reading.policy) == argument)
    }
}
