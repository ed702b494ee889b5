import CertificatePinning
import PinctlBasics

extension PinDialect {
    /// Returns the dialect of a text based on its contents, or `nil` if it isn't recognized.
    public static func recognized(in bytes: [UInt8]) -> PinDialect? { allRecognized(in: bytes).first }

    /// Returns every dialect that has pins in the file.
    ///
    /// This is the dialect returned by ``recognized(in:)``, or two for a property list that contains both TrustKit's
    /// configuration and NSPinnedDomains, and for a program that pins keys in both OkHttp and Cronet. Each of them is a
    /// separate policy, and an app enforces both. A key that is misspelled or misplaced counts too, and the reader of
    /// its dialect notes it.
    public static func allRecognized(in bytes: [UInt8]) -> [PinDialect] { allRecognized(in: DialectText(bytes)) }

    /// Returns the dialects of a file that a user has named, or of one in a tree.
    static func allRecognized(in text: DialectText) -> [PinDialect] {
        guard let first = marks.first(where: { $0.isIn(text) })?.dialect else { return [] }
        // A program with pins of Alamofire can have those of another library, too.
        if first == .alamofire {
            let others = marks.filter { $0.dialect != first && $0.isIn(text) }.prefix(1).map(\.dialect)
            // mutant alamofire-other: [first] for `[first] + others` by AlamofireTests/others
            return [first] + others
        }
        if first == .okhttp, text.has("addPublicKeyPins"), CronetReader.isIn(text.bytes, path: text.name) {
            return OkHttpReader.buildsPinner(text.bytes, path: text.name) ? [.okhttp, .cronet] : [.cronet]
        }
        guard [.trustkit, .apple].contains(first), let list = try? PropertyList.read(text.bytes, path: "") else {
            return [first]
        }
        let found = [PinDialect.trustkit, .apple].filter { $0.isMeant(by: list) }
        return found.isEmpty ? [first] : found
    }

    /// Returns whether the list has a key of the dialect's pins, wherever it is. A key in the wrong place counts too,
    /// and so does a misspelled one with pins inside.
    private func isMeant(by list: PropertyList) -> Bool {
        let places = self == .apple ? ApplePinReader.places : TrustKitReader.places(isAlone: false)
        return places.holdsPins(list) || self == .apple && list[ApplePinReader.requiredKey] != nil
            || (list.members ?? []).contains { places.meant(by: $0, in: []) != nil }
    }
}

// MARK: - Marks

/// A mark by which the files of a dialect are recognized.
private struct DialectMark: Sendable {
    let dialect: PinDialect
    let forms: Set<DialectText.Form>
    /// The kinds of files in a tree that the mark is enough for. A file that a user has named can have any name.
    let kinds: Set<DialectText.Kind>
    let isFound: @Sendable (DialectText) -> Bool

    init(
        _ dialect: PinDialect, _ forms: Set<DialectText.Form>, in kinds: Set<DialectText.Kind> = [],
        _ isFound: @escaping @Sendable (DialectText) -> Bool
    ) {
        (self.dialect, self.forms, self.kinds, self.isFound) = (dialect, forms, kinds, isFound)
    }

    func isIn(_ text: DialectText) -> Bool {
        forms.contains(text.form) && (text.kind.map { kinds.contains($0) } ?? true) && isFound(text)
    }
}

