import CertificateTrust

/// An AUTHENTICATE_MESSAGE with an NTLMv2 response (MS-NLMP, sections 2.2.1.3 and 3.3.2). LM and NTLMv1 responses are
/// never sent, even if the server asks for them.
struct NTLMAuthentication: Sendable {
    let user: NTLMUser
    let password: String
    /// The server's service name, such as `HTTP/www.example.org`.
    let targetName: String
    /// The digest of the TLS server's certificate (RFC 5929, section 4.1), or nil without TLS.
    let serverEndPoint: [UInt8]?

    /// Returns the answer to a challenge. `time` is in units of 100 ns since 1601, and is used if the server sends
    /// none.
    func message(
        answering challenge: NTLMChallenge, clientChallenge: [UInt8], time: UInt64
    ) throws(NTLMError) -> [UInt8] {
        let key = try responseKey()
        var attributes = challenge.targetInfo.filter {
            ![.flags, .channelBindings, .targetName].contains($0.kind)
        }
        let hasMIC = challenge.timestamp != nil
        if hasMIC {
            // Announces the MIC, so that an attacker can't remove it.
            attributes.append(NTLMAttribute(kind: .flags, value: [2, 0, 0, 0]))
        }
        attributes.append(NTLMAttribute(kind: .channelBindings, value: try channelBindings()))
        attributes.append(NTLMAttribute(kind: .targetName, value: Self.utf16(targetName)))
        let proven = Self.proven(
            time: challenge.timestamp ?? littleEndian(time), clientChallenge: clientChallenge,
            targetInfo: (attributes + [.end]).flatMap(\.bytes))
        let proof = try Self.hmac(challenge.serverChallenge + proven, key: key)
        var message = try Self.message(
            flags: challenge.flags.intersection(
                challenge.flags.contains(.unicode) ? [.client, .targetInfo] : [.client, .targetInfo, .oem]),
            response: proof + proven, user: user)
        guard hasMIC else { return message }
        // Without a key exchange, the session's base key is also the exported key (sections 3.3.2 and 3.1.5.1.2).
        let sessionKey = try Self.hmac(proof, key: key)
        let mic = try Self.hmac(NTLMMessage.negotiate + challenge.bytes + message, key: sessionKey)
        message.replaceSubrange(NTLMMessage.micRange, with: mic)
        return message
    }

    /// Returns NTOWFv2, the key derived from the password, the user and the domain.
    func responseKey() throws(NTLMError) -> [UInt8] {
        try Self.hmac(
            Self.utf16(user.name.simplyUppercased + user.domain), key: md4(Self.utf16(password)))
    }

    /// Returns NTLMv2_CLIENT_CHALLENGE (section 2.2.2.7), followed by four zeros, which the proof also covers.
    static func proven(time: [UInt8], clientChallenge: [UInt8], targetInfo: [UInt8]) -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: 4)
        return [1, 1, 0, 0] + zeros + time + clientChallenge + zeros + targetInfo + zeros
    }

    /// Returns the MD5 digest of the channel's `gss_channel_bindings_struct` (RFC 2744, section 3.11), or zeros without
    /// TLS.
    private func channelBindings() throws(NTLMError) -> [UInt8] {
        guard let serverEndPoint else { return [UInt8](repeating: 0, count: 16) }
        let data = Array("tls-server-end-point:".utf8) + serverEndPoint
        let bindings = [UInt8](repeating: 0, count: 16) + littleEndian(UInt32(truncatingIfNeeded: data.count)) + data
        guard let digest = MessageDigest.md5.hash(bindings) else { throw .noDigest }
        return digest
    }

    private static func message(
        flags: NTLMMessage.Flags, response: [UInt8], user: NTLMUser
    ) throws(NTLMError) -> [UInt8] {
        let isUnicode = flags.contains(.unicode)
        guard isUnicode || (user.domain + user.name).utf8.allSatisfy({ $0 < 0x80 }) else { throw .notASCII }
        let domain = isUnicode ? utf16(user.domain) : Array(user.domain.utf8)
        let name = isUnicode ? utf16(user.name) : Array(user.name.utf8)
        // The LM response is always 24 zeros. Section 3.3.2 requires this if there is a timestamp.
        let payloads = [[UInt8](repeating: 0, count: 24), response, domain, name, [], []]
        var header = NTLMMessage.signature + littleEndian(UInt32(3))
        var payload: [UInt8] = []
        for part in payloads {
            guard let count = UInt16(exactly: part.count) else { throw .tooLong }
            let start = UInt32(truncatingIfNeeded: NTLMMessage.authenticateHeaderCount + payload.count)
            header += littleEndian(count) + littleEndian(count) + littleEndian(start)
            payload += part
        }
        header += littleEndian(flags.rawValue)
        // The version, which wasn't negotiated, and room for the MIC.
        header += [UInt8](repeating: 0, count: NTLMMessage.authenticateHeaderCount - header.count)
        return header + payload
    }

    static func hmac(_ bytes: [UInt8], key: [UInt8]) throws(NTLMError) -> [UInt8] {
        guard let digest = MessageDigest.md5.hmac(bytes, key: key) else { throw .noDigest }
        return digest
    }

    static func utf16(_ text: String) -> [UInt8] { text.utf16.flatMap { littleEndian($0) } }
}

