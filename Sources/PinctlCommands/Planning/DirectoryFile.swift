import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// The use of a file in a directory of releases, judged by its contents.
///
/// Only what is known to be something else is irrelevant. A file that may have pins and isn't understood would hide a
/// release.
enum DirectoryFile: Equatable {
    /// A file with pins, in a dialect that is recognized.
    case release
    /// A file that has nothing to do with releases, such as a key or a picture.
    case irrelevant
    /// A file that isn't understood, for this reason.
    case unread(String)

    init(_ bytes: [UInt8], name: String) {
        if Self.isProse(name) {
            self = .irrelevant
        } else if let dialect = PinDialect.recognized(in: bytes) {
            self = dialect == .policy ? Self.policy(bytes) : .release
        } else if name.hasSuffix(".json") || name.hasSuffix(".jsonc") {
            self = Self.policy(bytes)
        } else if InputReader.holdsKeys(bytes) || Self.isDER(bytes) || Self.isMedia(bytes) {
            self = .irrelevant
        } else if bytes.starts(with: [0x50, 0x4B, 3, 4]) || bytes.starts(with: [0x1F, 0x8B]) {
            self = .unread("is an archive, whose files aren't read: unpack it")
        } else if bytes.starts(with: [3, 0, 8, 0]) {
            self = .unread("is XML that was compiled for an app: give its source")
        } else if let text = Self.text(bytes), let problem = Self.damage(text, name) {
            self = .unread(problem)
        } else if let text = Self.text(bytes) {
            let advice = "name the dialect with \(Flag.from.dashed) and the file itself, or move it elsewhere"
            // mutant plan-unread: false by PlanReleaseTests
            self =
                Self.mayHavePins(text)
                ? .unread("seems to have pins, but no dialect is recognized: \(advice)") : .irrelevant
        } else {
            self = .unread(
                "isn't text in UTF-8, nor any other file that is known: save it as UTF-8, or move it elsewhere")
        }
    }

    /// A text in JSON, which is a policy if it has rules, and otherwise a part of one or something else.
    private static func policy(_ bytes: [UInt8]) -> DirectoryFile {
        // mutant plan-bundle: false for `PolicyBundle.isRecognized(in: bytes)` by PlanTests
        if PolicyBundle.isRecognized(in: bytes) || bytes.firstRange(of: "\"domains\"") != nil {
            return .release
        }
        // A policy that was written by half has no rules either.
        if let problem = JSONCReader.read(bytes, dialect: .jsonc).problems.first {
            return .unread("isn't a policy: \(problem.message)")
        }
        // A file that other policies include has pins and no rules.
        let isPart = bytes.firstRange(of: "\"version\"") != nil
        guard !isPart, mayHavePins(String(decoding: bytes, as: UTF8.self)) else { return .irrelevant }
        return .unread("seems to have pins, but isn't a policy: write them as a policy, or move it elsewhere")
    }

    private static func isProse(_ name: String) -> Bool {
        let upper = name.uppercased()
        return upper.hasSuffix(".MD") || name.hasPrefix(".git") || name == ".DS_Store"
            || ["README", "LICENSE", "NOTICE", "CHANGELOG"].contains { upper.hasPrefix($0) }
    }

    /// Whether the bytes are one DER SEQUENCE, as a CRL, an OCSP response or parameters are.
    private static func isDER(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 4, bytes[0] == 0x30 else { return false }
        let count = bytes[1] < 0x80 ? 0 : Int(bytes[1] & 0x7F)
        guard count <= 3 else { return false }
        let length = count == 0 ? Int(bytes[1]) : bytes[2..<(2 + count)].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count == 2 + count + length
    }

    /// Whether the bytes begin as a picture, a font, a document or a compiled program does.
    private static func isMedia(_ bytes: [UInt8]) -> Bool {
        let beginnings: [[UInt8]] = [
            [0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF], Array("GIF8".utf8), Array("RIFF".utf8), Array("%PDF".utf8),
            [0, 0, 1, 0], [0, 1, 0, 0], Array("OTTO".utf8), Array("wOF".utf8), [0x7F, 0x45, 0x4C, 0x46],
            [0xCA, 0xFE, 0xBA, 0xBE], [0xCF, 0xFA, 0xED, 0xFE],
        ]
        return beginnings.contains { bytes.starts(with: $0) }
    }

    /// Returns the text in UTF-8, or in UTF-16 with a byte order mark, or `nil`.
    private static func text(_ bytes: [UInt8]) -> String? {
        guard let (bytes, _) = try? XMLReader.decoded(bytes), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns why a file is incomplete whose name or beginning is that of a dialect, such as one that was written by
    /// half.
    private static func damage(_ text: String, _ name: String) -> String? {
        let end = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        if text.allSatisfy(\.isWhitespace), ["xml", "plist", "kt", "java", "swift", "yaml", "yml"].contains(end) {
            return "is empty: write its pins again, or remove it"
        }
        let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        guard start.first == "<", !start.prefix(15).lowercased().contains("html") else { return nil }
        do throws(MarkupProblem) {
            _ = try XMLReader.read(Array(text.utf8), allowsPropertyListType: true)
            return nil
        } catch {
            return "isn't XML that can be read: \(error.message)"
        }
    }

    private static func mayHavePins(_ text: String) -> Bool {
        guard !text.contains("-----BEGIN ") else { return false }
        let words = [
            "pin-sha256", "pin-set", "NSPinnedDomains", "TSKPinnedDomains", "kTSK", "pinnedpubkey", "CertificatePinner",
            "network-security-config", "<pin ", "sha256/", "sha1/", "SPKI-SHA256",
        ]
        if words.contains(where: { text.contains($0) }) { return true }
        let lowered = text.lowercased()
        guard lowered.contains("pin") || lowered.contains("spki") else { return false }
        // The base64 of 32 bytes has 43 digits and one sign of padding.
        return text.utf8.split { !($0.isBase64Digit || $0 == UInt8(ascii: "=")) }.contains { token in
            token.count == 44 && token.last == UInt8(ascii: "=") && token.dropLast().allSatisfy(\.isBase64Digit)
        }
    }
}

extension UInt8 {
    fileprivate var isBase64Digit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }
}
