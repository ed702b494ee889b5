extension TestCertificate {
    /// Returns a re-keyed clone of another party's self-signed certificate. Every byte of its signed part is unchanged
    /// except for the SubjectPublicKeyInfo and the signature algorithm. The new key is a shared one of the same family.
    ///
    /// The clone's ``settings`` have only the subject, and nothing else from the certificate.
    package static func clone(of derBytes: [UInt8]) throws(TestPKIError) -> TestCertificate {
        guard var fields = derBytes.derElements.first?.derElements else {
            throw TestPKIError("clone", "not a certificate")
        }
        let start = fields.first?.first == 0xA0 ? 1 : 0
        guard fields.count >= start + 6 else { throw TestPKIError("clone", "not a certificate") }
        let key = try TestKey.shared(try TestKey.Kind(cloning: fields[start + 5]))
        let subject = TestName(derBytes: fields[start + 4])
        fields[start + 5] = try key.publicKeyDER
        let clone = try key.signed(.sha256) { algorithm in
            fields[start + 1] = algorithm
            return TestDER.element(0x30, fields.flatMap(\.self))
        }
        return TestCertificate(derBytes: clone, key: key, settings: Settings(subject: subject))
    }

    /// The whole `[3]` element with the extensions, as it is in the DER. It is empty if there are none.
    package var extensionsDER: [UInt8] {
        let last = derBytes.derElements.first?.derElements.last ?? []
        return last.first == 0xA3 ? last : []
    }

    /// The contents of the subjectKeyIdentifier extension, as they are in the DER. `nil` if there is none.
    package var subjectKeyIdentifier: [UInt8]? {
        let found = extensionsDER.derElements.first?.derElements.first { field in
            field.derElements.first == TestDER.objectIdentifier("2.5.29.14")
        }
        return found?.derElements.last?.derContents.derContents
    }
}

extension TestKey.Kind {
    /// Selects RSA with 2048 bits for RSA of any size, or else the same curve.
    fileprivate init(cloning subjectPublicKeyInfo: [UInt8]) throws(TestPKIError) {
        let curves = ["1.2.840.10045.3.1.7": Self.p256, "1.3.132.0.34": .p384, "1.3.132.0.35": .p521]
        let algorithm = subjectPublicKeyInfo.derElements.first?.derElements ?? []
        if algorithm.first == TestDER.objectIdentifier("1.2.840.113549.1.1.1") {
            self = .rsa2048
        } else if let curve = curves.first(where: { TestDER.objectIdentifier($0.key) == algorithm.last })?.value {
            self = curve
        } else {
            throw TestPKIError("clone", "a key of another family")
        }
    }
}

extension [UInt8] {
    /// The elements inside this one.
    var derElements: [[UInt8]] {
        var elements: [[UInt8]] = []
        var rest = derContents[...]
        while rest.count >= 2 {
            let (header, count) = Self.derHeader(rest)
            elements.append(Array(rest.prefix(header + count)))
            rest = rest.dropFirst(header + count)
        }
        return elements
    }

    /// The bytes after the tag and the length.
    var derContents: [UInt8] { count < 2 ? [] : Array(dropFirst(Self.derHeader(self[...]).size)) }

    /// Returns the size of the tag and the length, and the length.
    private static func derHeader(_ bytes: ArraySlice<UInt8>) -> (size: Int, count: Int) {
        let first = Int(bytes[bytes.startIndex + 1])
        guard first >= 0x80 else { return (2, first) }
        let octets = bytes.dropFirst(2).prefix(first & 0x7F)
        return (2 + octets.count, octets.reduce(0) { $0 << 8 | Int($1) })
    }
}

extension TestCertificate {
    /// Returns CA certificates with the subject, issuer and key identifiers of this one, which `issuer` issued, but
    /// with other keys, and signed by another key. A path builder can tell them from this one only by its signatures.
    package func namesakes(_ count: Int, below issuer: TestCertificate) throws(TestPKIError) -> [TestCertificate] {
        let unrelated = try TestCertificate.selfSigned(issuer.settings)
        var namesakes = settings
        (namesakes.hasSubjectKeyIdentifier, namesakes.hasAuthorityKeyIdentifier) = (false, false)
        namesakes.extensions += [
            .subjectKeyIdentifier(try key.keyIdentifier), .authorityKeyIdentifier(try issuer.key.keyIdentifier),
        ]
        var made: [TestCertificate] = []
        for _ in 0..<count { made.append(try unrelated.issue(namesakes)) }
        return made
    }
}
