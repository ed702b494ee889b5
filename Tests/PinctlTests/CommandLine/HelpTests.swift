import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Help")
struct HelpTests {
    @Test("Short help has a line for each flag and fits 80 columns", arguments: CommandDefinition.all.map(\.name))
    func short(name: String) async throws {
        let command = try #require(CommandDefinition.all.first { $0.name == name })
        let help = await pinctl(name, "-h", terminal: Terminal(columns: 200))
        #expect(help.status == 0)
        #expect(help.errors.isEmpty)
        #expect(help.lines.allSatisfy { $0.count <= 80 }, "\(help.lines.filter { $0.count > 80 })")
        let words = Self.words(help.output)
        for flag in command.allFlags {
            #expect(words.contains("\(flag.dashed)\(flag.valueName.map { " \($0)" } ?? "") "))
            #expect(Self.says(words, flag.help))
        }
    }

    @Test(
        "Full help describes every flag and follows the width of the terminal",
        arguments: CommandDefinition.all.map(\.name))
    func long(name: String) async throws {
        let command = try #require(CommandDefinition.all.first { $0.name == name })
        let help = await pinctl(name, "--help")
        #expect(help.status == 0)
        #expect(help.errors.isEmpty)
        #expect(await pinctl("help", name).output == help.output)
        #expect(await pinctl(name, "-h", "--help").output == help.output)
        let words = Self.words(help.output)
        for flag in command.allFlags {
            #expect(words.contains("\(flag.dashed)\(flag.valueName.map { " \($0)" } ?? "") "))
            #expect(Self.says(words, flag.help) && Self.says(words, flag.details))
        }
        #expect(words.contains(Self.words(command.notes.joined(separator: " "))))
        for columns in [40, 60, 80, 132] {
            let folded = await pinctl(name, "--help", terminal: Terminal(columns: columns))
            #expect(Self.unfolded(folded.output) == Self.unfolded(help.output))
            // Longer words can't be folded.
            let long = folded.lines.filter { $0.width > columns }
            #expect(columns < 80 || long.isEmpty, "\(long)")
            #expect(long.allSatisfy { $0.split(separator: " ").count == 1 || $0.hasPrefix("  ") }, "\(long)")
        }
    }

    /// The words without what divides comments and command lines.
    private static func unfolded(_ text: String) -> String {
        words(text).replacing(" \\ ", with: " ").replacing("# ", with: "")
    }

    @Test("A folded example is the same command line to a shell, and fits", arguments: [30, 40, 64, 78])
    func foldedExamples(columns: Int) throws {
        let own = ["pinctl hash 'a file  with spaces.pem' \"and another's.pem\" --expect sha256/AAAA --as curl"]
        for line in CommandDefinition.all.flatMap(\.examples).map(\.line) + own {
            let lines = foldedCommand(line, columns: columns)
            // The redirections would read and write files.
            let printed = lines.joined(separator: "\n").replacing(" < ", with: " '<' ").replacing(" > ", with: " '>' ")
            let run = try TestCommand.run(["sh", "-c", "pinctl() { printf '%s\\n' \"$@\"; }; set -f; \(printed)"])
            let whole = line.replacing(" < ", with: " '<' ").replacing(" > ", with: " '>' ")
            let plain = try TestCommand.run(["sh", "-c", "pinctl() { printf '%s\\n' \"$@\"; }; set -f; \(whole)"])
            #expect(run.output == plain.output && run.status == 0 && run.errors.isEmpty, "\(lines)")
            #expect(lines.allSatisfy { $0.width <= columns || $0.split(separator: " ").count <= 7 }, "\(lines)")
        }
    }

