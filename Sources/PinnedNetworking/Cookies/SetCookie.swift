import PinctlHTTPMessages

/// The value of one `Set-Cookie` field, parsed as bytes (RFC 6265bis, section 5.6). It isn't a cookie yet: nothing has
/// been checked against the server that sent it.
struct SetCookie: Sendable {
    /// The value of `SameSite`.
    enum SameSite: String, Sendable {
        case unrestricted = "none"
        case lax
        case strict
    }

    let name: [UInt8]
    let value: [UInt8]
    /// The last `Domain` without its leading dot, empty if it has no value, and nil without the attribute.
    private(set) var domain: ArraySlice<UInt8>?
    /// The last `Path`, or nil without the attribute.
    private(set) var path: ArraySlice<UInt8>?
    private var expires: Date?
    private var maximumAge: Double?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    /// The last `SameSite`, or nil if it is missing or unknown.
    private(set) var sameSite: SameSite?

    /// The longest name and value together, in bytes (RFC 6265bis, section 5.6).
    static let pairLimit = 4096
    /// The longest attribute value, in bytes. A longer attribute is ignored (RFC 6265bis, section 5.6).
    static let attributeLimit = 1024
    /// The longest lifetime: 400 days, in seconds (RFC 6265bis, section 5.5).
    static let lifetimeLimit: Double = 400 * 86_400

    /// Parses a value. Returns nil if it has a control character, if it is too long, or if it has no name.
    ///
    /// RFC 6265bis lets cookies without a name be ignored. Apple's client does so, and a value such as `a=b` without a
    /// name would be sent as a cookie of another name.
    init?(_ field: [UInt8]) {
        guard HTTPGrammar.isFieldContent(field) else { return nil }
        var rest = field[...]
        guard let (name, value) = Self.pair(Self.nextPart(of: &rest)), let value, !name.isEmpty,
            // mutant cookie-size: true by CookieAttackTests CookieParsingTests
            name.count + value.count <= Self.pairLimit
        else { return nil }
        self.name = Array(name)
        self.value = Array(value)
        while !rest.isEmpty { read(Self.nextPart(of: &rest)) }
    }

    /// Takes everything up to the next semicolon, and the semicolon.
    private static func nextPart(of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let part = rest.prefix { $0 != UInt8(ascii: ";") }
        rest = rest.dropFirst(part.count + 1)
        return part
    }

    /// Returns the time when the cookie expires, or nil if it lasts for the session. `Max-Age` takes precedence.
    func expiry(at now: Date) -> Date? {
        let latest = now.addingTimeInterval(Self.lifetimeLimit)
        if let maximumAge {
            return maximumAge > 0 ? min(now.addingTimeInterval(maximumAge), latest) : .distantPast
        }
        // mutant cookie-lifetime: $0 for `min($0, latest)` by CookieAttackTests CookieParsingTests
        return expires.map { min($0, latest) }
    }

    private mutating func read(_ part: ArraySlice<UInt8>) {
        guard let (name, value) = Self.pair(part), value?.count ?? 0 <= Self.attributeLimit else { return }
        let text = value ?? []
        switch HTTPField.foldedName(String(decoding: name, as: UTF8.self)) {
        case "expires": expires = CookieDate.parse(text) ?? expires
        case "max-age": maximumAge = Self.seconds(text) ?? maximumAge
        case "domain": domain = text.first == UInt8(ascii: ".") ? text.dropFirst() : text
        case "path": path = text
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = SameSite(rawValue: HTTPField.foldedName(String(decoding: text, as: UTF8.self)))
        default: break
        }
    }

    /// Splits at the first `=` and removes the blanks around both parts. The value is nil without a `=`.
    private static func pair(_ bytes: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?)? {
        let parts = bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first else { return nil }
        return (trimmed(name), parts.count == 2 ? trimmed(parts[1]) : nil)
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = bytes.drop(while: HTTPGrammar.isBlank)
        return start[..<(start.lastIndex { !HTTPGrammar.isBlank($0) }.map { $0 + 1 } ?? start.startIndex)]
    }

    /// Returns the value of `Max-Age`: digits, perhaps after a minus sign. No number of digits is too large.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Double? {
        let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let seconds = digits.reduce(0.0) { min($0 * 10 + Double($1 - 0x30), lifetimeLimit) }
        return digits.count < text.count ? -seconds : seconds
    }
}
