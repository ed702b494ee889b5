/// The nameConstraints of a CA (RFC 5280, section 4.2.1.10), which limit the names in the certificates below it.
///
/// OpenSSL checks them too, with other gaps: it compares a wildcard as if `*` were a label, and ignores malformed
/// constraints and names. Both must accept a path.
struct NameConstraints: Sendable {
    /// The permitted subtrees. If there are none of a kind, names of that kind aren't limited to permitted ones.
    private(set) var permitted: [NameConstraint] = []
    private(set) var excluded: [NameConstraint] = []
    /// The reason why the extension can't be applied. `nil` if it can.
    private(set) var defect: String?

    /// The number of comparisons that one name takes.
    var count: Int { permitted.count + excluded.count }

    /// The first DNS name with a leading dot, which RFC 5280 allows only for email addresses and URIs.
    var leadingDot: SubjectAlternativeName? { (permitted + excluded).lazy.compactMap(\.leadingDot).first }

    /// Parses the contents of a NameConstraints sequence.
    init(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) {
        var fields = DERCursor(contents)
        let permittedList = try fields.nextIfPresent(DERTag.constructedContext(0), bytes)
        let excludedList = try fields.nextIfPresent(DERTag.constructedContext(1), bytes)
        try fields.finish()
        if permittedList == nil, excludedList == nil { defect = "has neither permitted nor excluded names" }
        if let permittedList { permitted = try read(bytes, permittedList.contents) }
        if let excludedList { excluded = try read(bytes, excludedList.contents) }
    }

    private mutating func read(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) -> [NameConstraint] {
        var list = DERCursor(contents)
        if list.isAtEnd { defect = "has an empty list of names" }
        var constraints: [NameConstraint] = []
        while !list.isAtEnd {
            var subtree = DERCursor(try list.next(DERTag.sequence, bytes).contents)
            let base = try subtree.next(bytes)
            // RFC 5280: minimum is zero, which DER omits, and maximum is absent.
            if !subtree.isAtEnd { defect = "limits the depth of names" }
            guard let kind = GeneralNameKind(tag: base.tag) else {
                throw .invalidValue(what: "type of constrained name", offset: base.whole.lowerBound)
            }
            guard let constraint = try NameConstraint(kind, bytes, base.contents) else {
                defect = "has a malformed name"
                continue
            }
            constraints.append(constraint)
        }
        return constraints
    }

    /// Returns the reason why a certificate below may not have one of these names, or `nil` if it may have all of them.
    func violation(by names: [ConstrainedName]) -> String? {
        for name in names {
            var isConstrained = false
            var isPermitted = true
            for constraint in permitted where constraint.kind == name.kind {
                isPermitted = constraint.permits(name)
                isConstrained = true
                if isPermitted { break }
            }
            var isExcluded = false
            for constraint in excluded where constraint.kind == name.kind {
                isExcluded = isExcluded || constraint.excludes(name)
                isConstrained = true
            }
            // mutant constraint-malformed: true by HostileNameTests RuleTests MailboxConstraintTests
            guard !isConstrained || name.isWellFormed else {
                return "\(name) is malformed, and names of its type are constrained"
            }
            // mutant constraint-permitted: true by ServerTrustTests/nameConstraints AddressConstraintTests
            guard isPermitted else { return "\(name) is not permitted" }
            // mutant constraint-excluded: true by ServerTrustTests/nameConstraints AddressConstraintTests
            guard !isExcluded else { return "\(name) is excluded" }
        }
        return nil
    }
}

/// The base name of one subtree.
struct NameConstraint: Sendable {
    fileprivate enum Base: Sendable {
        /// A DNS name in lower case. The empty name includes every name.
        case dns([UInt8])
        case ipAddress([UInt8], mask: [UInt8])
        /// One mailbox, with the host in lower case.
        case mailbox(local: [UInt8], host: [UInt8])
        /// One host, for email addresses and URIs.
        case host([UInt8])
        /// The subdomains of a host, written with a leading dot. RFC 5280 defines it for email addresses and URIs. Go,
        /// OpenSSL and most private CAs use it for DNS names too.
        case domain([UInt8])
        /// The canonical RDNs that a name must begin with.
        case directory([[UInt8]])
        /// A kind that isn't compared here.
        case unsupported
    }