extension PinDialect {
    /// The marks in the order in which they count: a program or a policy can contain the text of other formats in its
    /// comments and strings.
    ///
    /// A mark is a call, an element or a key, and never a digest, since a damaged digest is a reason to read the file.
    /// Most files of a tree have nothing to do with pins, so there the mark has to be in use. Marks without kinds are
    /// for files that a user has named.
    private static let marks: [DialectMark] = [
        DialectMark(.trustkit, [.binary], in: Set(DialectText.Kind.allCases)) { $0.has("TSK") },
        DialectMark(.apple, [.binary], in: Set(DialectText.Kind.allCases)) { !$0.isInTree || $0.has("NSPinned") },
        // Markup.
        DialectMark(.android, [.markup], in: [.markup, .plain]) {
            // Most configurations in a tree have no pins, unless they can't be read.
            $0.has("<network-security-config", "<pin-set", ignoringCase: true)
                && (!$0.isInTree || $0.has("<pin", ignoringCase: true) || (try? XMLReader.read($0.bytes)) == nil)
                && $0.isRoot(among: ["network-security-config", "domain-config", "base-config", "pin-set"])
        },
        DialectMark(.trustkit, [.markup], in: [.markup, .plain]) {
            $0.has("tskconfiguration", "tskpinneddomains", "tskpublickeyhashes", ignoringCase: true)
                && $0.isRoot(among: ["plist", "dict"])
        },
        DialectMark(.apple, [.markup], in: [.markup, .plain]) {
            // A property list without pins is read only if a user has named it.
            guard $0.isInTree else { return $0.has("<plist") }
            return $0.has("nspinned", "spki-sha256-base64", "sectrustpinningrequired", ignoringCase: true)
                && $0.isRoot(among: ["plist", "dict"])
        },
        // Objects of JSON.
        DialectMark(.certspotter, [.object], in: [.json]) { $0.has("\"pubkey_sha256\"", ignoringCase: true) },
        DialectMark(.policy, [.object], in: [.json], isPolicy),
        DialectMark(.envoy, [.object], in: [.json], isEnvoy),
        // A part of a policy looks like a map.
        // mutant broken-policy: false for `$0.document.root == nil` by RecognitionTests
        DialectMark(.policy, [.object]) { $0.document.root == nil },
        // Programs.
        DialectMark(.okhttp, [.other], in: [.jvm]) {
            let isWritten = $0.has("CertificatePinner")
            guard $0.isInTree else { return isWritten }
            return isWritten && OkHttpReader.buildsPinner($0.bytes, path: $0.name)
                || !isWritten && $0.has("certificatepinner.builder", ignoringCase: true)
        },
        DialectMark(.cronet, [.other], in: [.jvm]) {
            $0.has("addPublicKeyPins") && (!$0.isInTree || CronetReader.isIn($0.bytes, path: $0.name))
        },
        DialectMark(.alamofire, [.other], in: [.swift]) {
            $0.bytes.hasAny(of: AlamofireReader.words) && AlamofireReader.isIn($0.bytes)
        },
        DialectMark(.swift, [.other], in: [.swift]) {
            $0.has("PinningPolicy(", "PinningRule(")
                && (!$0.isInTree || SwiftReader.writesPins($0.bytes))
        },
        DialectMark(.trustkit, [.object, .other], in: [.json, .swift, .literals]) {
            $0.hasKey("TSKPinnedDomains", orMentions: $0.form == .object || $0.has("kTSKPinnedDomains"))
        },
        DialectMark(.apple, [.object, .other], in: [.json, .swift, .literals]) {
            // mutant apple-mention: true for `ApplePinReader.isIn($0.bytes)` by RecognitionTests/mentions
            $0.hasKey("NSPinnedDomains", orMentions: true) && ($0.form == .object || ApplePinReader.isIn($0.bytes))
        },
        // Texts.
        DialectMark(.envoy, [.other], in: [.json, .yaml], isEnvoy),
        DialectMark(.tlsa, [.other], in: [.plain, .text]) { ZoneReader.hasTLSARecord($0.marked) },
        DialectMark(.git, [.other], in: [.plain]) {
            GitConfiguration.isRecognized(in: $0.bytes) && (!$0.isInTree || $0.has("sha256/"))
        },
        DialectMark(.curl, [.other], in: [.plain, .text]) {
            guard $0.isInTree else {
                // The digest of a map's pin can begin with a slash.
                return $0.has("pinnedpubkey", ignoringCase: true) || $0.has("sha256//") && !$0.map.isMap
            }
            return $0.has("pinnedpubkey", ignoringCase: true) && $0.has("sha256/") && $0.kind == .plain
                || $0.begins(with: "sha256//")
        },
        DialectMark(.hpkp, [.markup, .other], in: [.plain, .text]) {
            // A script only writes such a line into another file.
            // mutant hpkp-script: false for `$0.bytes.starts(with: "#!".utf8)` by PinSearchTests/scripts
            if $0.isInTree, $0.bytes.starts(with: "#!".utf8) { return false }
            return $0.isInTree
                ? $0.hasLine(from: "public-key-pins") || $0.begins(with: "pin-sha256=")
                    || HPKPConfiguration.isRecognized(in: $0.marked)
                : $0.has("pin-sha256") || $0.begins(with: "public-key-pins")
        },
        DialectMark(.tlsa, [.other]) { $0.has("TLSA", "TYPE52") },
        // A number for the version is one of a policy whose "domains" is misspelled.
        // mutant misspelled-policy: false for `$0.document.root?["version"]?.integer != nil` by
        //   PinctlTests.LintTests/defaultPolicy
        DialectMark(.policy, [.object], in: [.json]) { $0.document.root?["version"]?.integer != nil && $0.map.isMap },
        DialectMark(.map, [.object, .other], in: [.json, .yaml, .swift, .literals]) {
            let map = $0.map
            return $0.isInTree ? map.isMap && map.hasPins : map.isMap || $0.form == .other && !map.stray.isEmpty
        },
        DialectMark(.okhttp, [.other], in: [.plain, .text]) {
            guard $0.isInTree else { return $0.has("sha256/", "sha1/", "Certificate pinning failure") }
            return $0.has("sha256/", "sha1/") && OkHttpReader.isList(String(decoding: $0.marked, as: UTF8.self))
        },
        DialectMark(.policy, [.object]) { _ in true },
    ]

