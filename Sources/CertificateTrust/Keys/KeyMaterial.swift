import OpenSSLBridge
import PinctlBasics

/// An object with one public key: a certificate, a certificate request, a public key or a private key.
///
/// The key is copied from the object as received. Only private keys and bare RSA keys go through OpenSSL, which
/// computes their SubjectPublicKeyInfo.
package struct KeyMaterial: Sendable {
    package enum Kind: Sendable, Hashable {
        case certificate
        case certificateRequest
        case publicKey
        case privateKey
    }

    package let kind: Kind
    /// The pin of the key.
    package let fingerprint: SPKIFingerprint
    private let holder: Holder

    /// The object that has the key. It is a single reference because these values are passed on many times.
    private enum Holder {
        case certificate(X509Certificate)
        indirect case other(Parts)
    }

    /// The parts of an object that isn't a certificate, or of a certificate with a defect outside its key.
    private struct Parts {
        /// The DER SubjectPublicKeyInfo.
        let key: [UInt8]
        let subject: X509Name?
        var requestedNames: [SubjectAlternativeName] = []
        var flaw: DERError?
    }

    /// The parsed certificate. `nil` for the other kinds, and for a certificate with a valid key but a defect
    /// elsewhere.
    package var parsedCertificate: X509Certificate? {
        if case .certificate(let certificate) = holder { certificate } else { nil }
    }

    /// The certificate, or the defect of a part other than the key. `nil` for the other kinds.
    package var certificate: Result<X509Certificate, DERError>? {
        switch holder {
        case .certificate(let certificate): .success(certificate)
        case .other(let parts): parts.flaw.map { .failure($0) }
        }
    }

    /// The DER SubjectPublicKeyInfo.
    package var subjectPublicKeyInfo: [UInt8] {
        switch holder {
        case .certificate(let certificate): certificate.subjectPublicKeyInfo.derBytes
        case .other(let parts): parts.key
        }
    }

    /// The subject of a certificate or request.
    package var subject: X509Name? {
        switch holder {
        case .certificate(let certificate): certificate.subject
        case .other(let parts): parts.subject
        }
    }

    /// The alternative names in a certificate request.
    package var requestedNames: [SubjectAlternativeName] {
        if case .other(let parts) = holder { parts.requestedNames } else { [] }
    }

    /// The kind and size of the key. `nil` if its SubjectPublicKeyInfo can't be decoded far enough.
    package var keyKind: PublicKeyKind? {
        switch holder {
        case .certificate(let certificate): certificate.keyKind == .malformed ? nil : certificate.keyKind
        case .other(let parts): try? PublicKeyKind(subjectPublicKeyInfo: parts.key.span)
        }
    }
}

/// The reason why an object has no key that can be pinned.
package enum KeyMaterialError: Error, Hashable, Sendable {
    case pem(PEMError)
    case der(DERError)
    /// The key is encrypted, and no password was given.
    case encrypted
    /// The PKCS #12 file can't be decrypted with the empty password, and no other was given.
    case encryptedContainer
    case wrongPassword
    /// Deriving the key from the password takes this many iterations, more than are left. None was made.
    case tooManyIterations(UInt64)
    /// OpenSSL rejected the PKCS #12 file, for this reason.
    case unreadableContainer(String)
    /// OpenSSL rejected the private key, for this reason.
    case unreadablePrivateKey(String)
    /// The key is in an unsupported format. The values are its description and an alternative.
    case foreign(String, advice: String)
    /// The object is of a kind that has no key, such as a CRL.
    case keyless(String)
    /// The PEM label or DER structure isn't known.
    case unsupported(String)
}

extension KeyMaterialError {
    /// The description of a private key in OpenSSH's own format, which is ``foreign(_:advice:)``.
    package static let privateSSHKey = "a private key in OpenSSH's own format"
}

