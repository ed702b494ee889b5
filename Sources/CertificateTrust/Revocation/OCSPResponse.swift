import PinctlBasics
package import PinctlFoundation

/// A successful OCSP response (RFC 6960, section 4.2), parsed but not verified.
struct OCSPResponse {
    /// The responder that the response names.
    enum Responder {
        case name(CanonicalName)
        /// The SHA-1 hash of the responder's key.
        case keyHash([UInt8])
    }

    enum Status {
        case good
        case revoked(at: Int64, reason: UInt8)
        case unknown
    }

    /// The status of one certificate in a response.
    struct Single {
        /// The contents of the hash algorithm's object identifier.
        let hash: [UInt8]
        let issuerNameHash: [UInt8]
        let issuerKeyHash: [UInt8]
        let serialNumber: [UInt8]
        let status: Status
        let thisUpdate: Int64
        let nextUpdate: Int64?
        /// The SignedCertificateTimestampList, if there is one (RFC 6962, section 3.3).
        let timestamps: [UInt8]?
    }

    let derBytes: [UInt8]
    let signature: SignedDER
    let responder: Responder
    let singles: [Single]
    /// The positions of the DER certificates that the response includes.
    let certificates: [Range<Int>]

    /// Parses one DER OCSPResponse that fills `derBytes`. Throws if the response reports an error of the responder or
    /// has a critical extension.
    init(derBytes: [UInt8]) throws(DERError) {
        let bytes = derBytes.span
        var outer = DERCursor(0..<bytes.count)
        var response = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        try outer.finish()
        let status = try response.next(DERTag.enumerated, bytes)
        guard status.contents.map({ bytes[$0] }) == [0] else {
            throw .invalidValue(what: "response status (an error of the responder)", offset: status.whole.lowerBound)
        }
        var explicit = DERCursor(try response.next(DERTag.constructedContext(0), bytes).contents)
        try response.finish()
        var body = DERCursor(try explicit.next(DERTag.sequence, bytes).contents)
        try explicit.finish()
        let type = try body.next(DERTag.objectIdentifier, bytes)
        guard type.contents.map({ bytes[$0] }) == Self.basicResponse else {
            throw .invalidValue(what: "response type", offset: type.whole.lowerBound)
        }
        var basic = DERCursor(try body.next(DERTag.octetString, bytes).contents)
        try body.finish()
        var parts = DERCursor(try basic.next(DERTag.sequence, bytes).contents)
        try basic.finish()
        signature = try SignedDER(bytes, &parts)
        var certificates: [Range<Int>] = []
        if let list = try parts.nextIfPresent(DERTag.constructedContext(0), bytes) {
            var outer = DERCursor(list.contents)
            var elements = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            try outer.finish()
            while !elements.isAtEnd { certificates.append(try elements.next(DERTag.sequence, bytes).whole) }
        }
        try parts.finish()
        self.certificates = certificates

        var fields = DERCursor(signature.contents)
        if let version = try fields.nextIfPresent(DERTag.constructedContext(0), bytes) {
            // Version 1 is the default and the only version.
            throw .invalidValue(what: "response version", offset: version.whole.lowerBound)
        }
        responder = try Self.responder(bytes, &fields)
        _ = try DERTime.seconds(bytes, try fields.next(DERTag.generalizedTime, bytes).whole)
        var list = DERCursor(try fields.next(DERTag.sequence, bytes).contents)
        var singles: [Single] = []
        while !list.isAtEnd { singles.append(try Self.single(bytes, try list.next(DERTag.sequence, bytes).contents)) }
        self.singles = singles
        try Self.checkExtensions(bytes, &fields)
        self.derBytes = derBytes
    }

