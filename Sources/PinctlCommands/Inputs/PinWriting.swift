import CertificateTrust
import PinDialects
import PinctlBasics

/// The notation for the pins of `hash`, with the owner name for a whole TLSA record.
struct PinWriting {
    let spelling: PinSpelling
    private let owner: String?

    /// Creates the notation of `--as`. The default is this project's own.
    init(_ arguments: Arguments) throws(UsageError) {
        guard let word = arguments[.spelling] else {
            (spelling, owner) = (.okhttp, nil)
            return
        }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let spelling = PinSpelling(rawValue: parts[0]), parts.count == 1 || spelling == .tlsa else {
            throw .unknownChoice(.spelling, word, known: PinSpelling.allCases.map(\.rawValue))
        }
        self.spelling = spelling
        owner = parts.count == 2 ? try Self.owner(parts[1]) : nil
    }

    /// Returns the absolute owner name of a record without its final dot. It is checked because it is written to a zone
    /// file as it is.
    private static func owner(_ text: String) throws(UsageError) -> String {
        let name = text.hasSuffix(".") ? String(text.dropLast()) : text
        let isName = name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63
                && label.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                    default: "-_*".utf8.contains(byte)
                    }
                }
        }
        guard isName, name.utf8.count <= 253 else {
            throw .invalidValue(
                .spelling, reason: "\"\(text)\" isn't a record name: write tlsa=_443._tcp.example.com")
        }
        return name
    }

    /// Appends a pin to `text`. Only TLSA depends on `isAuthority`.
    func append(_ fingerprint: SPKIFingerprint, isAuthority: @autoclosure () -> Bool, to text: inout [UInt8]) {
        guard spelling == .okhttp, owner == nil else {
            return text.append(copying: self.text(fingerprint, isAuthority: isAuthority()).utf8.span)
        }
        fingerprint.append(to: &text)
    }

    /// Returns a pin in the notation. Only TLSA depends on `isAuthority`.
    func text(_ fingerprint: SPKIFingerprint, isAuthority: @autoclosure () -> Bool) -> String {
        let text = spelling.text(fingerprint, isAuthority: spelling == .tlsa && isAuthority())
        return owner.map { "\($0). IN TLSA \(text)" } ?? text
    }
}
