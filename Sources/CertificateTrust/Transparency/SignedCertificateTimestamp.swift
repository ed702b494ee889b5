import PinctlBasics
package import PinctlFoundation

/// A promise of a log to publish a certificate, version 1 (RFC 6962, section 3.2). Parsed, but not verified.
package struct SignedCertificateTimestamp: Sendable, Hashable {
    /// The SHA-256 of the log's public key, 32 bytes.
    package let logID: [UInt8]
    /// The time of the promise in milliseconds since 1970.
    package let milliseconds: UInt64
    /// The extensions, which RFC 6962 doesn't define but signs.
    let extensions: [UInt8]
    /// The HashAlgorithm and SignatureAlgorithm of TLS (RFC 5246, section 7.4.1.4.1).
    let algorithm: (hash: UInt8, signature: UInt8)
    let signature: [UInt8]

    /// The time of the promise.
    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    package static func == (left: Self, right: Self) -> Bool {
        left.logID == right.logID && left.milliseconds == right.milliseconds && left.extensions == right.extensions
            && left.algorithm == right.algorithm && left.signature == right.signature
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(logID)
        hasher.combine(milliseconds)
    }

    /// Parses one SerializedSCT that fills `range`. Returns `nil` if it is malformed. The version was already read.
    fileprivate init?(_ bytes: Span<UInt8>, after version: Int, to end: Int) {
        var reader = TLSReader(position: version, end: end)
        guard let logID = reader.take(bytes, 32), let milliseconds = reader.number(bytes, octets: 8),
            let extensions = reader.vector(bytes), let hash = reader.number(bytes, octets: 1),
            let algorithm = reader.number(bytes, octets: 1), let signature = reader.vector(bytes), reader.isAtEnd
        else { return nil }
        self.logID = Array(copying: bytes.extracting(logID))
        self.milliseconds = milliseconds
        self.extensions = Array(copying: bytes.extracting(extensions))
        self.algorithm = (UInt8(hash), UInt8(algorithm))
        self.signature = Array(copying: bytes.extracting(signature))
    }
}

/// A SignedCertificateTimestampList (RFC 6962, section 3.3).
struct TimestampList: Sendable {
    enum Element: Sendable, Hashable {
        case timestamp(SignedCertificateTimestamp)
        /// A timestamp of another version, which is skipped (RFC 6962, section 3.3).
        case otherVersion(UInt8)
        case malformed
    }

    let elements: [Element]

    /// The limit on elements. CAs embed two to five, and each costs the verification of a signature.
    static let maximumCount = 16

    /// Parses a list that fills `bytes`. Returns `nil` if it is cut off, empty, followed by other bytes, or has more
    /// than ``maximumCount`` elements.
    init?(_ bytes: Span<UInt8>) {
        var outer = TLSReader(position: 0, end: bytes.count)
        guard let contents = outer.vector(bytes), outer.isAtEnd, !contents.isEmpty else { return nil }
        var list = TLSReader(position: contents.lowerBound, end: contents.upperBound)
        var elements: [Element] = []
        while !list.isAtEnd {
            guard elements.count < Self.maximumCount, let element = list.vector(bytes), !element.isEmpty else {
                return nil
            }
            let version = bytes[element.lowerBound]
            guard version == 0 else {
                elements.append(.otherVersion(version))
                continue
            }
            let parsed = SignedCertificateTimestamp(
                bytes, after: element.lowerBound + 1, to: element.upperBound)
            elements.append(parsed.map(Element.timestamp) ?? .malformed)
        }
        self.elements = elements
    }
}

/// A bounds-checked walk over the presentation language of TLS (RFC 5246, section 4).
private struct TLSReader {
    var position: Int
    let end: Int

    var isAtEnd: Bool { position == end }

    mutating func take(_ bytes: Span<UInt8>, _ count: Int) -> Range<Int>? {
        guard count <= end - position else { return nil }
        defer { position += count }
        return position..<position + count
    }

    mutating func number(_ bytes: Span<UInt8>, octets: Int) -> UInt64? {
        guard let range = take(bytes, octets) else { return nil }
        var number: UInt64 = 0
        for index in range { number = number << 8 | UInt64(bytes[index]) }
        return number
    }

    /// Reads a vector with a length of two octets.
    mutating func vector(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let count = number(bytes, octets: 2) else { return nil }
        return take(bytes, Int(count))
    }
}
