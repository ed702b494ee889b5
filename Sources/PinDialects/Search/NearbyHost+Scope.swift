import CertificatePinning
import PinctlBasics

/// The setting of a text that a pin is also for the names below its host.
extension NearbyHost {
    /// Whether the line of a pin, one beside it, or one of an entry around it up to that of the host has such a setting
    /// that is true.
    mutating func hasSubdomains(_ line: Int) -> Bool {
        if setsSubdomains(line) { return true }
        let structure = structure(readsComments: text.isComment(line: line))
        var next = structure.index(ofLine: line)
        for _ in 0..<Self.mostLevels {
            guard let index = next else { return false }
            for step in [\TextStructure.Entry.previous, \TextStructure.Entry.next] {
                var other = structure.entries[index][keyPath: step]
                for _ in 0..<Self.mostSettings {
                    guard let found = other, !structure.entries[found].isItem else { break }
                    let line = structure.entries[found].line
                    if !structure.entries[found].hasParts {
                        // A header with other pins has a directive of its own.
                        // mutant find-other-header: true for `!taken.contains(line)` by PinSearchTests/subdomains
                        if !taken.contains(line), setsSubdomains(line) { return true }
                    } else if !places(in: text.range(ofLine: line)).isEmpty {
                        // An entry with a host has settings of its own.
                        break
                    }
                    other = structure.entries[found][keyPath: step]
                }
            }
            guard let parent = structure.entries[index].parent else { return false }
            let above = structure.entries[parent].line
            if setsSubdomains(above) { return true }
            if !places(in: text.range(ofLine: above)).isEmpty { return false }
            next = parent
        }
        return false
    }

    private static let mostLevels = 4
    private static let mostSettings = 20

    /// Whether a line sets the names below a host to true, as in `includeSubdomains: true`,
    /// `kTSKIncludeSubdomains: @YES`, and in the directive of a header with pins.
    private func setsSubdomains(_ line: Int) -> Bool {
        let range = text.range(ofLine: line)
        let bytes = text.bytes[range].prefix(Self.longestSetting)
        let letters = String(decoding: bytes.filter { $0.isWordByte && $0 != UInt8(ascii: "_") }, as: UTF8.self)
            .lowercased()
        let isSet =
            letters.contains("includesubdomainstrue") || letters.contains("includesubdomainsyes")
            || letters.contains("includessubdomainstrue")
            || letters.contains("modeincludesubdomains")
        return isSet
            || letters.contains("pinsha256") && letters.contains("includesubdomains")
                && !letters.contains("includesubdomainsfalse")
    }

    private static let longestSetting = 1_000
}
