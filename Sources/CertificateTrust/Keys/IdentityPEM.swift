import OpenSSLBridge
import PinctlBasics

/// A collector for the certificates and the private key of PEM texts.
struct IdentityPEM {
    private(set) var certificates: [X509Certificate] = []
    private(set) var key: OpenSSLPrivateKey?
    private let password: [UInt8]?

    /// Creates a collector that decrypts keys with `password`. `nil` means that none was given. An empty array is an
    /// empty password.
    init(password: [UInt8]?) { self.password = password }

    /// Reads one text. Parameters, public keys and certificate requests are skipped.
    mutating func read(_ text: [UInt8]) throws(ClientIdentityError) {
        var reader = PEMReader()
        defer { reader.wipe() }
        var failure: ClientIdentityError?
        do throws(PEMError) {
            let take: PEMReader.Output = { block, result, der in
                guard failure == nil else { return }
                do throws(ClientIdentityError) {
                    try self.take(block, result, der, of: text.span)
                } catch {
                    failure = error
                }
            }
            // The text is fed as a whole, so that the decoded bytes are in one place that can be wiped.
            try reader.feed(text.span, take)
            try reader.finish(take)
        } catch {
            throw failure ?? .malformed(line: nil, reason: error.description)
        }
        if let failure { throw failure }
    }

    private mutating func take(
        _ block: PEMBlock, _ result: Result<Void, PEMError>, _ der: Span<UInt8>, of text: Span<UInt8>
    ) throws(ClientIdentityError) {
        switch result {
        case .failure(.encrypted) where block.label.hasSuffix("PRIVATE KEY"):
            let password = try requiredPassword()
            try setKey(block) { () throws(ProtectedKeyError) in
                try OpenSSLPrivateKey(
                    encryptedPEM: text.extracting(text.block(fromLine: block.line)), password: password.span)
            }
        case .failure(let error):
            throw .malformed(line: block.line, reason: error.description)
        case .success:
            switch block.label {
            case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
                do throws(DERError) {
                    var cursor = DERCursor(0..<der.count)
                    let certificate = try cursor.next(DERTag.sequence, der)
                    certificates.append(
                        try X509Certificate(derBytes: Array(copying: der.extracting(certificate.whole))))
                } catch {
                    throw .malformed(line: block.line, reason: "is malformed: \(error)")
                }
            case "ENCRYPTED PRIVATE KEY":
                let password = try requiredPassword()
                try setKey(block) { () throws(ProtectedKeyError) in
                    try OpenSSLPrivateKey(encryptedPKCS8: der, password: password.span)
                }
            case let label where label.hasSuffix("PRIVATE KEY"):
                try setKey(block) { () throws(ProtectedKeyError) in
                    do throws(OpenSSLError) {
                        return try PrivateKeyInfo.withFirstVersion(of: der) { (der, _) throws(OpenSSLError) in
                            try OpenSSLPrivateKey(der: der)
                        }
                    } catch {
                        throw .openSSL(error)
                    }
                }
            default: break
            }
        }
    }

    private func requiredPassword() throws(ClientIdentityError) -> [UInt8] {
        guard let password else { throw .passwordRequired(file: nil) }
        return password
    }

    /// Reads the only key. A second one is rejected before it is read, so that a text can't cause more work than one
    /// key may.
    private mutating func setKey(
        _ block: PEMBlock, _ read: () throws(ProtectedKeyError) -> OpenSSLPrivateKey
    ) throws(ClientIdentityError) {
        guard key == nil else { throw .severalPrivateKeys }
        do throws(ProtectedKeyError) { key = try read() } catch { throw ClientIdentityError(error, line: block.line) }
    }
}

extension ClientIdentityError {
    init(_ error: ProtectedKeyError, line: Int?) {
        self =
            switch error {
            case .malformed where line == nil:
                .malformed(line: nil, reason: "is neither PEM nor PKCS #12: use one of them")
            case .malformed: .malformed(line: line, reason: "contains no encrypted private key: create it again")
            case .wrongPassword, .unauthenticated: .wrongPassword(file: nil)
            case .tooManyIterations(let count): .tooManyIterations(count, limit: iterationLimit)
            case .openSSL(let error) where error.isUnsupported:
                .unusable(
                    reason:
                        "its encryption, such as RC2 or DES, isn't offered by default; openssl pkcs12 -legacy reads it")
            case .openSSL(let error): .unusable(reason: error.reason)
            }
    }
}

extension Span<UInt8> {
    /// Returns the position of a block, from its BEGIN line to its END line. Lines are counted from 1.
    func block(fromLine line: Int) -> Range<Int> {
        var start = 0
        for _ in 1..<line { start = next(start) }
        var end = next(start)
        while end < count, !extracting(end..<Swift.min(end + 9, count)).elementsEqual("-----END ".utf8.span) {
            end = next(end)
        }
        return start..<next(end)
    }

    /// Returns the start of the line after the one at `start`.
    private func next(_ start: Int) -> Int { Swift.min(firstIndex(of: 0x0A, from: start) + 1, count) }
}