extension KeyMaterialError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .pem(let error): error.description
        case .der(let error): "\(error)"
        case .encrypted:
            "is an encrypted private key: provide its public key (openssl pkey -in FILE -pubout) or its certificate"
        case .encryptedContainer:
            "is PKCS #12 with a password: provide its certificates (openssl pkcs12 -in FILE -nokeys)"
        case .wrongPassword:
            "is encrypted with another password: give the one that it was encrypted with, without a line break or "
                + "blank that isn't part of it"
        case .tooManyIterations(let count):
            "is encrypted with \(count) iterations, more than the limit of \(iterationLimit) or than remain for this "
                + "run: encrypt it again with fewer, or provide fewer files"
        case .unreadableContainer(let reason):
            "is PKCS #12 that OpenSSL cannot read (\(reason)): export it again, or provide its certificates as PEM"
        case .unreadablePrivateKey(let reason):
            "is a private key that OpenSSL cannot read (\(reason)): provide its public key or its certificate"
        case .foreign(let what, let advice): "is \(what): \(advice)"
        case .keyless(let what):
            "is \(what), which has no key to pin: provide a certificate, a certificate request or a key"
        case .unsupported(let what):
            "contains \(what), which has no key to pin: provide a certificate, a certificate request or a key"
        }
    }
}

extension KeyMaterial {
    /// Calls `body` with each object in a PEM block of this label, or in a DER file if there is no label. PKCS #7 and
    /// PKCS #12 contain several objects, parameters none.
    static func forEach(
        label: String?, der: Span<UInt8>, _ password: KeyPassword,
        _ body: (Result<KeyMaterial, KeyMaterialError>) -> Void
    ) throws(KeyMaterialError) {
        switch label {
        case "PKCS7", "PKCS #7 SIGNED DATA", "CMS": return try KeyContainer.pkcs7(der).forEach(body)
        // Some programs write PKCS #7 under the label of a certificate.
        case "CERTIFICATE" where KeyContainer.isMessage(der): return try KeyContainer.pkcs7(der).forEach(body)
        case "ENCRYPTED PRIVATE KEY": return body(.success(try KeyMaterial(encryptedPrivateKey: der, password)))
        case let label?:
            if let material = try KeyMaterial(label: label, der: der) { body(.success(material)) }
            return
        case nil where KeyContainer.isPKCS12(der): return try KeyContainer.pkcs12(der, password).forEach(body)
        case nil: break
        }
        let shape: Shape
        do throws(DERError) { shape = try Shape(der) } catch { throw .der(error) }
        switch shape {
        case .message: try KeyContainer.pkcs7(der).forEach(body)
        case .encryptedPrivateKey: body(.success(try KeyMaterial(encryptedPrivateKey: der, password)))
        default: body(.success(try KeyMaterial(der: der)))
        }
    }

    /// Parses the object in a PEM block of this label. Returns `nil` for parameters, which accompany a key but contain
    /// none.
    init?(label: String, der: Span<UInt8>) throws(KeyMaterialError) {
        switch label {
        case "CERTIFICATE", "X509 CERTIFICATE": try self.init(certificate: der)
        case "TRUSTED CERTIFICATE":
            // The certificate is followed by OpenSSL's own trust settings.
            var cursor = DERCursor(0..<der.count)
            do throws(DERError) { _ = try cursor.next(DERTag.sequence, der) } catch { throw .der(error) }
            try self.init(certificate: der.extracting(0..<cursor.position))
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": try self.init(certificateRequest: der)
        case "PUBLIC KEY": try self.init(publicKey: der)
        case "RSA PUBLIC KEY": try self.init(rsaPublicKey: der)
        case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY": try self.init(privateKey: der)
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        case "OPENSSH PRIVATE KEY":
            throw .foreign(
                KeyMaterialError.privateSSHKey, advice: "use its public key, the file that ends in .pub")
        case "SSH2 PUBLIC KEY":
            throw .foreign(
                "an SSH key in the format of RFC 4716", advice: "convert it to OpenSSH's with ssh-keygen -i -f FILE")
        case "EC PARAMETERS", "DH PARAMETERS", "DSA PARAMETERS", "X9.42 DH PARAMETERS", "X942 DH PARAMETERS": return nil
        case "X509 CRL", "CRL": throw .keyless("a certificate revocation list (CRL)")
        case "OCSP RESPONSE": throw .keyless("an OCSP response")
        case "OCSP REQUEST": throw .keyless("an OCSP request")
        case "ATTRIBUTE CERTIFICATE": throw .keyless("an attribute certificate")
        case "ECHCONFIG": throw .keyless("a configuration of Encrypted Client Hello")
        case _ where label.hasPrefix("PGP "): throw .keyless("OpenPGP data")
        default: throw .unsupported("a PEM block \"\(visibleText(label))\"")
        }
    }

