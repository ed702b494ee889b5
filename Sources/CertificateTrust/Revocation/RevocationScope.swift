/// A set of revocation reasons that a list covers (RFC 5280, section 4.2.1.13).
struct ReasonSet: OptionSet, Sendable, Hashable {
    /// Bit n is bit n of ReasonFlags.
    let rawValue: UInt16

    /// keyCompromise (1) to aACompromise (8).
    static let all = ReasonSet(rawValue: 0x1FE)

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Parses the contents of a ReasonFlags BIT STRING.
    init(_ bytes: Span<UInt8>, _ contents: Range<Int>) {
        var bits: UInt16 = 0
        for (place, index) in contents.dropFirst().prefix(2).enumerated() {
            for bit in 0..<8 where bytes[index] & (0x80 >> UInt8(bit)) != 0 { bits |= 1 << UInt16(place * 8 + bit) }
        }
        self = ReasonSet(rawValue: bits).intersection(.all)
    }
}

/// A GeneralName in a form that can be compared for equality.
enum ScopeName: Sendable, Hashable {
    case directory(CanonicalName)
    /// Any other kind, as its DER.
    case other([UInt8])

    /// Parses the contents of GeneralNames.
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

    /// Parses the contents of a `[0]` around a DistributionPointName. A relative name is appended to `issuer`, the DER
    /// of the list issuer's name.
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

/// The scope of a list (issuingDistributionPoint, RFC 5280, section 5.2.5).
struct IssuingDistributionPoint: Sendable, Hashable {
    private(set) var names: [ScopeName]?
    private(set) var onlyUserCertificates = false
    private(set) var onlyAuthorityCertificates = false
    private(set) var onlyAttributeCertificates = false
    private(set) var isIndirect = false
    private(set) var reasons = ReasonSet.all

    /// Creates the scope of a list without the extension, which covers every certificate of its issuer.
    init() {}

    /// Parses the extension's value. `issuer` is the DER of the list issuer's name.
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
            throw .invalidValue(what: "flag in an issuing distribution point", offset: flag.whole.lowerBound)
        }
        return bytes[flag.contents.lowerBound] == 0xFF
    }
}

/// A distribution point of a certificate, which says where its lists are found (cRLDistributionPoints, RFC 5280,
/// section 4.2.1.13).
struct DistributionPoint: Sendable {
    let names: [ScopeName]?
    let reasons: ReasonSet
    /// The issuers of the list, if they aren't the certificate's issuer.
    let listIssuers: [CanonicalName]?

    /// Creates the implicit point of every certificate, which covers the lists that its issuer signs (RFC 5280, section
    /// 6.3.3, last paragraph).
    init(issuer: CanonicalName) {
        names = [.directory(issuer)]
        reasons = .all
        listIssuers = nil
    }

    /// Parses the contents of a DistributionPoint. `issuer` is the DER of the certificate issuer's name.
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

    /// Returns the reasons for which `list` decides on a certificate with this point, or `nil` if the list doesn't
    /// cover it (RFC 5280, section 6.3.3 (b) and (d)).
    func reasons(
        of list: CertificateRevocationList, isAuthority: Bool, issuer: CanonicalName
    ) -> ReasonSet? {
        let scope = list.scope
        if let listIssuers {
            // mutant list-indirect: true for 1 by RevocationSignerTests RevocationListTests
            guard scope.isIndirect, listIssuers.contains(list.canonicalIssuer) else { return nil }
        } else {
            guard list.canonicalIssuer == issuer else { return nil }
        }
        // mutant list-scope: false for `scope.onlyUserCertificates && isAuthority` by
        //   RevocationListTests/scopeOfIntermediate
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
