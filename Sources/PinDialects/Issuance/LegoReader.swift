import CertificatePinning
import PinctlBasics

/// A reader of lego's configuration file, `.lego.yml`, which lego 5 and later use.
///
/// A certificate's `renew.reuseKey` is `false` by default (lego's documentation, "Configuration file"). A certificate
/// with a `csr` has the request's key, and names no hosts here.
struct LegoReader {
    let path: String

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        let root = try YAMLReader.read(bytes, path: path)
        var renewals: [KeyRenewal] = []
        for member in root["certificates"]?.members ?? [] where member.value["csr"] == nil {
            let names = (member.value["domains"]?.elements ?? []).compactMap(\.text)
            let renew = member.value["renew"]
            let setting = renew?["reuseKey"]
            if let setting, !["true", "false"].contains(setting.text?.lowercased()) {
                throw IssuanceText.problem(
                    "reuseKey is \(setting.text.map(quoted) ?? setting.kindName): write true or false",
                    at: PolicyLocation(path: path, setting.position))
            }
            renewals.append(
                KeyRenewal(
                    names: names, setting?.text?.lowercased() == "true" ? .keepsKey : .changesKey,
                    at: PolicyLocation(path: path, setting?.position ?? renew?.position ?? member.position),
                    program: "lego",
                    setting: setting?.text.map { "reuseKey: \($0)" } ?? "\(quoted(member.key)) has no renew.reuseKey",
                    remedy: "set reuseKey: true under renew"))
        }
        return renewals
    }
}

/// A reader of lego's command lines in scripts, crontabs, units and other texts.
///
/// lego creates a key at each renewal unless the command has `--reuse-key` (`lego renew --help`, lego 4). In lego 5,
/// `lego run` renews too. A name that is a variable isn't known, and is left out. A command in quotes is read if it is
/// for a shell (`sh -c '…'`), and a list if it is on one line (`["lego", "renew"]`). In other quotes, it isn't known
/// whether anything runs it.
struct LegoCommandReader {
    let path: String
    /// The maximum length of a command line: half of what Linux accepts as one argument.
    private static let maximumLine = 1 << 16

    private struct Command {
        let words: [String]
        let line: Int
        /// Whether something runs the command, going by what is around it.
        let isRun: Bool
        var verb: String? { words.dropFirst().first { $0 == "renew" || $0 == "run" } }
    }