    /// Parses the object in a DER file, which is identified by its structure.
    package init(der: Span<UInt8>) throws(KeyMaterialError) {
        let shape: Shape
        do throws(DERError) { shape = try Shape(der) } catch { throw .der(error) }
        switch shape {
        case .certificate: try self.init(certificate: der)
        case .certificateRequest: try self.init(certificateRequest: der)
        case .publicKey: try self.init(publicKey: der)
        case .rsaPublicKey: try self.init(rsaPublicKey: der)
        case .privateKey: try self.init(privateKey: der)
        case .encryptedPrivateKey: throw .encrypted
        case .message: throw .unsupported("PKCS #7")
        case .revocationList: throw .keyless("a certificate revocation list (CRL)")
        case .response: throw .keyless("an OCSP response")
        case .parameters: throw .keyless("Diffie-Hellman or DSA parameters")
        case .other: throw .unsupported("DER of another type")
        }
    }

    init(certificate der: Span<UInt8>) throws(KeyMaterialError) {
        do throws(DERError) {
            self.init(try X509Certificate(derBytes: Array(copying: der)))
        } catch {
            let flaw = error
            let layout: CertificateLayout
            do throws(DERError) { layout = try CertificateLayout(der) } catch {
                // The object may be of another kind, under the label of a certificate.
                if let name = (try? Shape(der))?.nameOfOther {
                    throw .foreign(
                        name, advice: "put it between BEGIN and END lines of its own kind, or convert it to DER")
                }
                throw .der(error)
            }
            self.init(
                kind: .certificate, key: der.extracting(layout.subjectPublicKeyInfo),
                subject: X509Name(derBytes: Array(copying: der.extracting(layout.subject))), flaw: flaw)
        }
    }

    /// Parses PKCS #10 (RFC 2986, section 4.2).
    private init(certificateRequest der: Span<UInt8>) throws(KeyMaterialError) {
        let subject: DERElement
        let key: DERElement
        do throws(DERError) {
            var outer = DERCursor(0..<der.count)
            let request = try outer.next(DERTag.sequence, der)
            try outer.finish()
            var parts = DERCursor(request.contents)
            var fields = DERCursor(try parts.next(DERTag.sequence, der).contents)
            _ = try parts.next(DERTag.sequence, der)
            _ = try parts.next(DERTag.bitString, der)
            try parts.finish()
            _ = try fields.next(DERTag.integer, der)
            subject = try fields.next(DERTag.sequence, der)
            key = try fields.next(DERTag.sequence, der)
            _ = try fields.nextIfPresent(DERTag.constructedContext(0), der)
            try fields.finish()
        } catch {
            throw .der(error)
        }
        self.init(
            kind: .certificateRequest, key: der.extracting(key.whole),
            subject: X509Name(derBytes: Array(copying: der.extracting(subject.whole))),
            requestedNames: (try? Self.requestedNames(ofRequest: der)) ?? [])
    }

    private init(publicKey der: Span<UInt8>) throws(KeyMaterialError) {
        do throws(DERError) { try SubjectPublicKeyInfo.check(der) } catch { throw .der(error) }
        self.init(kind: .publicKey, key: der)
    }