    let kind: GeneralNameKind
    fileprivate let base: Base

    /// Parses a base name. Returns `nil` if its kind doesn't allow the value.
    init?(_ kind: GeneralNameKind, _ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) {
        self.kind = kind
        let raw = contents.map { bytes[$0] }
        let value = HostText.lowered(raw)
        switch kind {
        case .dns:
            let hasDot = value.first == UInt8(ascii: ".")
            let host = hasDot ? value.dropFirst() : value[...]
            guard value.isEmpty || HostText.isHostName(host) else { return nil }
            base = hasDot ? .domain(Array(host)) : .dns(value)
        case .ipAddress:
            let (address, mask) = (Array(raw.prefix(raw.count / 2)), Array(raw.suffix(raw.count / 2)))
            // mutant constraint-mask: true for 2 by AddressConstraintTests
            guard raw.count == 8 || raw.count == 32, Self.isContiguous(mask) else { return nil }
            base = .ipAddress(address, mask: mask)
        case .email:
            guard let base = Self.emailBase(raw) else { return nil }
            self.base = base
        case .uri:
            guard let base = Self.hostBase(value[...]) else { return nil }
            self.base = base
        case .directory:
            base = .directory(try CanonicalName.relativeNames(bytes, contents))
        case .other, .x400, .ediParty, .registeredID: base = .unsupported
        }
    }

    /// The DNS name as in the extension, if it has a leading dot.
    fileprivate var leadingDot: SubjectAlternativeName? {
        guard kind == .dns, case .domain(let domain) = base else { return nil }
        return .dns([UInt8(ascii: ".")] + domain)
    }

    private static func emailBase(_ value: [UInt8]) -> Base? {
        guard let at = value.lastIndex(of: UInt8(ascii: "@")) else {
            return hostBase(HostText.lowered(value)[...])
        }
        let host = HostText.lowered(Array(value[(at + 1)...]))
        guard at > 0, HostText.isHostName(host[...]) else { return nil }
        return .mailbox(local: Array(value[..<at]), host: host)
    }

    private static func hostBase(_ value: ArraySlice<UInt8>) -> Base? {
        let isDomain = value.first == UInt8(ascii: ".")
        let host = isDomain ? value.dropFirst() : value
        guard HostText.isHostName(host) else { return nil }
        return isDomain ? .domain(Array(host)) : .host(Array(host))
    }

    private static func isContiguous(_ mask: [UInt8]) -> Bool {
        let rest = mask.drop { $0 == 0xFF }
        guard let edge = rest.first else { return true }
        return (~edge &+ 1) & ~edge == 0 && rest.dropFirst().allSatisfy { $0 == 0 }
    }

    fileprivate func permits(_ name: ConstrainedName) -> Bool {
        switch (base, name.value) {
        case (.dns(let constraint), .dns(let host, _)): HostText.isHost(host, within: constraint)
        // `*.a` represents subdomains of `a`, but not `a` itself.
        case (.domain(let domain), .dns(let host, let isWildcard)):
            (isWildcard || host != domain) && HostText.isHost(host, within: domain)
        default: matches(name)
        }
    }

    fileprivate func excludes(_ name: ConstrainedName) -> Bool {
        switch (base, name.value) {
        // `*.a` also includes the excluded name if that has one label more than `a`.
        case (.dns(let constraint), .dns(let host, isWildcard: true)):
            // mutant constraint-wildcard: false for `HostText.parent(constraint) == host` by
            //   ServerTrustTests/excludedWildcard
            HostText.isHost(host, within: constraint) || HostText.parent(constraint) == host
        case (.unsupported, _): true
        default: permits(name)
        }
    }

