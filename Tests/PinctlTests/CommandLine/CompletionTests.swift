import PinctlCommands
import PinctlTestPKI
import Testing

/// A command line whose last word is unfinished, and the completions that the shell offers for it.
struct CompletionRow: CustomTestStringConvertible {
    let words: [String]
    let offered: Set<String>
    /// Whether these are the only completions.
    var isWhole = true

    init(_ line: String, _ offered: Set<String>, isWhole: Bool = true) {
        words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        self.offered = offered
        self.isWhole = isWhole
    }

    var testDescription: String { words.joined(separator: " ") }

    static let all = [
        CompletionRow("pinctl ", Set(CommandDefinition.all.map(\.name) + ["help"]), isWhole: false),
        CompletionRow("pinctl ha", ["hash"]), CompletionRow("pinctl ex", ["export", "explain"]),
        CompletionRow("pinctl hash --as he", ["hex"]),
        CompletionRow("pinctl verify --profile ", ["default", "strict"]),
        CompletionRow("pinctl hash --lon", ["--long"]),
        CompletionRow("pinctl verify chain.pem --ca-", ["--ca-file"]),
        CompletionRow("pinctl check --color=n", ["never"]),
        CompletionRow("pinctl check --report ju", ["junit="]),
        CompletionRow("pinctl plan --report ", ["junit=", "sarif=", "markdown=", "html=", "prometheus=", "json="]),
        CompletionRow("pinctl plan --new chain.pem --ct", ["--ct-logs"]),
        CompletionRow("pinctl lint --rule P035", ["P035="]),
        CompletionRow("pinctl export --allow role-", ["role-lost"]),
        CompletionRow("pinctl export --to tru", ["trustkit"]), CompletionRow("pinctl import --from ok", ["okhttp"]),
        CompletionRow("pinctl hash ch", ["chain.pem"]), CompletionRow("pinctl verify --ca-file ch", ["chain.pem"]),
        CompletionRow("pinctl init -o ch", ["chain.pem"]),
        CompletionRow("pinctl help compl", ["completion"]),
        CompletionRow("pinctl help completion ", ["bash", "zsh", "fish"]),
        CompletionRow("pinctl help man expl", ["explain"]),
        CompletionRow("pinctl help lint-", ["lint-rules"]),
    ]
}

@Suite("Completion")
struct CompletionTests {
    let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        _ = try directory.add("", name: "chain.pem")
        for shell in ["bash", "zsh", "fish"] {
            let script = await pinctl("help", "completion", shell)
            #expect(script.status == 0)
            _ = try directory.add(script.output, name: "pinctl.\(shell)")
        }
    }

    @Test("bash offers the words that are valid at the cursor", arguments: CompletionRow.all)
    func bash(row: CompletionRow) async throws {
        // bash splits the line at spaces and at `=`.
        let words = row.words.flatMap { word -> [String] in
            guard word.hasPrefix("--"), let sign = word.firstIndex(of: "=") else { return [word] }
            return [String(word[..<sign]), "=", String(word[word.index(after: sign)...])]
        }
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let run = try await shell(
            """
            set -u
            source pinctl.bash
            complete -p pinctl >&2
            COMP_WORDS=(\(quoted)) COMP_CWORD=\(words.count - 1)
            _pinctl
            printf '%s\\n' "${COMPREPLY[@]}"
            """, in: directory)
        #expect(run.errors == "complete -F _pinctl pinctl\n")
        let offered = Set(run.lines)
        #expect(row.isWhole ? offered == row.offered : offered.isSuperset(of: row.offered), "\(offered)")
    }

    @Test("bash offers only files after --")
    func operandsAlone() async throws {
        let run = try await shell(
            """
            source pinctl.bash
            touch -- --longer
            COMP_WORDS=(pinctl hash --as hex -- --lon) COMP_CWORD=5
            _pinctl
            printf '%s\\n' "${COMPREPLY[@]}"
            """, in: directory)
        #expect(run.lines == ["--longer"])
        #expect(run.errors.isEmpty)
    }

    @Test(
        "fish offers the words that are valid at the cursor",
        .enabled(if: TestCommand.isPresent("fish", "--version"), "fish is not installed"),
        arguments: CompletionRow.all)
    func fish(row: CompletionRow) async throws {
        let line = row.words.joined(separator: " ")
        let run = try await shell(
            "export HOME=$PWD XDG_CONFIG_HOME=$PWD; fish --no-config -c 'source pinctl.fish; complete -C \"\(line)\"'",
            in: directory)
        #expect(run.errors == "")
        // Each line is the word, a tab and its description. A value after `=` comes with its flag.
        let offered = Set(
            run.lines.map { line in
                let word = line.prefix { $0 != "\t" }
                return String(word.hasPrefix("--") ? word.split(separator: "=").last ?? "" : word)
            })
        #expect(row.isWhole ? offered == row.offered : offered.isSuperset(of: row.offered), "\(offered)")
    }

    /// Types a line and a tab into an interactive zsh, and prints the contents of its line buffer.
    private static let typist = """
        zmodload zsh/zpty
        zpty shell 'zsh -f -i'
        zpty -w shell 'autoload -Uz compinit; compinit -D -u; source ./pinctl.zsh; setopt no_auto_menu; unsetopt beep
        report() { print -r -- "$BUFFER" >buffer; exit }; zle -N report; bindkey "^X" report; : >ready'
        for i in {1..200}; do [[ -e ready ]] && break; sleep 0.05; done
        zpty -w -n shell "$1"$'\\t\\C-x'
        for i in {1..200}; do [[ -s buffer ]] && break; sleep 0.05; done
        cat buffer
        """

    @Test(
        "zsh completes a word that has only one completion",
        .enabled(if: TestCommand.isPresent("zsh", "--version"), "zsh is not installed"),
        arguments: CompletionRow.all.filter { $0.offered.count == 1 })
    func zsh(row: CompletionRow) async throws {
        _ = try directory.add(Self.typist, name: "typist")
        let run = try await shell(
            "HOME=$PWD TERM=xterm zsh -f typist '\(row.words.joined(separator: " "))'", in: directory)
        var words = row.words
        let word = try #require(row.offered.first)
        let last = words.removeLast()
        words.append(last.contains("=") ? last.prefix { $0 != "=" } + "=" + word : word)
        #expect(run.output.hasPrefix(words.joined(separator: " ")), "\(run.output)\(run.errors)")
        #expect(run.errors == "")
    }

    @Test(
        "zsh parses the completion script without errors",
        .enabled(if: TestCommand.isPresent("zsh", "--version"), "zsh is not installed"))
    func zshSyntax() async throws {
        let run = try await shell("zsh -f -n pinctl.zsh", in: directory)
        #expect(run.status == 0)
        #expect(run.errors == "")
    }
}