/// A user in NTLM's form: `DOMAIN\user`, or `user@domain` as a whole without a domain, which the server splits.
struct NTLMUser: Sendable, Hashable {
    let domain: String
    let name: String

    init(domain: String, name: String) {
        self.domain = domain
        self.name = name
    }

    init(_ text: String) {
        if let mark = text.firstIndex(of: "\\") {
            self.init(domain: String(text[..<mark]), name: String(text[text.index(after: mark)...]))
        } else {
            self.init(domain: "", name: text)
        }
    }
}

extension String {
    /// The string in upper case, mapped one character at a time as Windows does. A sharp s stays unchanged, because its
    /// capital form has two characters.
    fileprivate var simplyUppercased: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let mapped = scalar.properties.uppercaseMapping.unicodeScalars
            text.append(mapped.count == 1 ? mapped.first ?? scalar : scalar)
        }
        return String(text)
    }
}

/// Returns the MD4 digest (RFC 1320), 16 bytes. NTLM derives its key from the MD4 digest of the password. No security
/// depends on MD4's strength.
///
/// OpenSSL 3 has MD4 only in its legacy provider, which isn't loaded.
func md4(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    padded += littleEndian(UInt64(message.count) &* 8)
    var state: (UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476)
    for start in stride(from: 0, to: padded.count, by: 64) {
        mix(padded[start..<start + 64], into: &state)
    }
    return [state.0, state.1, state.2, state.3].flatMap { littleEndian($0) }
}

/// Processes one block of 64 bytes: three rounds of sixteen steps (section 3.4).
private func mix(_ block: ArraySlice<UInt8>, into state: inout (UInt32, UInt32, UInt32, UInt32)) {
    let words = (0..<16).map { word in
        (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[block.startIndex + word * 4 + $1]) << UInt32($1 * 8) }
    }
    var (a, b, c, d) = state
    func step(_ mixed: UInt32, _ word: Int, _ constant: UInt32, _ shift: UInt32) {
        let sum = a &+ mixed &+ words[word] &+ constant
        (a, b, c, d) = (d, sum << shift | sum >> (32 - shift), b, c)
    }
    for index in 0..<16 { step(b & c | ~b & d, index, 0, [3, 7, 11, 19][index % 4]) }
    for index in 0..<16 {
        step(b & c | b & d | c & d, index % 4 * 4 + index / 4, 0x5A82_7999, [3, 5, 9, 13][index % 4])
    }
    let order = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]
    for index in 0..<16 { step(b ^ c ^ d, order[index], 0x6ED9_EBA1, [3, 9, 11, 15][index % 4]) }
    state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d)
}

/// Returns the bytes of a number, least significant first.
func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}