    /// Whether a text in YAML or JSON has a key of a validation context, or Envoy's name of a TLS context.
    private static func isEnvoy(_ text: DialectText) -> Bool {
        let keys = EnvoyContext.keyHashes + EnvoyContext.certificateHashes
        return text.marked.hasAny(
            of: ["envoy.extensions.transport_sockets.tls"] + keys.flatMap { ["\($0):", "\"\($0)\""] })
    }

    /// Whether a text is a policy file, whose comments and notes can have the keys of other formats. Without a version
    /// it is one that can't be read.
    private static func isPolicy(_ text: DialectText) -> Bool {
        let isBundle = PolicyBundle.isRecognized(in: text.bytes)
        guard let root = text.document.root else {
            func has(_ key: String) -> Bool { text.has("\"\(key)\"", ignoringCase: true) }
            let isMeant = has("domains") && (has("version") || has("pins")) || has("version") && has("pins")
            // mutant find-broken-policy: false by TreeGateTests
            return text.isInTree && (isBundle || isMeant && text.has("\"host\"", "sha256/", ignoringCase: true))
        }
        guard text.isInTree else {
            return root["version"] != nil && (root["domains"] != nil || root["pins"] != nil)
                || root["domains"]?.elements != nil
        }
        if isBundle, root["payloadType"]?.string != nil { return true }
        func value(_ key: String, of value: JSONValue) -> JSONValue? {
            value.members?.first { $0.key.lowercased() == key }?.value
        }
        // Other files have versions and lists of domains too.
        if let rules = value("domains", of: root)?.elements {
            return rules.contains { value("host", of: $0) != nil || value("pins", of: $0) != nil }
                || rules.isEmpty && root["version"]?.integer == 1
        }
        return root["version"] != nil
            && (root["pins"]?.members ?? []).contains {
                ($0.value["pin"] ?? $0.value).string?.hasPrefix("sha256/") ?? ($0.value["file"] != nil)
            }
    }
}
