import OpenSSLBridge

extension RevocationCheck {
    /// Combines the stapled response about the leaf with `answer`, the answer of the CRLs. A CRL that revokes the leaf
    /// outweighs a good response. A good response outweighs CRLs that are stale or missing.
    mutating func answerOfStaple(
        on leaf: X509Certificate, under issuers: ArraySlice<X509Certificate>, beside answer: RevocationAnswer,
        pathTo search: PathSearch
    ) -> RevocationAnswer {
        if case .refused(let problem) = answer, problem.rule == .revoked { return answer }
        guard let staple = evidence.stapledOCSP else {
            // mutant staple-missing: true by OCSPTests/mustStaple
            guard (try? RevocationFields(leaf).demandsStaple) == false else {
                return .refused(
                    RevocationProblem(
                        rule: .missingStaple,
                        detail: "requires a stapled OCSP response (RFC 7633), but none was sent: enable OCSP stapling"))
            }
            return answer
        }
        do throws(RevocationProblem) {
            try judge(staple, on: leaf, under: issuers, pathTo: search)
            return .good
        } catch {
            return .refused(error)
        }
    }

    /// Returns normally if the response says that the leaf is good, and throws otherwise.
    private mutating func judge(
        _ staple: [UInt8], on leaf: X509Certificate, under issuers: ArraySlice<X509Certificate>,
        pathTo search: PathSearch
    ) throws(RevocationProblem) {
        let what = "the stapled OCSP response"
        guard staple.count <= TrustBudget.maximumStapleBytes else {
            throw .unusable(what, "has \(staple.count) bytes, more than \(TrustBudget.maximumStapleBytes)")
        }
        let response: OCSPResponse
        do throws(DERError) {
            response = try OCSPResponse(derBytes: staple)
        } catch {
            throw .unusable(what, "is malformed or an error response (\(error))")
        }
        guard let issuer = issuers.first else { throw .unknown }
        let identity = OCSPIdentity(certificate: leaf, issuer: issuer)
        // mutant staple-identity: ({ _ in true }) for `identity.isMeant` by OCSPTests/staples
        let singles = response.singles.filter(identity.isMeant)
        guard !singles.isEmpty else { throw .unusable(what, "is about another certificate") }
        for single in singles {
            // Without nextUpdate, an attacker with the stolen key could replay the response for the certificate's whole
            // lifetime.
            // mutant staple-fresh: true for 3 by OCSPTests/freshness
            // mutant staple-future: true for 1 by OCSPTests/freshness
            guard single.thisUpdate <= time, let end = single.nextUpdate, time <= end else {
                throw .stale(what, from: single.thisUpdate, until: single.nextUpdate, at: time)
            }
        }
        try checkResponder(of: response, on: leaf, under: issuers, pathTo: search)
        // mutant staple-all-answers: Array(singles.prefix(1)) for `singles` by OCSPTests/singleResponses
        for single in singles {
            switch single.status {
            case .good: break
            case .revoked(let time, let reason): throw .revoked(at: time, reason: reason)
            case .unknown:
                throw RevocationProblem(
                    rule: .revocationUnknown, detail: "its issuer's OCSP responder reports it as unknown: reissue it")
            }
        }
    }

    /// Checks that the response is signed by the issuer, or by a responder to which the issuer itself delegated (RFC
    /// 6960, section 4.2.2.2). The leaf's own key is never accepted, even if the issuer delegated to it: an attacker
    /// who has stolen that key could sign the response.
    private mutating func checkResponder(
        of response: OCSPResponse, on leaf: X509Certificate, under issuers: ArraySlice<X509Certificate>,
        pathTo search: PathSearch
    ) throws(RevocationProblem) {
        let what = "the stapled OCSP response"
        let der = response.derBytes
        var problem = RevocationProblem.signer(what, "is not signed by an authorized responder")
        guard let issuer = issuers.first else { throw problem }
        if response.responder.isMeant(issuer) {
            try spendSignature()
            // mutant staple-signature: true by OCSPTests/staples
            if response.signature.isSigned(der.span, by: issuer.subjectPublicKeyInfo) { return }
            problem = .signer(what, "has an invalid signature (key of the issuer)")
        }
        for range in response.certificates.prefix(Self.maximumResponders) {
            guard let certificate = try? X509Certificate(derBytes: Array(der[range])),
                response.responder.isMeant(certificate),
                // mutant staple-own-key: true by OCSPTests
                certificate.subjectPublicKeyInfo != leaf.subjectPublicKeyInfo
            else { continue }
            do throws(RevocationProblem) {
                try checkDelegate(certificate, under: issuers, pathTo: search)
                try spendSignature()
                if response.signature.isSigned(der.span, by: certificate.subjectPublicKeyInfo) { return }
                problem = .signer(what, "has an invalid signature (key of its responder)")
            } catch {
                problem = error
            }
        }
        throw problem
    }

