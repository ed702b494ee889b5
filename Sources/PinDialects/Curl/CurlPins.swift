import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The argument of curl's `--pinnedpubkey`, `sha256//BASE64;sha256//BASE64`, alone, among other options, or in git's
/// configuration.
///
/// Other spellings aren't supported, because versions of curl interpret them differently.
enum CurlPins {
    private static let prefix = "sha256//"

    /// Reads an argument alone, a config file of curl, or a script that calls curl. All transfers in the text must have
    /// the same pins.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        let cursor = try TextCursor(checking: bytes, path: path)
        var problems = PolicyProblems(path: path)
        if GitConfiguration.isRecognized(in: bytes) { return try GitPins.read(bytes, path: path) }
        var found: CurlText?
        do throws(CurlText.Refusal) {
            found = try CurlText(cursor)
        } catch {
            problems.add(error.message, at: error.position)
        }
        let arguments = found?.effective ?? []
        var notes: [ConversionNote] = []
        let used = Set(arguments.map { PolicyLocation(path: path, $0.position) })
        for argument in found?.arguments ?? [] {
            let location = PolicyLocation(path: path, argument.position)
            guard !used.contains(location) else { continue }
            notes.append(
                ConversionNote(
                    .quirk, .either,
                    "curl uses only the last pinnedpubkey of a transfer, and ignores this one: remove it",
                    at: location, rule: .ignoredSetting))
        }
        if let first = arguments.first, let other = arguments.first(where: { $0.text != first.text }) {
            problems.add(
                "this transfer has other pins than the one at line \(first.position.line): give each a file of its own",
                at: other.position)
        }
        let pins = arguments.first.map { Self.pins(in: $0.text, at: $0.position, &problems) } ?? []
        let location = arguments.first.map { PolicyLocation(path: path, $0.position) }
        let servers = servers(of: found?.urls ?? [], arguments)
        let rules = servers.map { servers in
            CanonicalRule(
                patterns: [servers.pattern], ports: servers.port.map { [Int($0)] }, pins: pins, location: location)
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted, known: rules) }
        return DialectReading(
            CanonicalPolicy(rules: rules, combination: .closest), notes: Array(notes.prefix(TextLimits.notes)))
    }

    /// Returns the servers of the URLs in a config file, or all servers if one of the transfers with pins has no URL
    /// there, or one of another kind.
    private static func servers(
        of urls: [CurlText.Argument], _ arguments: [CurlText.Argument]
    ) -> [GitPins.Servers] {
        let every = [GitPins.Servers(pattern: HostPattern("", .every), port: nil)]
        var servers: [GitPins.Servers] = []
        for argument in arguments {
            let own = urls.filter { $0.transfer == argument.transfer }
            // mutant curl-url: true for `own.isEmpty` by CurlTests/urls
            guard !own.isEmpty else { return every }
            for url in own {
                var ignored = PolicyProblems(path: "")
                let text = String(url.text.prefix { $0 != "?" && $0 != "#" })
                // The path of a URL is for the same server.
                let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
                let origin = text[..<start] + text[start...].prefix { $0 != "/" }
                let entry = GitConfiguration.Entry(
                    text: "", position: url.position, range: 0..<0, url: String(origin), cut: nil)
                guard let found = GitPins.servers(of: entry, &ignored) else { return every }
                if !servers.contains(found) { servers.append(found) }
            }
        }
        return servers.isEmpty ? every : servers
    }

    /// Returns the pins in the value of an option.
    static func pins(
        in argument: String, at position: SourcePosition, _ problems: inout PolicyProblems
    ) -> [CanonicalPin] {
        var pins: [CanonicalPin] = []
        for text in argument.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
            guard pins.count < TextLimits.pins else {
                problems.add("there are more than \(TextLimits.pins) pins: remove some", at: position)
                break
            }
            if let pin = pin(Array(text)[...]) {
                pins.append(pin)
            } else {
                let text = String(Substring(text))
                problems.add(
                    problem(text, isFirst: pins.isEmpty), at: position,
                    rule: text.hasPrefix(prefix) ? .malformedPin : nil)
            }
        }
        return pins
    }

    private static func pin(_ text: ArraySlice<UInt8>) -> CanonicalPin? {
        guard text.starts(with: prefix.utf8),
            let bytes = Base64.decodeCanonical(Array(text.dropFirst(prefix.utf8.count))),
            bytes.count == 32
        else { return nil }
        return CanonicalPin(.publicKey, .sha256, bytes, role: .leaf)
    }

    private static func problem(_ text: String, isFirst: Bool) -> String {
        if text.isEmpty {
            return isFirst
                ? "there is no pin: write sha256// and base64" : "there is no pin after this semicolon: remove it"
        }
        if text.hasPrefix(prefix) {
            return "\(quoted(text)) never matches in curl: write sha256// and the base64 of 32 bytes, padded"
        }
        return isFirst
            ? "curl reads \(quoted(text)) as a file name: write sha256// and base64, or pin that file's key"
            : "curl stops reading at \(quoted(text)), or before: write sha256// and base64, without spaces"
    }

    /// Returns the argument, without a line end.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        // mutant curl-one-rule: true for 1 by CurlTests/severalRules
        guard policy.rules.count == 1, let rule = policy.rules.first, !rule.pins.isEmpty else {
            throw DialectWriteError(
                "curl's pins are for a single server: choose a host", at: policy.rules.first?.location)
        }
        return try argument(of: rule)
    }

    /// Returns the argument with the pins of a rule.
    static func argument(of rule: CanonicalRule) throws(DialectWriteError) -> String {
        guard !rule.pins.isEmpty else { throw DialectWriteError("the rule has no pins: add one", at: rule.location) }
        var texts: [String] = []
        for pin in rule.pins {
            guard pin.content == .publicKey, pin.digest == .sha256, pin.role == .leaf || pin.role == .any else {
                throw DialectWriteError(
                    "curl can't express the pin \(pin) as \(pin.role.rawValue): convert the policy to curl first",
                    at: rule.location)
            }
            texts.append(prefix + Base64.encode(pin.value.span))
        }
        return texts.joined(separator: ";")
    }
}
