package import CertificatePinning

/// A pin that was found in a file of a source tree.
package struct PinSighting: Sendable, Hashable {
    /// The pin, without a role and a name.
    package var pin: CanonicalPin
    /// The position of the pin.
    package var location: PolicyLocation
    /// The host in lower case, without a wildcard, or `nil` if none is known.
    package var host: String?
    /// The dialect whose reader found the pin, or `nil` if it was found by its form.
    package var dialect: PinDialect?
    package var standing: Standing
    /// The names at and below the host that the pin is for.
    package var scope = HostPattern.Scope.exact
    /// Whether the position is that of a constant's use, whose value is in another file.
    package var isOfConstant = false
    /// The position of the constant's value, if it was found.
    package var value: PolicyLocation?

    /// Whether a client compares the pin.
    package enum Standing: String, Sendable, Hashable, CaseIterable {
        case inForce = "in force"
        /// A mismatch is only reported.
        case reportOnly = "report only"
        /// The rule is disabled.
        case off
        /// The rule has expired, and its pins aren't compared anymore.
        case expired
        /// A path with this key is refused.
        case denied
        /// The client ignores the pin where it is.
        case ignored
        /// A text in the form of a pin for which another one is to be written.
        case placeholder
        case comment
        case documentation
        /// A constant that no program of the project uses.
        case unused = "not used"
        /// The file belongs to the tests.
        case test
        /// A line that a patch removes.
        case removed
    }

    /// Whether clients compare the pin, so that other places should have it too.
    package var isInForce: Bool { standing == .inForce || standing == .reportOnly }
}

extension PinSighting {
    init(
        _ pin: CanonicalPin, at location: PolicyLocation, host: String?, dialect: PinDialect? = nil,
        _ standing: Standing
    ) {
        self.pin = CanonicalPin(pin.content, pin.digest, pin.value)
        self.location = location
        self.host = host.flatMap(Self.plain)
        self.dialect = dialect
        self.standing = standing
    }

    /// Takes over what a reader found about the same pin in another place of the file. A list may have it twice, and a
    /// table may have names for pins as keys, which pin nothing by themselves.
    mutating func adopt(_ read: [PinSighting], isKey: Bool) {
        guard standing == .inForce, read.contains(where: { $0.dialect != nil }) else { return }
        if isKey {
            standing = .ignored
        } else if let first = read.first(where: { $0.host == host && $0.dialect != nil }) {
            (dialect, scope, standing) = (first.dialect, first.scope, first.standing)
        }
    }

    /// Returns a host as it is compared: lower case, without a wildcard and the dot of the root.
    private static func plain(_ host: String) -> String? {
        var rest = host.lowercased()[...]
        for wildcard in ["**.", "*.", "."] where rest.hasPrefix(wildcard) { rest = rest.dropFirst(wildcard.count) }
        if rest.hasSuffix(".") { rest = rest.dropLast() }
        return rest.isEmpty ? nil : String(rest)
    }
}
