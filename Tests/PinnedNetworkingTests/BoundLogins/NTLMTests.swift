import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// NTLM messages without a network.
@Suite struct NTLMTests {
    // RFC 1320, appendix A.5.
    @Test(
        "MD4 gives the values of RFC 1320",
        arguments: [
            ("", "31d6cfe0d16ae931b73c59d7e0c089c0"), ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
            ("abc", "a448017aaf21d8525fc10ae87aa6729d"), ("message digest", "d9130a8164549fe818874806e1c7014b"),
            ("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "043f8582f241db351ce627e153e7f0e4"
            ),
            (
                String(repeating: "1234567890", count: 8), "e33b4ddc9c38f2199c3e7b164fcc0536"
            ),
        ])
    func md4Vectors(row: (text: String, digest: String)) {
        #expect(hex(md4(Array(row.text.utf8))) == row.digest)
    }

    @Test("HMAC-MD5 gives the value of RFC 2202, section 2")
    func hmac() {
        let key = Array("Jefe".utf8)
        let digest = MessageDigest.md5.hmac(Array("what do ya want for nothing?".utf8), key: key)
        #expect(digest.map(hex) == "750c783e6ab0b503eaa86e310a5db738")
    }

    // MS-NLMP, section 4.2.4: the NTLMv2 values for the inputs of section 4.2.1.
    private static let user = NTLMUser(domain: "Domain", name: "User")
    private static let challenge =
        "4e544c4d53535000020000000c000c0038000000338a8ae20123456789abcdef00000000000000002400240044000000060070170000"
        + "000f53006500720076006500720002000c0044006f006d00610069006e0001000c0053006500720076006500720000000000"
    private static let clientChallenge = [UInt8](repeating: 0xAA, count: 8)

    private static func login(_ user: NTLMUser = user, password: String = "Password") -> NTLMAuthentication {
        NTLMAuthentication(user: user, password: password, targetName: "HTTP/server", serverEndPoint: nil)
    }