    /// id-pkix-ocsp-basic.
    private static let basicResponse: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01]

    private static func responder(_ bytes: Span<UInt8>, _ fields: inout DERCursor) throws(DERError) -> Responder {
        if let name = try fields.nextIfPresent(DERTag.constructedContext(1), bytes) {
            return .name(try CanonicalName(bytes, name.contents))
        }
        var explicit = DERCursor(try fields.next(DERTag.constructedContext(2), bytes).contents)
        let hash = try explicit.next(DERTag.octetString, bytes).contents
        try explicit.finish()
        return .keyHash(hash.map { bytes[$0] })
    }

    private static func single(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) -> Single {
        var fields = DERCursor(contents)
        var identifier = DERCursor(try fields.next(DERTag.sequence, bytes).contents)
        var algorithm = DERCursor(try identifier.next(DERTag.sequence, bytes).contents)
        let hash = try algorithm.next(DERTag.objectIdentifier, bytes).contents
        let nameHash = try identifier.next(DERTag.octetString, bytes).contents
        let keyHash = try identifier.next(DERTag.octetString, bytes).contents
        let serialNumber = try identifier.next(DERTag.integer, bytes).contents
        try identifier.finish()
        let status = try Self.status(bytes, try fields.next(bytes))
        let thisUpdate = try DERTime.seconds(bytes, try fields.next(DERTag.generalizedTime, bytes).whole)
        var nextUpdate: Int64?
        if let explicit = try fields.nextIfPresent(DERTag.constructedContext(0), bytes) {
            var inner = DERCursor(explicit.contents)
            nextUpdate = try DERTime.seconds(bytes, try inner.next(DERTag.generalizedTime, bytes).whole)
            try inner.finish()
        }
        var timestamps: [UInt8]?
        try checkExtensions(bytes, &fields) { (identifier, value) throws(DERError) in
            guard ObjectIdentifierNumber(bytes, identifier) == .stapledTimestampList else { return }
            var outer = DERCursor(value)
            let list = try outer.next(DERTag.octetString, bytes).contents
            try outer.finish()
            guard timestamps == nil else {
                throw .invalidValue(what: "repeated extension", offset: identifier.lowerBound)
            }
            timestamps = Array(copying: bytes.extracting(list))
        }
        return Single(
            hash: hash.map { bytes[$0] }, issuerNameHash: nameHash.map { bytes[$0] },
            issuerKeyHash: keyHash.map { bytes[$0] }, serialNumber: serialNumber.map { bytes[$0] }, status: status,
            thisUpdate: thisUpdate, nextUpdate: nextUpdate, timestamps: timestamps)
    }

    private static func status(_ bytes: Span<UInt8>, _ element: DERElement) throws(DERError) -> Status {
        switch element.tag {
        case DERTag.context(0) where element.contents.isEmpty: return .good
        case DERTag.context(2) where element.contents.isEmpty: return .unknown
        case DERTag.constructedContext(1):
            var fields = DERCursor(element.contents)
            let time = try DERTime.seconds(bytes, try fields.next(DERTag.generalizedTime, bytes).whole)
            var reason: UInt8 = 0
            if let explicit = try fields.nextIfPresent(DERTag.constructedContext(0), bytes) {
                var inner = DERCursor(explicit.contents)
                let code = try inner.next(DERTag.enumerated, bytes).contents
                if let first = code.first { reason = bytes[first] }
            }
            try fields.finish()
            return .revoked(at: time, reason: reason)
        default: throw .invalidValue(what: "certificate status", offset: element.whole.lowerBound)
        }
    }

    /// Checks the extensions in the last field, `[1] EXPLICIT Extensions`, and calls `body` with each identifier and
    /// value. RFC 6960 defines no critical ones.
    private static func checkExtensions(
        _ bytes: Span<UInt8>, _ fields: inout DERCursor,
        _ body: (Range<Int>, Range<Int>) throws(DERError) -> Void = { (_, _) throws(DERError) in }
    ) throws(DERError) {
        if let explicit = try fields.nextIfPresent(DERTag.constructedContext(1), bytes) {
            var outer = DERCursor(explicit.contents)
            let list = try outer.next(DERTag.sequence, bytes).contents
            try outer.finish()
            try DERExtensions.forEach(bytes, list) { (identifier, isCritical, value) throws(DERError) in
                // mutant staple-critical: true by OCSPTests
                guard !isCritical else {
                    throw .invalidValue(what: "critical extension", offset: identifier.lowerBound)
                }
                try body(identifier, value)
            }
        }
        try fields.finish()
    }
}

/// A summary of what an OCSP response says about a certificate, found by its serial number. The signer isn't checked.
package struct StapleSummary: Sendable, Hashable {
    /// `good`, `revoked`, `unknown`, or `about another certificate`.
    package let status: String
    package let thisUpdate: Date?
    /// The end of the response's validity. `nil` if the response doesn't state it.
    package let nextUpdate: Date?

    package init(_ response: [UInt8], of leaf: X509Certificate) throws(DERError) {
        let parsed = try OCSPResponse(derBytes: response)
        guard let single = parsed.singles.first(where: { $0.serialNumber == leaf.serialNumber }) else {
            (status, thisUpdate, nextUpdate) = ("about another certificate", nil, nil)
            return
        }
        status =
            switch single.status {
            case .good: "good"
            case .revoked: "revoked"
            case .unknown: "unknown"
            }
        thisUpdate = Date(timeIntervalSince1970: Double(single.thisUpdate))
        nextUpdate = single.nextUpdate.map { Date(timeIntervalSince1970: Double($0)) }
    }
}
