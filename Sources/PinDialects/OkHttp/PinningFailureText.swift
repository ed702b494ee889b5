package import CertificatePinning

/// The text of the exception that OkHttp throws on a mismatch, with the keys that were served and those that are
/// pinned.
package struct PinningFailureText: Sendable, Hashable {
    /// A certificate of the server's chain.
    package struct Served: Sendable, Hashable {
        /// The pin of the certificate's key.
        package let pin: CanonicalPin
        /// The subject of the certificate, as written in the text.
        package let subject: String
    }

    /// The host that was connected to.
    package let host: String
    /// The server's chain, leaf first.
    package let served: [Served]
    /// The pins of every pattern that matches the host.
    package let pinned: [CanonicalPin]

    /// Parses the first such text in a log. Returns `nil` if there is none or it is incomplete.
    package init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let start = lines.firstIndex(where: { $0.contains("Certificate pinning failure!") }) else { return nil }
        let heading = "Pinned certificates for "
        guard let middle = lines[start...].firstIndex(where: { $0.contains(heading) }),
            let host = lines[middle].text(behind: heading), host.hasSuffix(":"), host.count > 1
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

    /// Returns the first pin in a line and the text that follows it.
    private static func pin(in line: Substring) -> (CanonicalPin, Substring)? {
        for prefix in ["sha256/", "sha1/"] {
            guard let rest = line.text(behind: prefix) else { continue }
            let base64 = rest.prefix { $0 != ":" && $0 != " " }
            guard let pin = OkHttpPin.pin(prefix + base64) else { continue }
            return (pin, rest[base64.endIndex...])
        }
        return nil
    }
}