    @Test("A password's key, the proof and the session key are those of MS-NLMP, section 4.2.4")
    func vectors() throws {
        #expect(hex(md4(NTLMAuthentication.utf16("Password"))) == "a4f49c406510bdcab6824ee7c30fd852")
        let key = try Self.login().responseKey()
        #expect(hex(key) == "0c868a403bfd7a93a3001ef22ef02e3f")
        let challenge = try NTLMChallenge(bytes(Self.challenge))
        #expect(hex(challenge.serverChallenge) == "0123456789abcdef")
        let proven = NTLMAuthentication.proven(
            time: [UInt8](repeating: 0, count: 8), clientChallenge: Self.clientChallenge,
            targetInfo: (challenge.targetInfo + [.end]).flatMap(\.bytes))
        #expect(
            hex(proven)
                == "01010000000000000000000000000000aaaaaaaaaaaaaaaa0000000002000c0044006f006d00610069006e0001000c00"
                + "5300650072007600650072000000000000000000")
        let proof = try NTLMAuthentication.hmac(challenge.serverChallenge + proven, key: key)
        #expect(hex(proof) == "68cd0ab851e51c96aabc927bebef6a1c")
        #expect(hex(try NTLMAuthentication.hmac(proof, key: key)) == "8de40ccadbc14a82f15cb0ad0de95ca3")
    }

    @Test("The user name is converted to capitals, character by character, and the domain is used as written")
    func capitals() throws {
        func key(_ domain: String, _ name: String) throws -> [UInt8] {
            try Self.login(NTLMUser(domain: domain, name: name)).responseKey()
        }
        #expect(try key("d", "stra\u{DF}e\u{E9}") == key("d", "STRA\u{DF}E\u{C9}"))
        #expect(try key("d", "u") != key("D", "u"))
    }

    @Test("An answer has no LM or NTLMv1 response, no session key and no unrequested flag")
    func noOldResponses() throws {
        let message = try Self.login().message(
            answering: NTLMChallenge(bytes(Self.challenge)), clientChallenge: Self.clientChallenge, time: 0)
        let read = try #require(NTLMAnswer(message))
        #expect(read.lmResponse == [UInt8](repeating: 0, count: 24))
        #expect(read.response.count > 44)
        #expect(read.sessionKey.isEmpty)
        #expect((read.user, read.domain) == ("User", "Domain"))
        #expect(read.flags.isSubset(of: [.client, .targetInfo]))
        // Without a timestamp in the challenge there is no MIC.
        #expect(read.mic == [UInt8](repeating: 0, count: 16))
        #expect(!read.attributes.contains { $0.kind == .flags })
    }

    @Test("A challenge with a time is answered with that time and a MIC over all three messages")
    func mic() throws {
        let time: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let challenge = NTLMAcceptor.challenge([NTLMAttribute(kind: .timestamp, value: time)])
        let message = try Self.login().message(
            answering: NTLMChallenge(challenge), clientChallenge: Self.clientChallenge, time: 77)
        let read = try #require(NTLMAnswer(message))
        #expect(Array(read.response[24..<32]) == time)
        #expect(read.attributes.first { $0.kind == .flags }?.value == [2, 0, 0, 0])
        let sessionKey = try NTLMAuthentication.hmac(Array(read.response.prefix(16)), key: Self.login().responseKey())
        var unsigned = message
        unsigned.replaceSubrange(NTLMMessage.micRange, with: [UInt8](repeating: 0, count: 16))
        #expect(
            try read.mic
                == NTLMAuthentication.hmac(NTLMMessage.negotiate + challenge + unsigned, key: sessionKey))
    }

    @Test("A server can't set the client's channel bindings, or the flag that there is a MIC")
    func serversAttributes() throws {
        let lies = [NTLMAttribute.Kind.flags, .channelBindings, .targetName].map {
            NTLMAttribute(kind: $0, value: [9, 9, 9, 9])
        }
        let time = NTLMAttribute(kind: .timestamp, value: [UInt8](repeating: 1, count: 8))
        let message = try Self.login().message(
            answering: NTLMChallenge(NTLMAcceptor.challenge(lies + [time])), clientChallenge: Self.clientChallenge,
            time: 0)
        let attributes = try #require(NTLMAnswer(message)).attributes
        #expect(!attributes.contains { $0.value == [9, 9, 9, 9] })
        #expect(attributes.filter { $0.kind == .flags }.map(\.value) == [[2, 0, 0, 0]])
        let target = attributes.filter { $0.kind == .targetName }.map(\.value)
        #expect(target == [NTLMAuthentication.utf16("HTTP/server")])
    }

    @Test(
        "A user can be written with a domain before or after the name",
        arguments: [
            ("DOM\\me", NTLMUser(domain: "DOM", name: "me")), ("me", NTLMUser(domain: "", name: "me")),
            ("me@dom.test", NTLMUser(domain: "", name: "me@dom.test")), ("\\me", NTLMUser(domain: "", name: "me")),
            ("DOM\\me\\x", NTLMUser(domain: "DOM", name: "me\\x")),
        ])
    func users(row: (text: String, user: NTLMUser)) {
        #expect(NTLMUser(row.text) == row.user)
    }

    @Test("A name that is too long for its field is rejected, not truncated")
    func long() throws {
        let user = NTLMUser(domain: "", name: String(repeating: "x", count: 40_000))
        #expect(throws: NTLMError.tooLong) {
            try Self.login(user).message(
                answering: NTLMChallenge(bytes(Self.challenge)), clientChallenge: Self.clientChallenge, time: 0)
        }
    }

    @Test(
        "HA11: A challenge with offsets outside of itself is rejected (CVE-2018-16890, CVE-2019-3822)",
        arguments: [
            // The target's length, its offset, and both together over 32 bits.
            (40, [0xFF, 0xFF]), (44, [0xFF, 0xFF, 0xFF, 0xFF]), (44, [0x69, 0, 0, 0]), (42, [0xFF, 0xFF, 0xFF]),
            // A list without an end, or with one beyond the end.
            (100, [1, 0, 4, 0]), (70, [0xFF, 0xFF]),
            // Not a challenge, and neither Unicode nor OEM characters.
            (8, [1]), (0, [0]), (20, [0, 0x82, 0x01, 0]),
        ])
    func outside(row: (at: Int, bytes: [UInt8])) throws {
        var challenge = bytes(Self.challenge)
        challenge.replaceSubrange(row.at..<row.at + row.bytes.count, with: row.bytes)
        #expect(throws: NTLMError.self) { try NTLMChallenge(challenge) }
    }

    @Test("A challenge cut at any position is rejected, and one with any byte changed gives a valid answer or an error")
    func everyByte() throws {
        let challenge = bytes(Self.challenge)
        for count in 0..<challenge.count {
            #expect(throws: NTLMError.self) { try NTLMChallenge(Array(challenge.prefix(count))) }
        }
        for index in challenge.indices {
            for value in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
                var changed = challenge
                changed[index] = value
                guard let read = try? NTLMChallenge(changed) else { continue }
                let message = try Self.login().message(
                    answering: read, clientChallenge: Self.clientChallenge, time: 0)
                #expect(NTLMAnswer(message) != nil)
            }
        }
        #expect(throws: NTLMError.self) { try NTLMChallenge([UInt8](repeating: 0, count: 40_000)) }
    }

    @Test(
        "A server without Unicode, as in curl's test 67, gets NTLMv2 in ASCII, or an error for other characters"
    )
    func oem() throws {
        let old = Base64.decodeCanonical(
            Array("TlRMTVNTUAACAAAAAAAAADgAAACGggEAq6U1NAWaJCIAAAAAAAAAAAAAAAA4AAAA".utf8))
        let challenge = try NTLMChallenge(old ?? [])
        let message = try Self.login().message(answering: challenge, clientChallenge: Self.clientChallenge, time: 5)
        #expect(message.suffix(10) == Array("DomainUser".utf8)[...])
        let proof = message[112..<128]
        let key = try Self.login().responseKey()
        #expect(
            try Array(proof)
                == NTLMAuthentication.hmac(challenge.serverChallenge + message[128..<message.count - 10], key: key))
        #expect(throws: NTLMError.notASCII) {
            try Self.login(NTLMUser(domain: "", name: "\u{E9}")).message(
                answering: challenge, clientChallenge: Self.clientChallenge, time: 5)
        }
    }
}

func hex(_ bytes: [UInt8]) -> String { bytes.map { Hexadecimal.encode($0) }.joined() }

func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
}