    private init(rsaPublicKey der: Span<UInt8>) throws(KeyMaterialError) {
        let key: [UInt8]
        do throws(OpenSSLError) {
            key = try OpenSSLBridge.subjectPublicKeyInfo(ofRSAPublicKey: der)
        } catch {
            throw .unsupported("an RSA public key that OpenSSL cannot read (\(error.reason))")
        }
        self.init(kind: .publicKey, key: key.span)
    }

    /// Creates the public half of a private key.
    init(_ key: OpenSSLPrivateKey) throws(KeyMaterialError) {
        let encoded: [UInt8]
        do throws(OpenSSLError) {
            encoded = try key.subjectPublicKeyInfo()
        } catch {
            throw .unreadablePrivateKey(error.reason)
        }
        self.init(kind: .privateKey, key: encoded.span)
    }

    private init(encryptedPrivateKey der: Span<UInt8>, _ password: KeyPassword) throws(KeyMaterialError) {
        guard let secret = password.bytes else {
            let shape: Shape
            // mutant encrypted-cut: { shape = .encryptedPrivateKey } by FilesInUseTests/unreadableKeys
            do throws(DERError) { shape = try Shape(der) } catch { throw .der(error) }
            guard shape == .encryptedPrivateKey else { throw .unreadablePrivateKey("it is malformed") }
            throw .encrypted
        }
        try self.init { () throws(ProtectedKeyError) in
            try password.spending { (left) throws(ProtectedKeyError) in
                try OpenSSLPrivateKey(encryptedPKCS8: der, password: secret.span, iterations: &left)
            }
        }
    }

    /// Decrypts a key in OpenSSL's old format, given the lines of its block.
    init(encryptedPEM lines: Span<UInt8>, _ password: KeyPassword) throws(KeyMaterialError) {
        guard let secret = password.bytes else { throw .encrypted }
        try password.spending { (left) throws(KeyMaterialError) in
            guard left >= KeyPassword.oldFormatIterations else {
                throw .tooManyIterations(KeyPassword.oldFormatIterations)
            }
            left -= KeyPassword.oldFormatIterations
        }
        try self.init { () throws(ProtectedKeyError) in
            try OpenSSLPrivateKey(encryptedPEM: lines, password: secret.span)
        }
    }

    private init(_ open: () throws(ProtectedKeyError) -> OpenSSLPrivateKey) throws(KeyMaterialError) {
        let key: OpenSSLPrivateKey
        do throws(ProtectedKeyError) {
            key = try open()
        } catch {
            switch error {
            case .malformed, .unauthenticated: throw .unreadablePrivateKey("it is malformed")
            case .wrongPassword: throw .wrongPassword
            case .tooManyIterations(let count): throw .tooManyIterations(count)
            case .openSSL(let error) where error.isUnsupported:
                throw .foreign(
                    "a private key encrypted with an algorithm that OpenSSL 3 does not offer by default, such as DES "
                        + "or RC2",
                    advice: "print its public key with openssl pkey -provider legacy -provider default -in FILE -pubout"
                )
            case .openSSL(let error): throw .unreadablePrivateKey(error.reason)
            }
        }
        try self.init(key)
    }

    private init(privateKey der: Span<UInt8>) throws(KeyMaterialError) {
        let key: [UInt8]
        var own: [UInt8]?
        do throws(OpenSSLError) {
            key = try PrivateKeyInfo.withFirstVersion(of: der) { (der, publicKey) throws(OpenSSLError) in
                own = publicKey
                return try OpenSSLBridge.subjectPublicKeyInfo(ofPrivateKey: der)
            }
        } catch {
            if let own, (try? PublicKeyKind(subjectPublicKeyInfo: own.span)) != nil {
                self.init(kind: .privateKey, key: own.span)
                return
            }
            if let algorithm = PostQuantumAlgorithm(privateKey: der), !algorithm.isVerifiable {
                throw .foreign(
                    "a private key of \(algorithm.name), which this OpenSSL cannot read",
                    advice: "provide its public key or certificate, or use OpenSSL 3.5 or later")
            }
            throw .unreadablePrivateKey(error.reason)
        }
        guard own == nil || own == key else {
            throw .foreign("a private key with the public key of another one", advice: "create the file again")
        }
        self.init(kind: .privateKey, key: key.span)
    }

