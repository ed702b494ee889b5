import PinctlCommands
import Testing

@Suite("The command line")
struct ArgumentsTests {
    @Test("Each command declares every flag once")
    func flags() {
        for command in CommandDefinition.all {
            #expect(Set(command.allFlags.map(\.long)).count == command.allFlags.count)
            let letters = command.allFlags.compactMap(\.short)
            #expect(Set(letters).count == letters.count)
        }
    }

    struct Parsed: CustomTestStringConvertible {
        let words: [String]
        let operands: [String]
        let pins: [String]
        var testDescription: String { words.joined(separator: " ") }
    }

    static let parsed = [
        Parsed(words: ["a", "b"], operands: ["a", "b"], pins: []),
        Parsed(words: ["--pin", "x", "a"], operands: ["a"], pins: ["x"]),
        Parsed(words: ["--pin=x", "a"], operands: ["a"], pins: ["x"]),
        Parsed(words: ["--pin=x=y=", "a"], operands: ["a"], pins: ["x=y="]),
        Parsed(words: ["--pin=", "a"], operands: ["a"], pins: [""]),
        Parsed(words: ["a", "--pin", "x", "--pin", "y"], operands: ["a"], pins: ["x", "y"]),
        Parsed(words: ["--pin", "--", "a"], operands: ["a"], pins: ["--"]),
        Parsed(words: ["--", "--pin", "x"], operands: ["--pin", "x"], pins: []),
        Parsed(words: ["-"], operands: ["-"], pins: []),
        Parsed(words: ["-q", "-", "--json"], operands: ["-"], pins: []),
        Parsed(words: [""], operands: [""], pins: []),
    ]

    @Test("CS7: Secrets come from a file or a descriptor, never from the command line, which every process can read")
    func secrets() async {
        let words = ["password", "login", "passphrase", "secret", "token"]
        for command in CommandDefinition.all {
            for flag in command.allFlags where words.contains(where: { flag.long.contains($0) }) {
                switch flag.value {
                case .file: continue
                case .text("N"): #expect(flag.long == "password-fd")
                default: Issue.record("--\(flag.long) of \(command.name) takes a secret")
                }
            }
        }
        for words in [["hash", "--password=canary", "k.pem"], ["check", "--proxy=http://u:canary@h:1", "a.test"]] {
            let run = await pinctl(words)
            #expect(run.status == 2 && !run.errors.contains("canary"), "\(run.errors)")
        }
    }

    @Test("Common spellings of flags and values are parsed", arguments: parsed)
    func reads(row: Parsed) throws {
        let check = try #require(CommandDefinition.all.first { $0.name == "check" })
        let pin = try #require(check.flags.first { $0.long == "pin" })
        let arguments = try Arguments(row.words, for: check)
        #expect(arguments.operands == row.operands)
        #expect(arguments.all(pin) == row.pins)
    }

    @Test("Short flags can be grouped, and the last one takes a value")
    func groups() throws {
        let initialize = try #require(CommandDefinition.all.first { $0.name == "init" })
        let output = try #require(initialize.flags.first { $0.long == "output" })
        let quiet = try #require(initialize.allFlags.first { $0.long == "quiet" })
        for words in [["-qoFILE", "h"], ["-qo", "FILE", "h"], ["-q", "-o", "FILE", "h"]] {
            let arguments = try Arguments(words, for: initialize)
            #expect(arguments.has(quiet))
            #expect(arguments[output] == "FILE")
            #expect(arguments.operands == ["h"])
        }
    }

    struct Refused: CustomTestStringConvertible {
        let words: [String]
        let message: String
        var testDescription: String { words.joined(separator: " ") }
    }