    /// The limit on included certificates that are tried. Responses include one certificate, or one and its issuers.
    private static var maximumResponders: Int { 10 }

    private mutating func checkDelegate(
        _ responder: X509Certificate, under issuers: ArraySlice<X509Certificate>, pathTo search: PathSearch
    ) throws(RevocationProblem) {
        func refusal(_ reason: String) -> RevocationProblem {
            .signer("the stapled OCSP response", "is signed by \(responder.subject), which \(reason)")
        }
        guard let issuer = issuers.first, responder.canonicalIssuer == issuer.canonicalSubject else {
            throw refusal("was not issued by the issuer of the certificate")
        }
        var policy = policy
        policy.purpose = .any
        let context = CertificateRule.Context(policy: policy, time: time, name: nil, place: .leaf)
        if let finding = CertificateRule.finding(responder, depth: 0, context) {
            throw refusal("is rejected itself (\(finding.rule.rawValue))")
        }
        // mutant staple-responder-purpose: true by OCSPTests/staples
        guard responder.extensions.extendedKeyUsage?.contains(.ocspSigning) ?? false,
            responder.extensions.keyUsage?.contains(.digitalSignature) ?? true
        else { throw refusal("is not authorized to sign responses") }
        try spendSignature()
        guard let path = try? [responder.openSSLCertificate(), issuer.openSSLCertificate()],
            // mutant staple-responder-signed: .verified by OCSPTests/staples
            case .verified = verify(path: path, securityLevel: Int32(policy.strength.rawValue)),
            let fields = try? RevocationFields(responder)
        else { throw refusal("is not signed by the key of the issuer") }
        // mutant staple-responder-revoked: false by OCSPTests/revokedResponder
        if !fields.isNotToBeChecked,
            case .refused(let problem) = answerOfLists(on: responder, under: issuers, pathTo: search),
            problem.rule == .revoked
        {
            throw refusal("is revoked itself")
        }
    }
}

/// The identity of a certificate in a response: hashes of its issuer's name and key, and its serial number (RFC 6960,
/// section 4.1.1).
private struct OCSPIdentity {
    private let serialNumber: [UInt8]
    private let hashes: [(algorithm: [UInt8], name: [UInt8], key: [UInt8])]

    init(certificate: X509Certificate, issuer: X509Certificate) {
        serialNumber = certificate.serialNumber
        let name = certificate.issuer.derBytes
        let key = issuer.subjectPublicKeyInfo.keyOctets
        hashes = [
            ([0x2B, 0x0E, 0x03, 0x02, 0x1A], sha1(name.span), sha1(key.span)),
            (
                [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01], sha256Digest(name.span),
                sha256Digest(key.span)
            ),
        ]
    }

    func isMeant(_ single: OCSPResponse.Single) -> Bool {
        single.serialNumber == serialNumber
            && hashes.contains {
                $0.algorithm == single.hash && $0.name == single.issuerNameHash && $0.key == single.issuerKeyHash
            }
    }
}

extension OCSPResponse.Responder {
    fileprivate func isMeant(_ certificate: X509Certificate) -> Bool {
        switch self {
        case .name(let name): return name == certificate.canonicalSubject
        case .keyHash(let hash):
            let key = certificate.subjectPublicKeyInfo.keyOctets
            return sha1(key.span) == hash
        }
    }
}
