import PinctlBasics

/// The contents of a certificate's extensions (RFC 5280, section 4.2), parsed once from the DER.
///
/// Extensions that this module uses are decoded. Those that only OpenSSL processes (policies, mappings) are recorded as
/// present.
struct CertificateExtensions: Sendable {
    /// A set of the extensions `2.5.29.0` to `2.5.29.63`, with one bit for each.
    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt64

        private static func kind(_ number: UInt64) -> Kinds { Kinds(rawValue: 1 << number) }
        static let subjectKeyIdentifier = kind(14)
        static let keyUsage = kind(15)
        static let subjectAlternativeName = kind(17)
        static let basicConstraints = kind(19)
        static let nameConstraints = kind(30)
        static let distributionPoints = kind(31)
        static let certificatePolicies = kind(32)
        static let policyMappings = kind(33)
        static let authorityKeyIdentifier = kind(35)
        static let policyConstraints = kind(36)
        static let extendedKeyUsage = kind(37)
        static let inhibitAnyPolicy = kind(54)

        /// The extensions that path verification processes. Key identifiers aren't among them: if one is critical, it
        /// requires a reader for which it is more than a hint.
        static let processed: Kinds = [
            keyUsage, subjectAlternativeName, basicConstraints, nameConstraints, distributionPoints,
            certificatePolicies, policyMappings, policyConstraints, extendedKeyUsage, inhibitAnyPolicy,
        ]
    }

    /// The bits of keyUsage (RFC 5280, section 4.2.1.3), with the first bit lowest.
    struct KeyUsage: OptionSet, Sendable {
        let rawValue: UInt16
        static let digitalSignature = KeyUsage(rawValue: 1 << 0)
        static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
        static let keyAgreement = KeyUsage(rawValue: 1 << 4)
        static let certificateSigning = KeyUsage(rawValue: 1 << 5)
        static let listSigning = KeyUsage(rawValue: 1 << 6)
    }

    /// The purposes of extendedKeyUsage (RFC 5280, section 4.2.1.12). All others are represented by `other`.
    struct Purposes: OptionSet, Sendable {
        let rawValue: UInt8
        static let any = Purposes(rawValue: 1 << 0)
        static let server = Purposes(rawValue: 1 << 1)
        static let client = Purposes(rawValue: 1 << 2)
        static let ocspSigning = Purposes(rawValue: 1 << 3)
        static let other = Purposes(rawValue: 1 << 4)
    }

    /// authorityKeyIdentifier (RFC 5280, section 4.2.1.1).
    struct AuthorityKeyIdentifier: Sendable {
        /// The position of the contents of keyIdentifier.
        var keyIdentifier: Range<Int>?
        /// Whether authorityCertIssuer or authorityCertSerialNumber is present.
        var namesCertificate = false
    }

    private(set) var present: Kinds = []
    private(set) var critical: Kinds = []
    /// The object identifier of the first critical extension that isn't processed, in dotted decimal.
    private(set) var unprocessedCritical: String?
    private(set) var subjectAlternativeNames: [SubjectAlternativeName] = []
    private(set) var isAuthority = false
    private(set) var hasPathLength = false
    /// The key usage. `nil` if the extension is missing, which allows every use.
    private(set) var keyUsage: KeyUsage?
    private(set) var extendedKeyUsage: Purposes?
    /// The position of the contents of subjectKeyIdentifier.
    private(set) var subjectKeyIdentifier: Range<Int>?
    private(set) var authorityKeyIdentifier: AuthorityKeyIdentifier?
    private(set) var nameConstraints: NameConstraints?
    /// The defect of authorityInfoAccess, if any. The extension isn't used here, so a malformed one doesn't make the
    /// certificate unreadable.
    private(set) var informationAccessDefect: String?

    /// The number of entries of certificatePolicies and policyMappings.
    private(set) var policyCount = 0
    /// The first qualifier of certificatePolicies that RFC 5280 doesn't define, in dotted decimal, or
    /// ``malformedQualifier``.
    private(set) var unknownQualifier: String?
    static let malformedQualifier = "malformed"
    /// The number of distribution points that are named relative to the issuer.
    private(set) var relativePointCount = 0

    /// The limit on other extensions, which keeps the search for duplicates short. Certificates have about ten.
    private static let maximumCount = 100

    init(_ bytes: Span<UInt8>, _ layout: CertificateLayout) throws(DERError) {
        var others: [Range<Int>] = []
        try layout.forEachExtension(bytes) { (identifier, isCritical, value) throws(DERError) in
            let kind = Self.kind(bytes, identifier)
            // RFC 5280, section 4.2 allows each extension at most once. With two, different readers could use different
            // ones.
            let isRepeated =
                kind.map(present.contains)
                ?? others.contains { bytes.extracting($0).elementsEqual(bytes.extracting(identifier)) }
            guard !isRepeated, others.count < Self.maximumCount else {
                throw .invalidValue(what: "repeated extension", offset: identifier.lowerBound)
            }
            if isCritical, kind.map({ !Kinds.processed.contains($0) }) ?? true, unprocessedCritical == nil {
                unprocessedCritical = ObjectIdentifierText.dotted(bytes, identifier)
            }
            guard let kind else {
                others.append(identifier)
                if ObjectIdentifierNumber(bytes, identifier) == .authorityInformationAccess {
                    informationAccessDefect = Self.informationAccessDefect(bytes, value, isCritical: isCritical)
                }
                return
            }
            present.insert(kind)
            if isCritical { critical.insert(kind) }
            try read(bytes, kind, value)
        }
    }

    /// Whether RFC 5280 defines the values of an extension.
    static func isStandard(_ bytes: Span<UInt8>, _ identifier: Range<Int>) -> Bool {
        kind(bytes, identifier) != nil || ObjectIdentifierNumber(bytes, identifier) == .authorityInformationAccess
    }

    /// Whether an extension is certificatePolicies.
    static func isPolicies(_ bytes: Span<UInt8>, _ identifier: Range<Int>) -> Bool {
        kind(bytes, identifier) == .certificatePolicies
    }

    private static func kind(_ bytes: Span<UInt8>, _ identifier: Range<Int>) -> Kinds? {
        let start = identifier.lowerBound
        guard identifier.count == 3, bytes[start] == 0x55, bytes[start + 1] == 0x1D, bytes[start + 2] < 64 else {
            return nil
        }
        return Kinds(rawValue: 1 << UInt64(bytes[start + 2]))
    }

    private mutating func read(_ bytes: Span<UInt8>, _ kind: Kinds, _ value: Range<Int>) throws(DERError) {
        var outer = DERCursor(value)
        switch kind {
        case .subjectKeyIdentifier:
            subjectKeyIdentifier = try outer.next(DERTag.octetString, bytes).contents
        case .keyUsage: keyUsage = try Self.keyUsage(bytes, try outer.next(DERTag.bitString, bytes).contents)
        case .subjectAlternativeName:
            subjectAlternativeNames = try SubjectAlternativeName.list(bytes, value)
            return
        case .basicConstraints: try readBasicConstraints(bytes, try outer.next(DERTag.sequence, bytes).contents)
        case .nameConstraints:
            nameConstraints = try NameConstraints(bytes, try outer.next(DERTag.sequence, bytes).contents)
        case .authorityKeyIdentifier:
            var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            var identifier = AuthorityKeyIdentifier()
            identifier.keyIdentifier = try fields.nextIfPresent(DERTag.context(0), bytes)?.contents
            identifier.namesCertificate = !fields.isAtEnd
            authorityKeyIdentifier = identifier
        case .extendedKeyUsage:
            extendedKeyUsage = try Self.purposes(bytes, try outer.next(DERTag.sequence, bytes).contents)
        case .certificatePolicies, .policyMappings:
            var list = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            // There is at least one entry, which begins with the policy, or maps one to another (RFC 5280, sections
            // 4.2.1.4 and 4.2.1.5).
            repeat {
                var entry = DERCursor(try list.next(DERTag.sequence, bytes).contents)
                _ = try entry.next(DERTag.objectIdentifier, bytes)
                policyCount += 1
                if kind == .policyMappings {
                    _ = try entry.next(DERTag.objectIdentifier, bytes)
                    try entry.finish()
                } else if unknownQualifier == nil {
                    unknownQualifier = Self.unknownQualifier(bytes, entry)
                }
            } while !list.isAtEnd
        case .policyConstraints:
            var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            _ = try fields.nextIfPresent(DERTag.context(0), bytes)
            _ = try fields.nextIfPresent(DERTag.context(1), bytes)
            try fields.finish()
        case .inhibitAnyPolicy: _ = try outer.next(DERTag.integer, bytes)
        case .distributionPoints:
            var list = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            repeat {
                var point = DERCursor(try list.next(DERTag.sequence, bytes).contents)
                guard let name = try point.nextIfPresent(DERTag.constructedContext(0), bytes) else { continue }
                if DERCursor(name.contents).peek(bytes) == DERTag.constructedContext(1) { relativePointCount += 1 }
            } while !list.isAtEnd
        default: return
        }
        try outer.finish()
    }

    /// Returns the first unknown qualifier of a policy, if any (RFC 5280, section 4.2.1.4).
    private static func unknownQualifier(_ bytes: Span<UInt8>, _ rest: DERCursor) -> String? {
        var rest = rest
        do throws(DERError) {
            guard let qualifiers = try rest.nextIfPresent(DERTag.sequence, bytes) else {
                try rest.finish()
                return nil
            }
            try rest.finish()
            var list = DERCursor(qualifiers.contents)
            repeat {
                var qualifier = DERCursor(try list.next(DERTag.sequence, bytes).contents)
                let identifier = try qualifier.next(DERTag.objectIdentifier, bytes).contents
                switch ObjectIdentifierNumber(bytes, identifier) {
                case .practiceStatement, .userNotice: _ = try qualifier.next(bytes)
                default: return ObjectIdentifierText.dotted(bytes, identifier)
                }
                try qualifier.finish()
            } while !list.isAtEnd
            return nil
        } catch {
            return malformedQualifier
        }
    }

    private mutating func readBasicConstraints(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) {
        var fields = DERCursor(contents)
        if let flag = try fields.nextIfPresent(DERTag.boolean, bytes) {
            guard flag.contents.count == 1, [0x00, 0xFF].contains(bytes[flag.contents.lowerBound]) else {
                throw .invalidValue(what: "basicConstraints", offset: flag.whole.lowerBound)
            }
            isAuthority = bytes[flag.contents.lowerBound] == 0xFF
        }
        hasPathLength = try fields.nextIfPresent(DERTag.integer, bytes) != nil
        try fields.finish()
    }

    private static func keyUsage(_ bytes: Span<UInt8>, _ bits: Range<Int>) throws(DERError) -> KeyUsage {
        guard (2...3).contains(bits.count), DEREncoding.isBitString(bytes.extracting(bits)) else {
            throw .invalidValue(what: "keyUsage", offset: bits.lowerBound)
        }
        var usage: UInt16 = 0
        for (index, position) in bits.dropFirst().enumerated() {
            for bit in 0..<8 where bytes[position] & (0x80 >> UInt8(bit)) != 0 { usage |= 1 << UInt16(index * 8 + bit) }
        }
        return KeyUsage(rawValue: usage)
    }

    private static func purposes(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) -> Purposes {
        var list = DERCursor(contents)
        var purposes: Purposes = []
        while !list.isAtEnd {
            switch ObjectIdentifierNumber(bytes, try list.next(DERTag.objectIdentifier, bytes).contents) {
            case .serverAuth: purposes.insert(.server)
            case .clientAuth: purposes.insert(.client)
            case .ocspSigning: purposes.insert(.ocspSigning)
            case .anyExtendedKeyUsage: purposes.insert(.any)
            default: purposes.insert(.other)
            }
        }
        return purposes
    }

    /// Returns the defect of an authorityInfoAccess, if any. It must be a sequence of at least one description, each
    /// with a method and a location (RFC 5280, section 4.2.2.1).
    private static func informationAccessDefect(
        _ bytes: Span<UInt8>, _ value: Range<Int>, isCritical: Bool
    ) -> String? {
        guard !isCritical else { return "is critical" }
        do throws(DERError) {
            var outer = DERCursor(value)
            var list = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            try outer.finish()
            guard !list.isAtEnd else { return "is empty" }
            while !list.isAtEnd {
                var description = DERCursor(try list.next(DERTag.sequence, bytes).contents)
                _ = try description.next(DERTag.objectIdentifier, bytes)
                let location = try description.next(bytes)
                try description.finish()
                guard GeneralNameKind(tag: location.tag) != nil else { return "has a malformed location" }
            }
            return nil
        } catch {
            return "is malformed"
        }
    }

    /// Whether extendedKeyUsage allows a purpose. Without the extension, every purpose is allowed.
    func allows(_ purpose: Purposes) -> Bool { extendedKeyUsage.map { !$0.isDisjoint(with: [purpose, .any]) } ?? true }
}