    private func matches(_ name: ConstrainedName) -> Bool {
        switch (base, name.value) {
        case (.ipAddress(let address, let mask), .ipAddress(let bytes)):
            bytes.count == address.count && bytes.indices.allSatisfy { (bytes[$0] ^ address[$0]) & mask[$0] == 0 }
        case (.mailbox(let local, let host), .email(let otherLocal, let otherHost)):
            // mutant constraint-mailbox: true by MailboxConstraintTests
            local == otherLocal && host == otherHost
        case (.host(let host), .email(_, let other)), (.host(let host), .uri(let other)): host == other
        case (.domain(let domain), .email(_, let other)), (.domain(let domain), .uri(let other)):
            other != domain && HostText.isHost(other, within: domain)
        case (.directory(let prefix), .directory(let name)): name.starts(with: prefix)
        default: false
        }
    }
}

/// A name in a certificate, in a form that can be compared with constraints.
struct ConstrainedName: Sendable {
    fileprivate enum Value: Sendable {
        /// The name in lower case. For a wildcard, the part after `*.`.
        case dns([UInt8], isWildcard: Bool)
        case ipAddress([UInt8])
        case email(local: [UInt8], host: [UInt8])
        /// The host of the URI.
        case uri([UInt8])
        case directory([[UInt8]])
        case malformed
        /// A kind that isn't compared here.
        case unsupported
    }

    let kind: GeneralNameKind
    fileprivate let value: Value
    private let text: SubjectAlternativeName

    fileprivate var isWellFormed: Bool {
        if case .malformed = value { false } else { true }
    }

    init(_ name: SubjectAlternativeName) {
        text = name
        switch name {
        case .dns(let bytes):
            kind = .dns
            let parent = name.wildcardParent
            let host = parent ?? HostText.lowered(bytes)
            value = HostText.isHostName(host[...]) ? .dns(host, isWildcard: parent != nil) : .malformed
        case .ipAddress(let bytes):
            kind = .ipAddress
            // An IPv4 address mapped into IPv6 (RFC 4291, section 2.5.5.2) reaches a host that constraints identify by
            // four bytes.
            let isMapped =
                bytes.count == 16 && bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11] == [0xFF, 0xFF]
            // mutant constraint-mapped: true for `!isMapped` by HostileNameTests/mappedAddress
            value = bytes.count == 4 || bytes.count == 16 && !isMapped ? .ipAddress(bytes) : .malformed
        case .other(let tag, let contents):
            kind = GeneralNameKind(rawValue: tag) ?? .other
            switch kind {
            case .email: value = Self.email(contents)
            case .uri: value = HostText.host(ofURI: contents).map { .uri($0) } ?? .malformed
            case .directory:
                let names = try? CanonicalName.relativeNames(contents.span, 0..<contents.count)
                value = names.map { .directory($0) } ?? .malformed
            default: value = .unsupported
            }
        }
    }

    /// Creates a name from a subject, which is compared with constraints on directory names.
    init(subject: X509Name) {
        self.init(.other(tag: GeneralNameKind.directory.rawValue, contents: subject.derBytes))
    }

    private static func email(_ bytes: [UInt8]) -> Value {
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")), at > 0 else { return .malformed }
        let host = HostText.lowered(Array(bytes[(at + 1)...]))
        let local = bytes[..<at]
        // A quoted `@` is allowed (RFC 5321, section 4.1.2), but every reader interprets it differently.
        guard HostText.isHostName(host[...]), local.allSatisfy({ (0x21...0x7E).contains($0) }),
            !local.contains(UInt8(ascii: "@"))
        else { return .malformed }
        return .email(local: Array(local), host: host)
    }
}

extension ConstrainedName: CustomStringConvertible {
    var description: String {
        if case .other(tag: GeneralNameKind.directory.rawValue, let contents) = text {
            return "the name \(X509Name(derBytes: contents))"
        }
        return text.description
    }
}

extension X509Certificate {
    /// Every name to which constraints apply: the subject, its email addresses, and the alternative names.
    var constrainedNames: [ConstrainedName] {
        let subject = self.subject
        let emails = subject.emailAddresses.map { ConstrainedName(.other(tag: 1, contents: Array($0.utf8))) }
        return (subject.isEmpty ? [] : [ConstrainedName(subject: subject)]) + emails
            + subjectAlternativeNames.map(ConstrainedName.init)
    }
}
