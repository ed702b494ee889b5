import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics

@testable import PinDialects

/// A file of a source tree, in which letters in braces stand for digests: `{A}` in base64, `{A.hex}`, `{A.HEX}` and
/// `{A.colons}`. Each letter has a digest of its own.
struct SearchText {
    let name: String
    let text: String

    init(_ name: String, _ template: String) {
        self.name = name
        var text = template
        for letter in "ABCD" {
            let value = Self.value(letter)
            let hex = Hexadecimal.encode(value)
            let pairs = value.map { Hexadecimal.encode([$0]) }
            text.replace("{\(letter)}", with: Base64.encode(value.span))
            text.replace("{\(letter).half1}", with: String(hex.prefix(56)))
            text.replace("{\(letter).half2}", with: String(hex.dropFirst(56)))
            text.replace("{\(letter).hex}", with: hex)
            text.replace("{\(letter).HEX}", with: hex.uppercased())
            text.replace("{\(letter).colons}", with: pairs.joined(separator: ":").uppercased())
            text.replace("{\(letter).spaced}", with: pairs.joined(separator: " ").uppercased())
            text.replace("{\(letter).sha1.hex}", with: Hexadecimal.encode(value.prefix(20)))
            text.replace("{\(letter).sha1.colons}", with: pairs.prefix(20).joined(separator: ":").uppercased())
            let digits = Base64.encode(value.span)
            text.replace("{\(letter).start}", with: String(digits.prefix(30)))
            text.replace("{\(letter).end}", with: String(digits.dropFirst(30)))
            // The last digit with a spare bit.
            text.replace("{\(letter).spare}", with: Self.spare(digits))
            text.replace("{\(letter).sha1}", with: Base64.encode(Array(value.prefix(20)).span))
        }
        self.text = text
    }

    /// Returns the digits with one of the two bits set that the last one has to spare.
    private static func spare(_ digits: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let last = digits.dropLast().last.flatMap(alphabet.firstIndex) ?? 0
        return digits.dropLast(2) + String(alphabet[last + 1]) + "="
    }

    /// 2026-11-20, on which the tests search.
    static let time = Date(timeIntervalSince1970: 1_795_132_800)

    static func value(_ letter: Character) -> [UInt8] {
        let first = letter.asciiValue ?? 0
        return (0..<32).map { UInt8(truncatingIfNeeded: Int(first) &* 59 &+ $0 &* 37) }
    }

    private static func letter(_ pin: CanonicalPin) -> String {
        let letter = "ABCD".first { value($0).starts(with: pin.value) }
        return letter.map(String.init) ?? pin.description
    }

    func search() -> PinSearch {
        PinSearch(Array(text.utf8).span, path: name, name: name, at: Self.time, suffixes: Self.suffixes)
    }

    /// A small list, so that the tests don't depend on the one of the system.
    static let suffixes = PublicSuffixes(
        list: Array("com\norg\napp\nio\nde\nco.uk\nuk\npl\nsh\nzip\nname\nhost\n".utf8))

    /// The pins in lines such as `3: A api.example.com key`, with the dialect and the standing where they matter.
    var sightings: [String] { search().sightings.map(Self.line) }

    static func line(_ sighting: PinSighting) -> String {
        var parts = ["\(sighting.location.line): \(letter(sighting.pin))", sighting.host ?? "-"]
        if sighting.pin.content == .certificate { parts.append("certificate") }
        if sighting.pin.digest != .sha256 { parts.append(sighting.pin.digest.rawValue) }
        if let dialect = sighting.dialect { parts.append(dialect.rawValue) }
        if sighting.standing != .inForce { parts.append("(\(sighting.standing.rawValue))") }
        return parts.joined(separator: " ")
    }
}
