extension PinDialect {
    /// Which dialect a text is in, by what stands in it; nil for none that is known.
    public static func recognized(in bytes: [UInt8]) -> PinDialect? {
        if bytes.starts(with: Array("bplist".utf8)) {
            return contains(bytes, "TSK") ? .trustkit : .apple
        }
        let text = String(decoding: bytes, as: UTF8.self)
        func has(_ word: String) -> Bool { contains(bytes, word) }
        let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        if start.first == "<" {
            if has("<network-security-config") { return .android }
            if has("TSKConfiguration") || has("TSKPinnedDomains") { return .trustkit }
            return has("<plist") ? .apple : nil
        }
        if start.first == "{" || start.hasPrefix("//") && has("\"domains\"")
            || start.hasPrefix("/*") && has("\"domains\"")
        {
            return .policy
        }
        if has("sha256//") { return .curl }
        if has("pin-sha256") || text.lowercased().hasPrefix("public-key-pins") { return .hpkp }
        if has("TLSA") || has("TYPE52") { return .tlsa }
        if has("CertificatePinner") || has("Certificate pinning failure") || has("sha256/") || has("sha1/") {
            return .okhttp
        }
        return nil
    }

    private static func contains(_ bytes: [UInt8], _ word: String) -> Bool {
        let word = Array(word.utf8)
        guard let first = word.first, bytes.count >= word.count else { return false }
        return bytes.indices.dropLast(word.count - 1).contains { index in
            bytes[index] == first && bytes[index..<index + word.count].elementsEqual(word)
        }
    }
}
