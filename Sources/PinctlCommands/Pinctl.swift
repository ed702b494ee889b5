import CertificateTrust
import PinctlBasics

/// The program, from the command line to its output and exit code.
package enum Pinctl {
    /// Runs one command line, without the program's name.
    package static func run(
        _ words: [String], in environment: CommandEnvironment, output: OutputBuffer, diagnostics: OutputBuffer
    ) async -> ExitCode {
        let name = words.first.flatMap(CommandDefinition.named)?.name
        // The format is determined before the flags are parsed, so that a wrong flag is reported in the requested
        // format.
        let flags = words.prefix { $0 != "--" }
        let format: Console.Format =
            flags.contains(Flag.json.dashed) ? .json : flags.contains(Flag.ndjson.dashed) ? .ndjson : .text
        var console = Console(
            schema: "pinctl.\(name ?? "usage")/1", format: format, output: output, diagnostics: diagnostics)
        console.isReadByRunner = environment.variables()["GITHUB_ACTIONS"] == "true"
        console.columns = environment.terminal.columns
        console.noteColumns = environment.terminal.showsProgress ? environment.terminal.columns : nil
        do throws(UsageError) {
            try await run(words, in: environment, &console)
        } catch {
            for message in error.messages { console.problem(message, .badInput) }
            // mutant flags-refusal: false by SwiftFlagsTests
            if SwiftPrefix.isForShell(words, format) {
                console.document(SwiftPrefix.refusal + "\n")
            }
            // mutant report-bad-input: {} by FailedRunTests/exitCode2
            reportFailure(error.messages, words, in: environment, &console)
            if case .missingCommand = error { for line in [""] + HelpText.commands { console.note(help: line) } }
        }
        // Lint judges the rules themselves, so a suffix that it doesn't know matters.
        if let warning = environment.suffixWarning(environment.now(), name == CommandDefinition.lint.name) {
            console.note("warning: \(warning)")
        }
        console.finish()
        return console.status
    }

    private static func run(
        _ words: [String], in environment: CommandEnvironment, _ console: inout Console
    ) async throws(UsageError) {
        guard let first = words.first else { throw .missingCommand }
        // The text may be a private key, and error messages quote the argument.
        guard !words.contains(where: { $0.contains("-----BEGIN ") }) else { throw .contents }
        switch first {
        case Flag.help.dashed, "-h": console.page(HelpText.overview)
        case Flag.version.dashed, "-V": console.page([Version.text(commit: environment.commit)])
        case "help": try help(words.dropFirst(), environment, &console)
        default:
            guard let command = CommandDefinition.named(first) else { throw .unknownCommand(first) }
            let arguments = try Arguments(Array(words.dropFirst()), for: command)
            guard !arguments.has(.json) || !arguments.has(.ndjson) else {
                throw .unusable(["--json and --ndjson cannot be used together: give one of them"])
            }
            guard !arguments.has(.help) else {
                // `-h` is for the short help.
                let isShort = !words.prefix { $0 != "--" }.contains(Flag.help.dashed)
                return console.page(
                    isShort ? HelpText.short(command) : HelpText.long(command, columns: helpColumns(environment)))
            }
            console.isColored = try arguments.isColored(in: environment)
            if arguments.has(.quiet) { console.quiet() }
            let suffixes = environment.variables()["PINCTL_PUBLIC_SUFFIXES"] ?? ""
            // mutant suffix-list-setting: nil as String? for 2 by SuffixListTests
            if !suffixes.isEmpty, let problem = environment.useSuffixes(suffixes) {
                throw .unusable(["PINCTL_PUBLIC_SUFFIXES: \(problem)"])
            }
            try await command.run(arguments, environment, &console)
        }
    }

    /// Writes the reports of a run that failed before its results, since those of an earlier run would say that all is
    /// well. The command line itself may be wrong.
    private static func reportFailure(
        _ messages: [String], _ words: [String], in environment: CommandEnvironment, _ console: inout Console
    ) {
        guard let command = words.first.flatMap(CommandDefinition.named), command.flags.contains(.report) else {
            return
        }
        let flags: [Flag] = [.report, .annotations, .json, .ndjson, .baseline, .policy, .pin, .at]
        do throws(UsageError) {
            let arguments = try Arguments(
                Arguments.words(of: flags, in: words.dropFirst(), for: command), for: command)
            let reports = try arguments.reports(in: environment, &console)
            var report = Report(
                command: command.name, time: (try? arguments.time(in: environment)) ?? environment.now(),
                policy: command.flags.contains(.policy) && !arguments.has(.pin)
                    ? arguments[.policy] ?? Arguments.usualPolicyPath(in: environment) : nil)
            report.entries = messages.map { ReportEntry(problem: $0, []) }
            report.closing = "nothing was checked"
            reports.write(report, &console)
        } catch {
            // The reports themselves are what is wrong.
            return
        }
    }

    private static func help(
        _ words: ArraySlice<String>, _ environment: CommandEnvironment, _ console: inout Console
    ) throws(UsageError) {
        guard let name = words.first else { return console.page(HelpText.overview) }
        let operand = words.dropFirst().first
        if let topic = HelpTopic.named(name) {
            if let extra = words.dropFirst(topic.operand.isEmpty ? 1 : 2).first { throw .extraWord(extra) }
            console.page(try topic.text(operand, helpColumns(environment)))
        } else if let command = CommandDefinition.named(name) {
            if let operand { throw .extraWord(operand) }
            console.page(HelpText.long(command, columns: helpColumns(environment)))
        } else {
            throw .unknownTopic(name)
        }
    }

    /// Returns the width for help texts, at least 40 columns, since narrower text is hardly readable.
    private static func helpColumns(_ environment: CommandEnvironment) -> Int {
        max(40, environment.terminal.columns ?? HelpText.usualColumns)
    }
}

enum Version {
    static let current = "0.1.0"
    /// The day of the release, for the man pages.
    static let released = "2026-11-22"

    /// Returns the line of `pinctl --version`, such as `pinctl 0.1.0 (3b41d21c0a1b2c3d), OpenSSL 3.0.19`.
    static func text(commit: UInt64) -> String {
        "pinctl \(current)\(commit == 0 ? "" : " (\(Hexadecimal.encode(commit)))"), OpenSSL \(OpenSSLVersion.loaded)"
    }
}
