/// The text of the exception that OkHttp throws at a mismatch: what was served, and what is pinned.
public struct PinningFailureText: Sendable, Hashable {
    /// A certificate of the server's chain.
    public struct Served: Sendable, Hashable {
        /// Its key.
        public let pin: CanonicalPin
        /// Whose it is, as the text has it.
        public let subject: String
    }

    /// The host.
    public let host: String
    /// The chain, leaf first.
    public let served: [Served]
    /// The pins of every pattern that holds the host.
    public let pinned: [CanonicalPin]

    /// Finds the text, wherever it stands in a log; nil when it is not there whole. Of several the first counts.
    public init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let start = lines.firstIndex(where: { $0.contains("Certificate pinning failure!") }) else { return nil }
        let heading = "Pinned certificates for "
        guard let middle = lines[start...].firstIndex(where: { $0.contains(heading) }),
            let host = lines[middle].components(behind: heading), host.hasSuffix(":"), host.count > 1
        else { return nil }
        self.host = String(host.dropLast())
        served = lines[start..<middle].compactMap { line in
            guard let (pin, rest) = Self.pin(in: line) else { return nil }
            let subject = rest.drop { $0 == ":" || $0 == " " }
            return Served(pin: pin, subject: String(subject))
        }
        var pinned: [CanonicalPin] = []
        for line in lines[(middle + 1)...] {
            guard pinned.count < TextLimits.pins, let (pin, _) = Self.pin(in: line) else { break }
            pinned.append(pin)
        }
        guard !pinned.isEmpty else { return nil }
        self.pinned = pinned
    }

    /// The first pin of a line, and what stands behind it.
    private static func pin(in line: Substring) -> (CanonicalPin, Substring)? {
        for prefix in ["sha256/", "sha1/"] {
            guard let rest = line.components(behind: prefix) else { continue }
            let base64 = rest.prefix { $0 != ":" && $0 != " " }
            guard let pin = OkHttpPin.pin(prefix + base64) else { continue }
            return (pin, rest[base64.endIndex...])
        }
        return nil
    }
}

extension Substring {
    /// What stands behind the first `text` in it.
    fileprivate func components(behind text: String) -> Substring? {
        var rest = self
        while !rest.isEmpty {
            if rest.hasPrefix(text) { return rest.dropFirst(text.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
