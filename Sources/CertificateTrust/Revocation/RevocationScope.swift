/// The reasons for which a list may name a certificate (RFC 5280, section 4.2.1.13).
struct ReasonSet: OptionSet, Sendable, Hashable {
    /// Bit n is bit n of ReasonFlags.
    let rawValue: UInt16

    /// keyCompromise (1) to aACompromise (8).
    static let all = ReasonSet(rawValue: 0x1FE)

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Reads the contents of a ReasonFlags BIT STRING.
    init(_ bytes: Span<UInt8>, _ contents: Range<Int>) {
        var bits: UInt16 = 0
        for (place, index) in contents.dropFirst().prefix(2).enumerated() {
            for bit in 0..<8 where bytes[index] & (0x80 >> UInt8(bit)) != 0 { bits |= 1 << UInt16(place * 8 + bit) }
        }
        self = ReasonSet(rawValue: bits).intersection(.all)
    }
}

/// A GeneralName in a form in which equal names are equal.
enum ScopeName: Sendable, Hashable {
    case directory(CanonicalName)
    /// Any other kind, as it is spelled.
    case other([UInt8])

    /// Reads the contents of GeneralNames.
    static func list(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) -> [ScopeName] {
        var names = DERCursor(contents)
        var list: [ScopeName] = []
        while !names.isAtEnd {
            let name = try names.next(bytes)
            if name.tag == DERTag.constructedContext(4) {
                list.append(.directory(try CanonicalName(bytes, name.contents)))
            } else {
                list.append(.other(name.whole.map { bytes[$0] }))
            }
        }
        return list
    }

    /// Reads the contents of a `[0]` around a DistributionPointName. A relative one stands behind `issuer`, DER of
    /// the name of whoever signs the list.
    static func point(
        _ bytes: Span<UInt8>, _ contents: Range<Int>, issuer: [UInt8]
    ) throws(DERError) -> [ScopeName] {
        var choice = DERCursor(contents)
        let name = try choice.next(bytes)
        try choice.finish()
        switch name.tag {
        case DERTag.constructedContext(0): return try list(bytes, name.contents)
        case DERTag.constructedContext(1):
            var outer = DERCursor(0..<issuer.count)
            let parent = try outer.next(DERTag.sequence, issuer.span).contents
            let relative = DERText.element(DERTag.set, name.contents.map { bytes[$0] })
            let whole = DERText.sequence(Array(issuer[parent]) + relative)
            return [.directory(try CanonicalName(whole.span, 0..<whole.count))]
        default: throw .invalidValue(what: "distribution point name", offset: name.whole.lowerBound)
        }
    }
}

/// What a list says of its scope (issuingDistributionPoint, RFC 5280, section 5.2.5).
struct IssuingDistributionPoint: Sendable, Hashable {
    private(set) var names: [ScopeName]?
    private(set) var onlyUserCertificates = false
    private(set) var onlyAuthorityCertificates = false
    private(set) var onlyAttributeCertificates = false
    private(set) var isIndirect = false
    private(set) var reasons = ReasonSet.all

    /// The scope of a list without the extension: all its issuer issued.
    init() {}

    /// Reads the extension's value; `issuer` is DER of the list's issuer.
    init(_ bytes: Span<UInt8>, _ value: Range<Int>, issuer: [UInt8]) throws(DERError) {
        var outer = DERCursor(value)
        var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        try outer.finish()
        if let point = try fields.nextIfPresent(DERTag.constructedContext(0), bytes) {
            names = try ScopeName.point(bytes, point.contents, issuer: issuer)
        }
        onlyUserCertificates = try Self.flag(1, bytes, &fields)
        onlyAuthorityCertificates = try Self.flag(2, bytes, &fields)
        if let some = try fields.nextIfPresent(DERTag.context(3), bytes) {
            reasons = ReasonSet(bytes, some.contents)
        }
        isIndirect = try Self.flag(4, bytes, &fields)
        onlyAttributeCertificates = try Self.flag(5, bytes, &fields)
        try fields.finish()
    }

    private static func flag(_ number: UInt8, _ bytes: Span<UInt8>, _ fields: inout DERCursor) throws(DERError) -> Bool
    {
        guard let flag = try fields.nextIfPresent(DERTag.context(number), bytes) else { return false }
        guard flag.contents.count == 1, [0x00, 0xFF].contains(bytes[flag.contents.lowerBound]) else {
            throw .invalidValue(what: "flag of an issuing distribution point", offset: flag.whole.lowerBound)
        }
        return bytes[flag.contents.lowerBound] == 0xFF
    }
}

/// Where a certificate says that lists with it are found (cRLDistributionPoints, RFC 5280, section 4.2.1.13).
struct DistributionPoint: Sendable {
    let names: [ScopeName]?
    let reasons: ReasonSet
    /// Who signs the list, when that is not the certificate's issuer.
    let listIssuers: [CanonicalName]?

    /// The point that every certificate has: whatever its issuer signs (RFC 5280, section 6.3.3, last paragraph).
    init(issuer: CanonicalName) {
        names = [.directory(issuer)]
        reasons = .all
        listIssuers = nil
    }

    /// Reads the contents of a DistributionPoint; `issuer` is DER of the certificate's issuer.
    init(_ bytes: Span<UInt8>, _ contents: Range<Int>, issuer: [UInt8]) throws(DERError) {
        var fields = DERCursor(contents)
        let point = try fields.nextIfPresent(DERTag.constructedContext(0), bytes)
        let some = try fields.nextIfPresent(DERTag.context(1), bytes)
        reasons = some.map { ReasonSet(bytes, $0.contents) } ?? .all
        var signer = issuer
        if let others = try fields.nextIfPresent(DERTag.constructedContext(2), bytes) {
            var listIssuers: [CanonicalName] = []
            for case .directory(let name) in try ScopeName.list(bytes, others.contents)
            where !listIssuers.contains(name) {
                listIssuers.append(name)
            }
            self.listIssuers = listIssuers
            var first = DERCursor(others.contents)
            let name = try first.next(bytes)
            if name.tag == DERTag.constructedContext(4) { signer = name.contents.map { bytes[$0] } }
        } else {
            listIssuers = nil
        }
        try fields.finish()
        names =
            if let point { try ScopeName.point(bytes, point.contents, issuer: signer) } else { nil }
    }

    /// The reasons for which `list` decides on a certificate with this point; nil when it is not about it
    /// (RFC 5280, section 6.3.3 (b) and (d)).
    func reasons(
        of list: CertificateRevocationList, isAuthority: Bool, issuer: CanonicalName
    ) -> ReasonSet? {
        let scope = list.scope
        if let listIssuers {
            guard scope.isIndirect, listIssuers.contains(list.canonicalIssuer) else { return nil }
        } else {
            guard list.canonicalIssuer == issuer else { return nil }
        }
        guard !scope.onlyAttributeCertificates, !(scope.onlyUserCertificates && isAuthority),
            !(scope.onlyAuthorityCertificates && !isAuthority)
        else { return nil }
        if let wanted = scope.names {
            let offered = names ?? (listIssuers ?? []).map { .directory($0) }
            guard offered.contains(where: wanted.contains) else { return nil }
        }
        return reasons.intersection(scope.reasons)
    }
}