    static let refused = [
        Refused(words: [], message: "no command given: use one of these"),
        Refused(
            words: ["hash", "-----BEGIN PRIVATE KEY-----\nMC4"], message: "an argument contains PEM: give the file"),
        Refused(words: ["check", "a", "--pin= -----BEGIN X"], message: "an argument contains PEM: give the file"),
        Refused(words: ["chekc"], message: "unknown command \"chekc\": did you mean check?"),
        Refused(words: ["version"], message: "unknown command \"version\": did you mean --version?"),
        Refused(words: ["verfy"], message: "unknown command \"verfy\": did you mean verify?"),
        Refused(words: ["frobnicate"], message: "unknown command \"frobnicate\": use one of hash,"),
        Refused(words: ["--json", "hash"], message: "--json appears before the command: put flags after it"),
        Refused(words: ["hash"], message: "hash needs FILE…: see pinctl hash --help"),
        Refused(words: ["hash", "--jsn", "x"], message: "hash has no flag --jsn: did you mean --json?"),
        Refused(words: ["hash", "-x", "x"], message: "hash has no flag -x: see pinctl hash --help\n"),
        Refused(words: ["check", "-p", "a"], message: "check has no flag -p: see pinctl check --help\n"),
        Refused(words: ["hash", "--json=1", "x"], message: "--json takes no value: leave it out"),
        Refused(words: ["hash", "--as"], message: "--as needs a value: --as FORMAT"),
        Refused(words: ["hash", "--as", "hexx", "x"], message: "--as does not support \"hexx\": did you mean hex?"),
        Refused(words: ["hash", "--as", "hex", "--as", "hex", "x"], message: "--as is given twice: give it once"),
        Refused(words: ["verify", "a", "b"], message: "verify takes only CHAIN|BUNDLE: remove \"b\""),
        Refused(words: ["verify", "a"], message: "--host is required: give --host HOST"),
        Refused(words: ["help", "exit-code"], message: "unknown help topic \"exit-code\": did you mean exit-codes?"),
        Refused(words: ["help", "schema", "x"], message: "help takes one topic: remove \"x\""),
        Refused(words: ["help", "hash", "x"], message: "help takes one topic: remove \"x\""),
        Refused(words: ["help", "completion"], message: "help completion needs a shell: use one of bash, zsh, fish"),
        Refused(
            words: ["help", "completion", "csh"], message: "no completion for \"csh\": use one of bash, zsh, fish"),
        Refused(words: ["help", "man", "hashh"], message: "unknown command \"hashh\": did you mean hash?"),
        Refused(
            words: ["hash", "--color", "yes", "x"], message: "--color does not support \"yes\": use one of auto, always"
        ),
        Refused(words: ["check", "a", "--pin", "x"], message: "--pin: \"x\" isn't a pin: write sha256/"),
        Refused(words: ["check", "a", "--timeout", "0"], message: "--timeout: \"0\" isn't a time limit"),
        Refused(words: ["check", "a", "--timeout", "1e9"], message: "--timeout: \"1e9\" isn't a time limit"),
        Refused(
            words: ["check", "a"], message: "no policy was given, and the default, /no/such/pins.jsonc, doesn't exist"),
        Refused(words: ["check", "gopher://a"], message: "gopher://a: unsupported scheme \"gopher\""),
        Refused(
            words: ["verify", "a", "--host", "h", "--at", "2026-02-30"], message: "--at: \"2026-02-30\" isn't a time"),
    ]

    @Test(
        "A wrong command line exits with 2, prints the remedy and writes nothing to standard output", arguments: refused
    )
    func refuses(row: Refused) async {
        let run = await pinctl(row.words)
        #expect(run.status == 2)
        #expect(run.output == "" || row.words.first == "--json")
        #expect(run.errors.hasPrefix("pinctl: " + row.message))
    }

    @Test("--json and --ndjson cannot be used together")
    func twoForms() async {
        let run = await pinctl("hash", "--ndjson", "--json", "x")
        #expect(
            run.status == 2 && run.errors == "pinctl: --json and --ndjson cannot be used together: give one of them\n")
    }
}