    static func recognizes(_ lines: IssuanceText.Lines) -> Bool {
        (try? commands(lines, path: ""))?.contains { $0.verb != nil } ?? false
    }

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        let lines = IssuanceText.lines(bytes)
        if let line = lines.first(where: { $0.text.utf8.contains(bytesOf: "LEGO_REUSE_KEY") }) {
            throw IssuanceText.problem(
                "the environment variable LEGO_REUSE_KEY isn't read: write --reuse-key on the command line",
                at: PolicyLocation(path: path, line: line.number, column: 1))
        }
        let commands = try Self.commands(lines, path: path)
        guard commands.count <= IssuanceText.limit else {
            throw IssuanceText.problem(
                "more than \(IssuanceText.limit) commands: split the file", at: PolicyLocation(path: path))
        }
        // The command that obtains the first certificate has no such flag in lego 4.
        let verb = commands.contains { $0.verb == "renew" && $0.isRun } ? "renew" : "run"
        var renewals: [KeyRenewal] = []
        for command in commands {
            guard let found = command.verb, found == verb || !command.isRun,
                !command.words.contains(where: { $0.hasPrefix("--csr") })
            else { continue }
            let isReused = Self.reusesKey(command.words)
            // What may not be run shows neither that the key is kept nor that it changes.
            guard command.isRun || !isReused else { continue }
            let place = PolicyLocation(path: path, line: command.line, column: 1)
            let quotes = command.isRun ? "" : " in quotes"
            renewals.append(
                KeyRenewal(
                    names: try Self.domains(command.words, at: place),
                    !command.isRun ? .unknown : isReused ? .keepsKey : .changesKey, at: place, program: "lego",
                    setting: isReused ? "--reuse-key" : "lego \(found)\(quotes) without --reuse-key",
                    remedy: "add --reuse-key"))
        }
        return renewals
    }

    /// Returns the flag of a word without its dashes, one or two, and its value after an equals sign.
    private static func flag(_ word: String) -> (name: Substring, value: Substring?)? {
        guard word.hasPrefix("-") else { return nil }
        let parts = word.dropFirst(word.hasPrefix("--") ? 2 : 1)
            .split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.first.map { ($0, parts.count > 1 ? parts[1] : nil) }
    }

    /// Whether the last flag about it reuses the key.
    private static func reusesKey(_ words: [String]) -> Bool {
        let last = words.compactMap(flag).last { $0.name == "reuse-key" }
        return last.map { $0.value == nil || $0.value == "true" } ?? false
    }

    private static func domains(
        _ words: [String], at location: PolicyLocation
    ) throws(PolicyFileError) -> [String] {
        try IssuanceText.names(domainTexts(words).joined(separator: ","), at: location)
            .filter { name in !name.contains { "$`{}%".contains($0) } }
    }

    /// Returns the values of the flags for domains.
    private static func domainTexts(_ words: [String]) -> [Substring] {
        var texts: [Substring] = []
        for (index, word) in words.enumerated() {
            guard let flag = flag(word), flag.name == "d" || flag.name == "domains" else { continue }
            if let value = flag.value {
                texts.append(value)
            } else if index + 1 < words.count {
                texts.append(words[index + 1][...])
            }
        }
        return texts
    }

    /// Returns the commands whose program is called `lego`, with lines that a backslash continues joined, up to one more
    /// than the limit.
    private static func commands(
        _ lines: IssuanceText.Lines, path: String
    ) throws(PolicyFileError) -> [Command] {
        var commands: [Command] = []
        var (pending, start) = ("", 0)
        for line in lines {
            guard commands.count <= IssuanceText.limit else { break }
            if pending.isEmpty { start = line.number }
            if line.text.hasSuffix("\\"), pending.utf8.count <= maximumLine {
                pending += line.text.dropLast() + " "
                continue
            }
            guard pending.utf8.count + line.text.utf8.count <= maximumLine else {
                throw IssuanceText.problem(
                    "the line is longer than \(maximumLine) bytes: put the command into a script file of its own",
                    at: PolicyLocation(path: path, line: start, column: 1))
            }
            let whole = pending + line.text
            pending = ""
            guard whole.utf8.contains(bytesOf: "lego") else { continue }
            collect(words(of: whole), line: start, isRun: true, in: &commands)
        }
        return commands
    }

    /// Adds the commands among words, and those in words that were in quotes.
    private static func collect(_ line: [String], line number: Int, isRun: Bool, in commands: inout [Command]) {
        var words = line[...]
        while commands.count <= IssuanceText.limit, let index = words.firstIndex(where: isProgram) {
            let rest = words[words.index(after: index)...]
            let end = rest.firstIndex(of: ";") ?? rest.endIndex
            let command = Command(words: Array(words[index..<end]), line: number, isRun: isRun)
            // A message that names the program has no domains.
            if isRun || !domainTexts(command.words).isEmpty { commands.append(command) }
            words = words[end...]
        }
        var shell = ShellWords()
        for word in line {
            let isCommand = shell.runs(word)
            guard word.contains(where: isBlank), word.utf8.contains(bytesOf: "lego") else { continue }
            // Each of them has fewer quotes.
            collect(Self.words(of: word), line: number, isRun: isRun && isCommand, in: &commands)
        }
    }

    /// Finds the word that a shell runs as a command: the first one behind `-c` that isn't a flag. `-c` may stand together
    /// with other flags (`-lc`).
    private struct ShellWords {
        private static let shells = ["sh", "bash", "dash", "ash", "zsh", "ksh"]
        /// Programs that have `-c` like a shell, also behind other arguments, such as a user or a lock.
        private static let others = ["su", "runuser", "flock"]

        private var isShell = false
        private var isOther = false
        private var hasFlag = false
        /// Whether the word is the value of a flag (`-o pipefail`).
        private var isValue = false

        /// Takes the next word, and returns whether a shell runs it.
        mutating func runs(_ word: String) -> Bool {
            if word == ";" {
                self = Self()
            } else if isValue {
                isValue = false
            } else if isShell || isOther, word.hasPrefix("-") {
                let letters = word.dropFirst()
                guard letters.allSatisfy(\.isLetter) else { return false }
                hasFlag = hasFlag || letters.contains("c")
                isValue = letters.last == "o"
            } else if hasFlag {
                self = Self()
                return true
            } else {
                let name = LegoCommandReader.program(word)
                isOther = isOther || Self.others.contains(name)
                isShell = Self.shells.contains(name)
            }
            return false
        }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    /// Whether a word runs lego, such as `ExecStart=/usr/bin/lego`.
    private static func isProgram(_ word: String) -> Bool { program(word) == "lego" }

    /// Returns the name of a program without its directory and without what is before an equals sign.
    private static func program(_ word: String) -> String {
        word.split(whereSeparator: { "/=,".contains($0) }).last.map(String.init) ?? ""
    }

    /// Splits a line into words as a shell does, without expanding anything. Whatever ends a command is the word `;`. A
    /// comment ends the line. The elements of a list in JSON or YAML are words, and a list with several ends a command.
    private static func words(of line: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isWord = false
        var quote: Character?
        var before: Character?
        var isEscaped = false
        // Whether the word has a blank, which was in quotes.
        var isText = false
        // The number of words before the list.
        var list: Int?
        func close() {
            if word.last == "," { word.removeLast() }
            if isWord { words.append(word) }
            (word, isWord, isText) = ("", false, false)
        }
        for character in line {
            defer { before = character }
            if isEscaped {
                isEscaped = false
                // Between double quotes, a backslash is itself before other characters.
                if quote != nil, !"\"\\$`".contains(character) { word.append("\\") }
                word.append(character)
            } else if character == "\\", quote != "'" {
                (isEscaped, isWord) = (true, true)
            } else if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
                isText = isText || isBlank(character)
            } else if character == "'" || character == "\"" {
                // The shell drops the sign in $'…'.
                if before == "$" { _ = word.popLast() }
                (quote, isWord) = (character, true)
            } else if isBlank(character) {
                close()
            } else if character == "#", !isWord {
                break
            } else if "<>()`".contains(character) || character == "&" && before == ">" {
                close()
            } else if ";&|".contains(character) {
                close()
                words.append(";")
                list = nil
            } else if character == "[", !isWord {
                list = words.count
            } else if character == "]", let start = list {
                close()
                if words.count > start + 1 { words.append(";") }
                list = nil
            } else if character == ",", list != nil || !isWord {
                close()
            } else if before == "'" || before == "\"", character == ":" || isText && "]},".contains(character) {
                // Behind a key or a text of JSON or YAML. A shell joins -d "a.test","b.test".
                close()
            } else {
                word.append(character)
                isWord = true
            }
        }
        close()
        return words
    }
}
