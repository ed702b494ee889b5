import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// CL1 and CL2 of the attack list: text from a server or a file in every report format.
@Suite("Hostile texts in reports")
struct HostileReportTests {
    static let texts = [
        "\u{1B}[2J\u{1B}[1;1Hok", "\u{1B}]8;;https://evil.test\u{7}click\u{1B}]8;;\u{7}", "\u{1B}]52;c;cm0gLXJm\u{7}",
        "\u{9B}31mred", "a\rb", "a\nb", "a\r\n::error::c", "a\tb", "\u{7}\u{8}\u{7F}", "a\u{0}b",
        "\u{202E}gnp.exe\u{202C}",
        "\u{2066}a\u{2069}", "a\u{200B}b\u{FEFF}c\u{AD}d", "a\u{2028}b\u{2029}c\u{85}d", "]]>", "<![CDATA[x]]>",
        "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\" onmouseover=\"alert(1)", "' x='",
        "&lt;b&gt; &amp; &#x41;", "<!-- --> -->", "%0A::error::x", "::error file=a::b", "##[error]x",
        "=cmd|' /C calc'!A0",
        "| a | b |", "``` `` ` code", "@everyone #1 !2 GH-3", "[x](https://evil.test) ![x](https://evil.test/i.png)",
        "https://evil.test www.evil.test evil@evil.test", "\\ \\\\ \" \\\" \\n", "{0} {{1}} %{x}",
        "\u{FFFE}\u{FFFF}\u{10FFFF}",
        "</td></tr></table>", "</details></summary>", "$`x`$ $$y$$", "\u{E000}\u{F8FF}", "שלום مرحبا", "😀 e\u{301} ﷽",
        String(repeating: "A`|<", count: 16_384),
    ]

    @Test("Hostile text doesn't act on a terminal: every line is printable", arguments: ReportFormat.allCases)
    func printable(_ format: ReportFormat) {
        for text in Self.texts {
            // Every line must be free of control characters, direction changes and invisible characters.
            let lines = format.text(of: .sample(saying: text)).split(separator: "\n").map(String.init)
            for line in lines where visibleText(line) != line {
                Issue.record("\(format): \(visibleText(text)) acts in \(visibleText(String(line.prefix(300))))")
            }
        }
    }

    @Test("Hostile text doesn't add markup")
    func markup() {
        func count(_ word: String, _ text: String) -> Int {
            text.split(separator: word, omittingEmptySubsequences: false).count - 1
        }
        let (page, suites) = (HTMLReport.text(.sample()), JUnitReport.text(.sample()))
        for text in Self.texts {
            let hostilePage = HTMLReport.text(.sample(saying: text))
            let hostileSuites = JUnitReport.text(.sample(saying: text))
            for mark in ["<", ">", "\""] {
                #expect(count(mark, hostilePage) == count(mark, page))
                #expect(count(mark, hostileSuites) == count(mark, suites))
            }
            #expect(count("\n", hostilePage) == count("\n", page))
            #expect(
                count("\n", MarkdownReport.text(.sample(saying: text))) == count("\n", MarkdownReport.text(.sample())))
        }
    }

    @Test("Hostile text doesn't start a command of GitHub's runner")
    func annotations() {
        for text in Self.texts {
            let lines = GitHubAnnotation.lines(for: .sample(saying: text))
            #expect(lines.count == 6)
            for line in lines {
                #expect(line.hasPrefix("::error ") || line.hasPrefix("::warning "))
                #expect(visibleText(line) == line)
                // No property before the second pair of colons contains a colon.
                let properties = line.dropFirst(2).prefix { $0 != ":" }
                #expect(line.dropFirst(2 + properties.count).hasPrefix("::"))
            }
        }
    }

    @Test(
        "Independent readers return hostile text unchanged or visibly escaped",
        .enabled(if: TestCommand.isPresent("python3", "--version"), "python3 is not installed"),
        arguments: ReportFormat.allCases)
    func readers(_ format: ReportFormat) throws {
        for start in stride(from: 0, to: Self.texts.count, by: 10) {
            let cases = Self.texts[start..<min(start + 10, Self.texts.count)].map { text in
                ReportReader.Case(format: format.rawValue, document: format.text(of: .sample(saying: text)), text: text)
            }
            #expect(try ReportReader.errorOutputs(about: cases) == "")
        }
    }
}
