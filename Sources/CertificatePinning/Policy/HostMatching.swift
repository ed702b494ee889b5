import CertificateTrust
import PinctlBasics

/// The way in which a system compares the host of a request with the names in its file.
package struct HostMatching: Sendable {
    /// A form of hostnames. Two names are equal if they have the same bytes in this form.
    package enum Form: Sendable {
        /// The name as it is written.
        case written
        /// In lower case.
        case lowercased
        /// In lower case and without a dot at the end.
        case undotted
        /// In lower case, with U-labels as A-labels.
        case aLabels
        /// The canonical text of a ``ServerName``. A text that isn't one has no form.
        case parsed
        /// The same for DNS names. An address has no form.
        case parsedName
    }

    /// The form of the host of a request.
    let requested: Form
    /// The form of a name in the file.
    let named: Form
    /// Whether the system fails for a host with a dot at the beginning before it looks for a rule.
    let rejectsLeadingDot: Bool

    /// Creates a way to compare hosts.
    package init(_ requested: Form, _ named: Form, rejectsLeadingDot: Bool = false) {
        self.requested = requested
        self.named = named
        self.rejectsLeadingDot = rejectsLeadingDot
    }

    /// Returns whether the system fails for a host before it looks for a rule.
    package func rejects(_ host: String) -> Bool { rejectsLeadingDot && host.hasPrefix(".") }
}

extension HostMatching {
    /// Returns a name in the form ``Form/aLabels``, which every text has.
    package static func aLabels(of host: String) -> String {
        let name = host.lowercased()
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return name }
        return name.split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.aLabel($0) ?? String($0) }.joined(separator: ".").bytewise
    }
}

extension HostMatching.Form {
    /// Returns a name in this form, or `nil` if the system doesn't accept it as a name.
    package func name(_ host: String) -> String? {
        switch self {
        case .written: return host.bytewise
        case .lowercased: return host.lowercased().bytewise
        case .undotted:
            let name = host.lowercased()
            guard name.utf8.last == UInt8(ascii: ".") else { return name.bytewise }
            return String(Substring(name.utf8.dropLast())).bytewise
        case .aLabels: return HostMatching.aLabels(of: host)
        case .parsed: return (try? ServerName(host))?.description
        case .parsedName: return (try? ServerName(host)).flatMap { $0.isIPAddress ? nil : $0.description }
        }
    }
}

extension String {
    /// The text with a character for each byte, so that only texts with the same bytes are equal. Swift also compares
    /// the spellings that Unicode has for a character as equal.
    fileprivate var bytewise: String {
        utf8.allSatisfy { $0 < 0x80 } ? self : String(String.UnicodeScalarView(utf8.map { Unicode.Scalar($0) }))
    }
}
