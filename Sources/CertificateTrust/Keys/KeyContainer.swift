import OpenSSLBridge
import PinctlBasics

/// The containers of several certificates and keys: PKCS #7 (RFC 2315, section 9) and PKCS #12 (RFC 7292).
enum KeyContainer {
    /// Whether the bytes begin like a PFX: a SEQUENCE that starts with version 3. Old programs write BER, which is
    /// accepted too.
    static func isPKCS12(_ der: Span<UInt8>) -> Bool {
        guard der.count > 2, der[0] == DERTag.sequence else { return false }
        let version = der[1] < 0x80 ? 2 : 2 + Int(der[1] & 0x7F)
        return der.count >= version + 3 && der[version] == DERTag.integer && der[version + 1] == 1
            && der[version + 2] == 3
    }

    /// Whether the bytes begin like a message of PKCS #7: a SEQUENCE that starts with an object identifier.
    static func isMessage(_ der: Span<UInt8>) -> Bool {
        guard der.count > 2, der[0] == DERTag.sequence else { return false }
        let type = der[1] < 0x80 ? 2 : 2 + Int(der[1] & 0x7F)
        return der.count > type && der[type] == DERTag.objectIdentifier
    }

    /// Returns the certificates and private keys of a PKCS #12 file, certificates first.
    static func pkcs12(
        _ file: Span<UInt8>, _ password: KeyPassword
    ) throws(KeyMaterialError) -> [Result<KeyMaterial, KeyMaterialError>] {
        let contents: PKCS12Contents
        do throws(ProtectedKeyError) {
            let (bytes, secret) = (Array(copying: file), password.bytes ?? [])
            contents = try password.spending { (left) throws(ProtectedKeyError) in
                try PKCS12Contents(bytes, password: secret, iterations: &left)
            }
        } catch {
            switch error {
            case .malformed: throw .unsupported("DER of another type")
            case .wrongPassword: throw password.bytes == nil ? .encryptedContainer : .wrongPassword
            case .tooManyIterations(let count): throw .tooManyIterations(count)
            case .unauthenticated:
                throw .foreign(
                    "PKCS #12 that is not encrypted, but protected by a MAC with a password that was not given",
                    advice: "give its password, or print its certificates without checking the MAC (openssl pkcs12 "
                        + "-in FILE -nokeys -nomacver -passin pass:)")
            case .openSSL(let error) where error.isUnsupported:
                throw .foreign(
                    "PKCS #12 encrypted with an algorithm that OpenSSL 3 does not offer by default, such as RC2 or DES",
                    advice: "print its certificates with openssl pkcs12 -legacy -in FILE -nokeys, and use these")
            case .openSSL(let error): throw .unreadableContainer(error.reason)
            }
        }
        return contents.certificates.map { certificate($0.span) } + contents.keys.map(privateKey)
    }

    /// Returns the certificates of a signed message, which is the form of PKCS #7 certificate files.
    static func pkcs7(_ der: Span<UInt8>) throws(KeyMaterialError) -> [Result<KeyMaterial, KeyMaterialError>] {
        var certificates: [Result<KeyMaterial, KeyMaterialError>] = []
        var isProfile = false
        do throws(DERError) {
            var outer = DERCursor(0..<der.count)
            var message = DERCursor(try outer.next(DERTag.sequence, der).contents)
            try outer.finish()
            let type = try message.next(DERTag.objectIdentifier, der)
            guard type.contents.map({ der[$0] }) == signedData else {
                throw .invalidValue(what: "content type (not signed data)", offset: type.whole.lowerBound)
            }
            var explicit = DERCursor(try message.next(DERTag.constructedContext(0), der).contents)
            var signed = DERCursor(try explicit.next(DERTag.sequence, der).contents)
            _ = try signed.next(DERTag.integer, der)
            _ = try signed.next(DERTag.set, der)
            let content = try signed.next(DERTag.sequence, der)
            isProfile = hasPropertyList(der.extracting(content.contents))
            if let set = try signed.nextIfPresent(DERTag.constructedContext(0), der) {
                var members = DERCursor(set.contents)
                while !members.isAtEnd {
                    let member = try members.next(der)
                    // Attribute certificates have other tags.
                    guard member.tag == DERTag.sequence else { continue }
                    certificates.append(certificate(der.extracting(member.whole)))
                }
            }
        } catch {
            throw .der(error)
        }
        guard !isProfile else {
            throw .foreign(
                "a signed configuration profile (.mobileconfig), whose outer certificates are those of its signer",
                advice: "extract the profile with openssl cms -verify -noverify -inform DER -in FILE -out PROFILE, and "
                    + "use that")
        }
        guard !certificates.isEmpty else { throw .unsupported("PKCS #7 without certificates") }
        return certificates
    }

    /// Whether the content of a message is a property list, XML or binary, near its start.
    private static func hasPropertyList(_ content: Span<UInt8>) -> Bool {
        let head = String(decoding: Array(copying: content.extracting(first: min(content.count, 128))), as: UTF8.self)
        return ["<?xml", "<plist", "<!DOCTYPE plist", "bplist"].contains { head.contains($0) }
    }

    /// The identifier of signed data, 1.2.840.113549.1.7.2.
    static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]

    private static func privateKey(_ key: OpenSSLPrivateKey) -> Result<KeyMaterial, KeyMaterialError> {
        do throws(KeyMaterialError) { return .success(try KeyMaterial(key)) } catch { return .failure(error) }
    }

    private static func certificate(_ der: Span<UInt8>) -> Result<KeyMaterial, KeyMaterialError> {
        do throws(KeyMaterialError) { return .success(try KeyMaterial(certificate: der)) } catch {
            return .failure(error)
        }
    }
}