    @Test("The description of a flag names no other command than the one that shows it")
    func ownCommand() {
        for command in CommandDefinition.all {
            for flag in command.allFlags {
                let words = "\(flag.help) \(flag.details)"
                for other in CommandDefinition.all where other.name != command.name {
                    #expect(!words.contains("With \(other.name),"), "\(command.name) \(flag.dashed)")
                    #expect(!words.contains("\(other.name) does"), "\(command.name) \(flag.dashed)")
                    #expect(!words.contains("\(other.name) also"), "\(command.name) \(flag.dashed)")
                    #expect(!words.contains("\(other.name) and show"), "\(command.name) \(flag.dashed)")
                }
                // Each flag that a description refers to exists for the command.
                for word in words.split(whereSeparator: { " ,;:()".contains($0) }) where word.hasPrefix("--") {
                    let known = command.allFlags.map(\.dashed) + ["--pinnedpubkey"]
                    let name = word.prefix { $0.isLetter || $0.isNumber || $0 == "-" }
                    #expect(
                        words.contains("pinctl ") || known.contains(String(name)),
                        "\(command.name) \(flag.dashed): \(word)")
                }
            }
        }
    }

    /// Whether the words appear in this order, ignoring anything after them.
    private static func says(_ words: String, _ text: String) -> Bool {
        text.isEmpty || words.contains(self.words(text).dropLast())
    }

    /// The words of a text, each followed by one space.
    private static func words(_ text: String) -> String {
        text.split { $0 == " " || $0 == "\n" }.map { "\($0) " }.joined()
    }

    @Test("Every command has examples, and accepts them")
    func examples() throws {
        for command in CommandDefinition.all {
            #expect(!command.examples.isEmpty, "\(command.name) has none")
            for example in command.examples {
                var words = example.line.split(separator: " ").map(String.init)
                // Redirections and pipes belong to the shell.
                if let redirection = words.firstIndex(where: { ["<", ">", "|"].contains($0) }) {
                    words.removeSubrange(redirection...)
                }
                #expect(words.prefix(2) == ["pinctl", command.name])
                let arguments = try Arguments(Array(words.dropFirst(2)), for: command)
                for flag in command.allFlags where !flag.choices.isEmpty {
                    #expect(arguments.all(flag).allSatisfy(flag.choices.contains), "\(example.line)")
                }
            }
        }
    }

    @Test("There are help topics in addition to the commands")
    func topics() async throws {
        let overview = await pinctl("--help")
        #expect(overview.status == 0)
        #expect(overview.lines.allSatisfy { $0.width <= 80 })
        #expect(overview.lines.count < 24, "the prompt needs a row too")
        #expect(overview.output.contains("\npinctl show api.example.com\n"))
        let topics = await pinctl("help", "topics")
        for topic in HelpTopic.all {
            #expect(overview.output.contains(topic.name))
            #expect(Self.words(topics.output).contains(Self.words("pinctl help \(topic.usage) \(topic.summary)")))
        }
        for command in CommandDefinition.all { #expect(overview.output.contains("  \(command.name) ")) }
        for words in [["help"], ["-h"]] { #expect(await pinctl(words).output == overview.output) }
        #expect(await pinctl("--version").output == "\(Version.text(commit: 0))\n")
        #expect(await pinctl("-V").output == "\(Version.text(commit: 0))\n")
        // A bare command line isn't a success, and prints nothing on standard output.
        let bare = await pinctl([])
        #expect(bare.status == 2 && bare.output.isEmpty)
        #expect(
            bare.errors.hasPrefix("pinctl: no command given")
                && CommandDefinition.all.allSatisfy { bare.errors.contains("\n  \($0.name) ") })
        // With the prompt below them.
        #expect(bare.errors.split(separator: "\n", omittingEmptySubsequences: false).count <= 24)
        #expect(bare.errors.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(
            Version.text(commit: 0x3B41_D21C_0A1B_2C3D)
                == "pinctl \(Version.current) (3b41d21c0a1b2c3d), OpenSSL \(OpenSSLVersion.loaded)"
        )
        let codes = await pinctl("help", "exit-codes")
        for status in ExitCode.allCases {
            #expect(Self.words(codes.output).contains("\(status.rawValue) " + Self.words(status.meaning)))
        }
        #expect(await pinctl("help", "targets").output.contains("[2001:db8::1]:port"))
        #expect(await pinctl("help", "environment").output.contains("PINCTL_POLICY\n"))
        for topic in ["topics", "exit-codes", "environment", "targets", "lint-rules", "verdicts", "dialects"] {
            let usual = await pinctl("help", topic)
            for columns in [80, 100] {
                let run = await pinctl("help", topic, terminal: Terminal(columns: columns))
                #expect(run.lines.allSatisfy { $0.width <= columns }, "\(topic): \(run.output)")
                #expect(Self.words(run.output) == Self.words(usual.output))
                #expect(run.output == usual.output || columns != 80)
            }
        }
        let schema = try #require(FileManager.default.contents(atPath: "pins/policy.schema.json"))
        #expect(await pinctl("help", "schema").output == String(decoding: schema, as: UTF8.self))
    }
}

@Suite("Man pages")
struct ManualPageTests {
    @Test("Every man page has the usual sections", arguments: CommandDefinition.all.map(\.name))
    func sections(name: String) async throws {
        let page = await pinctl("help", "man", name)
        #expect(page.status == 0)
        let titles = page.lines.filter { $0.hasPrefix(".SH ") }.map { $0.dropFirst(4) }
        #expect(
            titles == [
                "NAME", "SYNOPSIS", "DESCRIPTION", "FLAGS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES",
                "SEE ALSO",
            ])
        #expect(page.output.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test(
        "groff formats the man page without warnings, and it contains the flags of the help",
        .enabled(if: TestCommand.isPresent("groff", "--version"), "groff is not installed"),
        arguments: [""] + CommandDefinition.all.map(\.name))
    func groff(name: String) async throws {
        let page = await pinctl(["help", "man", name].filter { !$0.isEmpty })
        let run = try TestCommand.run(["groff", "-ww", "-man", "-Tascii", "-P-cbou"], input: page.output)
        #expect(run.status == 0)
        #expect(run.errors.isEmpty, "\(String(decoding: run.errors, as: UTF8.self))")
        let text = String(decoding: run.output, as: UTF8.self)
        let command = CommandDefinition.all.first { $0.name == name }
        for flag in command?.allFlags ?? [] { #expect(text.contains(flag.dashed)) }
        for example in command?.examples ?? [] where example.line.count < 60 { #expect(text.contains(example.line)) }
    }

    @Test(
        "The man page passes mandoc's lint",
        .enabled(if: TestCommand.isPresent("sh", "-c", "command -v mandoc"), "mandoc is not installed"),
        arguments: [""] + CommandDefinition.all.map(\.name))
    func mandoc(name: String) async throws {
        let page = await pinctl(["help", "man", name].filter { !$0.isEmpty })
        let run = try TestCommand.run(["mandoc", "-Tlint", "-Wwarning"], input: page.output)
        #expect(run.text.isEmpty, "\(run.text)")
    }
}
