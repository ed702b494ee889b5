import CertificatePinning
import PinctlBasics

extension PinDialect {
    /// Returns the dialect of a text based on its contents, or `nil` if it isn't recognized.
    public static func recognized(in bytes: [UInt8]) -> PinDialect? {
        if bytes.starts(with: Array("bplist".utf8)) {
            return bytes.hasAny(of: ["TSK"]) ? .trustkit : .apple
        }
        let bytes = (try? XMLReader.decoded(bytes))?.bytes ?? bytes
        let text = String(decoding: bytes, as: UTF8.self)
        func has(_ word: String) -> Bool { bytes.hasAny(of: [word]) }
        let start = withoutComments(text)
        if start.first == "<" {
            if has("<network-security-config") { return .android }
            if has("TSKConfiguration") || has("TSKPinnedDomains") { return .trustkit }
            return has("<plist") ? .apple : nil
        }
        if start.first == "{" {
            if has("\"pubkey_sha256\""), has("\"dns_names\"") { return .certspotter }
            let document = JSONCReader.read(bytes, dialect: .jsonc)
            if isPolicy(document) { return .policy }
            if isEnvoy(bytes) { return .envoy }
            // A part of a policy looks like a map.
            // mutant broken-policy: false by RecognitionTests
            if !document.problems.isEmpty { return .policy }
            if has("NSPinnedDomains") { return .apple }
            return has("TSKPinnedDomains") ? .trustkit : PinMapReader.search(bytes).isMap ? .map : .policy
        }
        // A program can contain pins of other formats in its comments and strings.
        if has("CertificatePinner") { return .okhttp }
        if has("PinningPolicy(") || has("PinningRule(") { return .swift }
        if has("TSKPinnedDomains:") || has("TSKPinnedDomains\"") || has("kTSKPinnedDomains") { return .trustkit }
        if has("NSPinnedDomains") { return .apple }
        if isEnvoy(bytes) { return .envoy }
        if isZone(text) { return .tlsa }
        if has("sha256//") { return .curl }
        if has("pin-sha256") || text.lowercased().hasPrefix("public-key-pins") { return .hpkp }
        if has("TLSA") || has("TYPE52") { return .tlsa }
        let literals = PinMapReader.search(bytes)
        if literals.isMap || !literals.stray.isEmpty { return .map }
        if has("Certificate pinning failure") || has("sha256/") || has("sha1/") {
            return .okhttp
        }
        return nil
    }

    /// Returns every dialect that has pins in the file.
    ///
    /// This is the dialect returned by ``recognized(in:)``, or two for a property list that contains both TrustKit's
    /// configuration and NSPinnedDomains. Each of them is a separate policy, and an app enforces both. A key that is
    /// misspelled or misplaced counts too, and the reader of its dialect notes it.
    public static func allRecognized(in bytes: [UInt8]) -> [PinDialect] {
        guard let first = recognized(in: bytes) else { return [] }
        guard [.trustkit, .apple].contains(first), let list = try? PropertyList.read(bytes, path: "") else {
            return [first]
        }
        let found = [PinDialect.trustkit, .apple].filter { $0.isMeant(by: list) }
        return found.isEmpty ? [first] : found
    }

    /// Whether a text in YAML or JSON has a key of a validation context, or Envoy's name of a TLS context.
    static func isEnvoy(_ bytes: [UInt8]) -> Bool {
        let keys = EnvoyContext.keyHashes + EnvoyContext.certificateHashes
        return bytes.hasAny(
            of: ["envoy.extensions.transport_sockets.tls"] + keys.flatMap { ["\($0):", "\"\($0)\""] })
    }

    /// Whether a text is a policy file, whose comments and notes can have the keys of other formats. Without a version
    /// it is one that can't be read.
    private static func isPolicy(_ document: JSONCReader.Document) -> Bool {
        let root = document.root
        return root?["version"] != nil && (root?["domains"] != nil || root?["pins"] != nil)
            || root?["domains"]?.elements != nil
    }

    /// Whether a line of a text is a TLSA record of a zone file: the type and the usage, after an owner and other
    /// words.
    private static func isZone(_ text: String) -> Bool {
        text.split(whereSeparator: \.isNewline).contains { line in
            let words = line.prefix { $0 != ";" }.split(maxSplits: 6) { $0 == " " || $0 == "\t" || $0 == "(" }
            return zip(words, words.dropFirst()).prefix(4).contains { type, usage in
                ["TLSA", "TYPE52"].contains(type.uppercased())
                    && (usage.utf8.allSatisfy(\.isDigit) || usage == "\\#" || usage.contains("-"))
            }
        }
    }

    /// Returns the text after leading white space and C-style comments of both kinds.
    private static func withoutComments(_ text: String) -> Substring {
        var rest = text[...]
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            if rest.hasPrefix("//") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*"), let end = rest.firstRange(of: "*/") {
                rest = rest[end.upperBound...]
            } else {
                return rest
            }
        }
    }

    /// Returns whether the list has a key of the dialect's pins, wherever it is. A key in the wrong place counts too,
    /// and so does a misspelled one with pins inside.
    private func isMeant(by list: PropertyList) -> Bool {
        let places = self == .apple ? ApplePinReader.places : TrustKitReader.places(isAlone: false)
        return places.holdsPins(list) || self == .apple && list[ApplePinReader.requiredKey] != nil
            || (list.members ?? []).contains { places.meant(by: $0, in: []) != nil }
    }
}

extension [UInt8] {
    /// Returns whether the bytes contain one of some words in ASCII, in one pass. With `ignoringCase` the words are in
    /// small letters.
    func hasAny(of words: [String], ignoringCase: Bool = false) -> Bool {
        let words = words.map { Array($0.utf8) }.filter { !$0.isEmpty }
        let fold: UInt8 = ignoringCase ? 0x20 : 0
        let firsts = Set(words.map { $0[0] })
        let starts = (0...255).map { firsts.contains(UInt8($0) | fold) }
        let (bytes, table) = (span, starts.span)
        for index in 0..<bytes.count where table[Int(bytes[index])] {
            for word in words where index + word.count <= bytes.count {
                var length = 1
                while length < word.count, bytes[index + length] | fold == word[length] { length += 1 }
                if length == word.count { return true }
            }
        }
        return false
    }
}