    private init(_ certificate: X509Certificate) {
        kind = .certificate
        fingerprint = certificate.spkiFingerprint
        holder = .certificate(certificate)
    }

    private init(
        kind: Kind, key: Span<UInt8>, subject: X509Name? = nil, requestedNames: [SubjectAlternativeName] = [],
        flaw: DERError? = nil
    ) {
        self.kind = kind
        fingerprint = SPKIFingerprint(hashing: key)
        holder = .other(
            Parts(key: Array(copying: key), subject: subject, requestedNames: requestedNames, flaw: flaw))
    }

    /// The kind of a DER object, identified by its first members.
    private enum Shape {
        case certificate, certificateRequest, publicKey, rsaPublicKey, privateKey, encryptedPrivateKey, message
        case revocationList, response, parameters, other

        init(_ der: Span<UInt8>) throws(DERError) {
            var outer = DERCursor(0..<der.count)
            let object = try outer.next(DERTag.sequence, der)
            try outer.finish()
            let tags = try Self.tags(der, object.contents)
            switch tags {
            case [DERTag.sequence, DERTag.sequence, DERTag.bitString]:
                var parts = DERCursor(object.contents)
                let inner = try Self.tags(der, parts.next(der).contents)
                // A request has its key where a certificate has the issuer, followed by attributes or nothing.
                let isRequest =
                    inner.starts(with: [DERTag.integer, DERTag.sequence, DERTag.sequence])
                    && (inner.count == 3 || inner[3] == DERTag.constructedContext(0))
                // A CRL has times where a certificate has its validity (RFC 5280, section 5.1).
                let times = [DERTag.utcTime, DERTag.generalizedTime]
                let isList = inner.prefix(4).contains { times.contains($0) }
                self = isRequest ? .certificateRequest : isList ? .revocationList : .certificate
            case [DERTag.sequence, DERTag.bitString]: self = .publicKey
            case [DERTag.sequence, DERTag.octetString]: self = .encryptedPrivateKey
            case [DERTag.objectIdentifier, DERTag.constructedContext(0)]: self = .message
            // An OCSP response is a status with a response, unless it is an error (RFC 6960, section 4.2.1).
            case [DERTag.enumerated, DERTag.constructedContext(0)], [DERTag.enumerated]: self = .response
            // Diffie-Hellman parameters are a prime, and a generator that is never the exponent of an RSA key.
            case [DERTag.integer, DERTag.integer]:
                self = der[object.contents.upperBound - 1] == 2 ? .parameters : .rsaPublicKey
            case [DERTag.integer, DERTag.integer, DERTag.integer]: self = .parameters
            case _ where tags.starts(with: [DERTag.integer, DERTag.sequence, DERTag.octetString]),
                _ where tags.starts(with: [DERTag.integer, DERTag.octetString]),
                _ where tags.count >= 6 && tags.prefix(6).allSatisfy({ $0 == DERTag.integer }):
                self = .privateKey
            default: self = .other
            }
        }

        /// The name of an object that isn't a certificate, with its article, or `nil` if it isn't known.
        var nameOfOther: String? {
            switch self {
            case .certificateRequest: "a certificate request"
            case .publicKey, .rsaPublicKey: "a public key"
            case .privateKey, .encryptedPrivateKey: "a private key"
            case .revocationList: "a certificate revocation list (CRL)"
            case .response: "an OCSP response"
            case .certificate, .message, .parameters, .other: nil
            }
        }

        private static func tags(_ der: Span<UInt8>, _ contents: Range<Int>) throws(DERError) -> [UInt8] {
            var members = DERCursor(contents)
            var tags: [UInt8] = []
            while !members.isAtEnd, tags.count < 12 { tags.append(try members.next(der).tag) }
            return tags
        }
    }
}
