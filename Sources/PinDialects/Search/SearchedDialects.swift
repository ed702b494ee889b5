import CertificatePinning
import PinctlBasics

/// The dialects of a file in a source tree.
///
/// ``PinDialect/recognized(in:)`` returns the most likely dialect of a file that a user has named. In a tree most files
/// have no pins at all, so their structure must show the dialect.
struct SearchedDialects {
    private(set) var all: [PinDialect] = []
    /// Whether the file is a list of named pins that policies include, such as `public-roots.jsonc`. It pins nothing by
    /// itself.
    private(set) var isList = false
    /// The digests that are pins by their use in a literal, although no host is known, with what they identify.
    private(set) var pinned: [[UInt8]: CanonicalPin.Content] = [:]

    /// `hasDigests` is whether the file has any text in the form of a digest, without which a program pins nothing.
    init(_ bytes: [UInt8], name: String, hasDigests: Bool) {
        func has(_ word: String) -> Bool { bytes.hasAny(of: [word]) }
        if bytes.starts(with: "bplist".utf8) {
            if has("NSPinned") || has("TSK") { all = PinDialect.allRecognized(in: bytes) }
            return
        }
        let ending = SearchedText.fileExtension(name)
        switch ending {
        case "json", "jsonc", "json5", "yaml", "yml":
            // Most such files are data.
            let words = ["pins\"", "verify_c", "verifyC", "envoy.ext", "pubkey_sha256", "payloadType"]
            guard hasDigests || bytes.hasAny(of: words) else { return }
            if ending == "yaml" || ending == "yml" {
                if PinDialect.isEnvoy(bytes) { all = [.envoy] }
            } else if has("\"pubkey_sha256\""), has("\"dns_names\"") {
                all = [.certspotter]
            } else if PinDialect.isEnvoy(bytes) {
                all = [.envoy]
            } else if has("\"version\""), !has("\"domains\""), Self.isList(bytes) {
                isList = true
            } else if PolicyBundle.isRecognized(in: bytes)
                || has("\"domains\"") && has("\"version\"") && has("\"pins\"")
            {
                all = Self.isPolicy(bytes) ? [.policy] : []
            } else if hasDigests {
                takeLiterals(bytes)
            }
        case "kt", "kts", "java", "groovy", "scala":
            if hasDigests, has("CertificatePinner") { all = [.okhttp] }
        case "swift":
            if hasDigests, has("PinningPolicy(") || has("PinningRule(") {
                all = [.swift]
            } else if hasDigests {
                takeLiterals(bytes)
            }
        case "js", "jsx", "mjs", "cjs", "ts", "tsx", "dart", "m", "mm":
            if hasDigests { takeLiterals(bytes) }
        default:
            if Self.isMarkup(bytes, ending) {
                if has("<network-security-config") {
                    all = Self.root(bytes) == "network-security-config" ? [.android] : []
                } else if has("NSPinned") || has("TSKConfiguration") || has("TSKPinnedDomains") || has("kTSK") {
                    all = ["plist", "dict"].contains(Self.root(bytes)) ? PinDialect.allRecognized(in: bytes) : []
                }
            } else if hasDigests, ["", "zone", "db", "dns", "conf"].contains(ending), has("TLSA") || has("TYPE52"),
                Self.isZone(bytes)
            {
                all = [.tlsa]
            }
        }
    }

    /// Takes the dialects of literals in a program or in JSON.
    private mutating func takeLiterals(_ bytes: [UInt8]) {
        for dialect in [PinDialect.trustkit, .apple] {
            let key = dialect == .apple ? ApplePinReader.path[0] : TrustKitReader.domainsKey
            guard bytes.hasAny(of: [dialect == .apple ? ApplePinReader.path[1] : key]) else { continue }
            if SourceLiterals(bytes, TextCursor(bytes)).contains(key: key) { all = [dialect] }
            return
        }
        let literals = PinMapReader.search(bytes)
        if literals.isMap { all = [.map] }
        for pin in literals.stray { pinned[pin.value] = pin.content }
    }

    private static func isMarkup(_ bytes: [UInt8], _ ending: String) -> Bool {
        ["xml", "plist", ""].contains(ending) && bytes.prefix(256).first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
    }

    /// Whether a JSON text is a policy, or one that can't be parsed.
    private static func isPolicy(_ bytes: [UInt8]) -> Bool {
        let reading = JSONCReader.read(bytes, dialect: .jsonc)
        guard let root = reading.root, reading.problems.isEmpty else { return true }
        if root["payloadType"]?.string != nil, PolicyBundle.isRecognized(in: bytes) { return true }
        return root["version"]?.integer != nil && root["domains"]?.elements != nil
    }

    private static func isList(_ bytes: [UInt8]) -> Bool {
        let reading = JSONCReader.read(bytes, dialect: .jsonc)
        return reading.problems.isEmpty && reading.root?["version"]?.integer != nil
            && reading.root?["pins"]?.members != nil
    }

    /// Returns the name of the first element of a document, even of one that is malformed.
    private static func root(_ bytes: [UInt8]) -> String {
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "<"), index + 1 < bytes.count {
                let rest = bytes[(index + 1)...]
                if rest.starts(with: "!--".utf8) {
                    index = rest.firstRange(of: Array("-->".utf8))?.upperBound ?? bytes.count
                    continue
                }
                if rest[index + 1].isWordByte {
                    return String(decoding: rest.prefix { $0.isWordByte || $0 == UInt8(ascii: "-") }, as: UTF8.self)
                }
            }
            index += 1
        }
        return ""
    }

    /// Whether the first lines of a text are those of a zone file: directives, comments and records.
    private static func isZone(_ bytes: [UInt8]) -> Bool {
        let types: Set = ["SOA", "NS", "A", "AAAA", "MX", "TXT", "CNAME", "TLSA", "TYPE52", "CAA", "SRV"]
        let lines = bytes.split(separator: UInt8(ascii: "\n")).lazy.map { String(decoding: $0, as: UTF8.self) }
            .filter { line in !line.allSatisfy(\.isWhitespace) && !line.hasPrefix(";") }
        guard let first = lines.first else { return false }
        guard !first.hasPrefix("#") else { return false }
        if first.hasPrefix("$ORIGIN") || first.hasPrefix("$TTL") { return true }
        return first.split(whereSeparator: \.isWhitespace).dropFirst().prefix(3).contains {
            types.contains($0.uppercased())
        }
    }
}
