import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

@testable import CertificatePinning

/// A bundle that has to be refused, and the reason.
private struct Attack: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var sequence = 0
    /// The key set that the program trusts.
    var keySet: @Sendable (Publisher) -> String = { $0.keySet([0, 1, 2]) }
    /// The bundle that was accepted before, if any.
    var before: (@Sendable (Publisher) throws -> String)?
    let bundle: @Sendable (Publisher) throws -> String
    let isExpected: @Sendable (PolicyBundleError) -> Bool

    init(
        _ name: String, sequence: Int = 0,
        keySet: @escaping @Sendable (Publisher) -> String = { $0.keySet([0, 1, 2]) },
        before: (@Sendable (Publisher) throws -> String)? = nil,
        _ bundle: @escaping @Sendable (Publisher) throws -> String,
        _ isExpected: @escaping @Sendable (PolicyBundleError) -> Bool
    ) {
        testDescription = name
        self.sequence = sequence
        self.keySet = keySet
        self.before = before
        self.bundle = bundle
        self.isExpected = isExpected
    }
}

private typealias Contents = Publisher.Contents
private let now = Publisher.now

private func tooFew(_ found: Int) -> @Sendable (PolicyBundleError) -> Bool {
    { if case .tooFewSignatures("the bundle", found, 2, _) = $0 { true } else { false } }
}

private func invalid(_ found: Int) -> @Sendable (PolicyBundleError) -> Bool {
    { $0 == .invalidSignatures("the bundle", found: found, keySet: 1) }
}

private func tooFewForKeySet(_ found: Int, by set: Int) -> @Sendable (PolicyBundleError) -> Bool {
    { if case .tooFewSignatures("key set 2", found, _, set) = $0 { true } else { false } }
}

private let isMalformed: @Sendable (PolicyBundleError) -> Bool = { if case .malformed = $0 { true } else { false } }

private func malformed(_ part: String) -> @Sendable (PolicyBundleError) -> Bool {
    { if case .malformed(let text) = $0 { text.contains(part) } else { false } }
}

/// A rotation from key set 1 (keys 0, 1, 2) to key set 2 (keys 2, 3, 4), and a bundle that is signed by the latter.
private func rotated(
    _ publisher: Publisher, set: String? = nil, signers: [Int] = [0, 1, 2, 3], bundleSigners: [Int] = [2, 3],
    keySet: Int = 2
) throws -> String {
    let set = set ?? publisher.keySet([2, 3, 4], number: 2)
    return try publisher.bundle(
        Contents(keySet: keySet), signers: bundleSigners,
        keySets: [publisher.signedKeySet(set, signers: signers)])
}

private let attacks: [Attack] = [
    // Signatures
    Attack("no signature", { try $0.bundle(signers: []) }, tooFew(0)),
    Attack("one signature too few", { try $0.bundle(signers: [1]) }, tooFew(1)),
    Attack("one key that signs twice", { try $0.bundle(signers: [1, 1]) }, tooFew(1)),
    Attack("keys that aren't in the key set", { try $0.bundle(signers: [0, 3, 4]) }, tooFew(1)),
    Attack(
        "a signature of another bundle",
        { publisher in
            let (first, second) = (try publisher.bundle(signers: [0]), try publisher.bundle(sequence: 2, signers: [1]))
            let signatures = { (text: String) in text.components(separatedBy: "[{")[1].components(separatedBy: "}]")[0]
            }
            return first.replacingOccurrences(of: "}], \"keySets\"", with: "}, {\(signatures(second))}], \"keySets\"")
        }, invalid(1)),
    Attack(
        "signatures under each other's keys",
        { publisher in
            try publisher.bundle(signers: [0, 2])
                .replacingOccurrences(of: publisher.keys[0].name, with: "swap")
                .replacingOccurrences(of: publisher.keys[2].name, with: publisher.keys[0].name)
                .replacingOccurrences(of: "swap", with: publisher.keys[2].name)
        }, invalid(0)),
    Attack(
        "another payload under the signatures",
        { publisher in
            let mine = Data(Contents(sequence: 1).text.utf8).base64EncodedString()
            let other = Data(Contents(sequence: 9).text.utf8).base64EncodedString()
            return try publisher.bundle(Contents(sequence: 1)).replacingOccurrences(of: mine, with: other)
        }, invalid(0)),
    Attack(
        "signatures that were made for another type",
        { publisher in
            "{\(try publisher.envelope(Contents().text, signers: [0, 1], signingType: Publisher.keySetType))}"
        }, invalid(0)),
    Attack(
        "a key set in place of a bundle",
        { "{\(try $0.signedKeySet($0.keySet([0, 1, 2]), signers: [0, 1]))}" }, malformed("its type is")),
    Attack(
        "an algorithm that isn't allowed", keySet: { $0.keySet([0, 1, 2]) },
        { publisher in
            let rsa = try TestKey(.rsa2048).publicKeyDER
            let set = publisher.keySet([2, 3], number: 2)
                .replacingOccurrences(of: publisher.keys[3].base64, with: Data(rsa).base64EncodedString())
            return try rotated(publisher, set: set)
        }, malformed("isn't Ed25519 or EC P-256")),
    Attack(
        "33 signatures", { try $0.bundle(signers: Array(repeating: 0, count: 33)) }, malformed("33 signatures")),

    // Sequence numbers and times
    Attack(
        "an older bundle than the built-in policy", sequence: 5, { try $0.bundle(sequence: 4) },
        {
            $0 == .rollback(sequence: 4, current: 5)
        }),
    Attack(
        "an older bundle than the last one", before: { try $0.bundle(sequence: 7) }, { try $0.bundle(sequence: 6) },
        { $0 == .rollback(sequence: 6, current: 7) }),
    Attack(
        "another bundle with the last one's number", before: { try $0.bundle(sequence: 7) },
        { try $0.bundle(Contents(sequence: 7)) }, { $0 == .equivocation(sequence: 7) }),
    Attack("sequence number 0", { try $0.bundle(Contents(sequence: 0)) }, malformed("\"sequence\"")),
    Attack("a negative sequence number", { try $0.bundle(Contents(sequence: -1)) }, malformed("\"sequence\"")),
    Attack(
        "a sequence number that no integer holds",
        { publisher in
            let text = Contents().text.replacingOccurrences(
                of: "\"sequence\": 1", with: "\"sequence\": 9223372036854775808")
            return "{\(try publisher.envelope(text, signers: [0, 1]))}"
        }, malformed("\"sequence\"")),
    Attack("an expired bundle", { try $0.bundle(Contents(expires: now)) }, { $0 == .expired(now, now: now) }),
    Attack(
        "a bundle of the future", { try $0.bundle(Contents(issued: now + 301)) },
        {
            $0 == .notYetIssued(now + 301, now: now)
        }),
    Attack(
        "a bundle that never expires", { try $0.bundle(Contents(expires: now + 401 * 86_400)) }, malformed("400 days")),
    Attack(
        "a bundle that expires before it is issued", { try $0.bundle(Contents(issued: now, expires: now - 1)) },
        malformed("\"expires\"")),
    Attack(
        "a time without a time zone",
        { publisher in
            let text = Contents().text.replacingOccurrences(of: "Z\"", with: "\"")
            return "{\(try publisher.envelope(text, signers: [0, 1]))}"
        }, malformed("must be times")),

    // Applications
    Attack(
        "a bundle for another application", { try $0.bundle(Contents(audience: "com.example.other")) },
        {
            $0 == .otherAudience("com.example.other", expected: Publisher.audience)
        }),
    Attack(
        "a key set for another application",
        { try rotated($0, set: $0.keySet([2, 3, 4], number: 2, audience: "com.example.other")) },
        { $0 == .otherAudience("com.example.other", expected: Publisher.audience) }),

    // Key sets
    Attack(
        "a key set that too few old keys have signed", { try rotated($0, signers: [0, 3, 4]) },
        tooFewForKeySet(1, by: 1)),
    Attack(
        "a key set that too few of its own keys have signed", { try rotated($0, signers: [0, 1, 3]) },
        tooFewForKeySet(1, by: 2)),
    Attack(
        "a key set that lowers the threshold, signed by one old key",
        { try rotated($0, set: $0.keySet([0], threshold: 1, number: 2), signers: [0], bundleSigners: [0]) },
        tooFewForKeySet(1, by: 1)),
    Attack(
        "a bundle of the old key set beside the new one", { try rotated($0, bundleSigners: [0, 1], keySet: 1) },
        {
            $0 == .retiredKeySet(1, current: 2)
        }),
    Attack(
        "the old keys on a bundle of the new key set", { try rotated($0, bundleSigners: [0, 1]) }, tooFew(0)),
    Attack(
        "a bundle of a key set that it doesn't contain", { try $0.bundle(Contents(keySet: 2), signers: [2, 3]) },
        {
            $0 == .missingKeySet(2)
        }),
    Attack(
        "a key set that skips a number",
        { try rotated($0, set: $0.keySet([2, 3, 4], number: 3), keySet: 3) }, { $0 == .missingKeySet(2) }),
    Attack(
        "a bundle of the replaced key set, after the new one was accepted", before: { try rotated($0) },
        { try $0.bundle(Contents(sequence: 2)) }, { $0 == .retiredKeySet(1, current: 2) }),
    Attack(
        "a threshold of 0", { try rotated($0, set: $0.keySet([2, 3], threshold: 0, number: 2)) }, malformed("threshold")
    ),
    Attack(
        "a threshold of more than all keys", { try rotated($0, set: $0.keySet([2, 3], threshold: 3, number: 2)) },
        malformed("threshold")),
    Attack(
        "a key that counts twice", { try rotated($0, set: $0.keySet([2, 2], number: 2)) }, malformed("a key twice")),
    Attack(
        "a key that counts twice, as a compressed point",
        { publisher in
            let set = publisher.keySet([1, 2, 3], number: 2)
                .replacingOccurrences(of: publisher.keys[3].base64, with: publisher.compressed(1))
            return try rotated(publisher, set: set)
        }, malformed("isn't Ed25519 or EC P-256")),
    Attack(
        "a number of a key set that only some readers of JSON read exactly",
        { try rotated($0, set: $0.keySet([2, 3, 4], number: (1 << 53) + 1)) }, malformed("\"number\"")),
    Attack(
        "17 keys in a key set",
        { publisher in
            let more = try (0..<15).map { _ in "\"\(Data(try TestKey(.p256).publicKeyDER).base64EncodedString())\"" }
            let set = publisher.keySet([2, 3], number: 2)
                .replacingOccurrences(of: "\"keys\": [", with: "\"keys\": [\(more.joined(separator: ", ")), ")
            return try rotated(publisher, set: set)
        }, malformed("17 keys")),
    Attack(
        "a key set for no application", { try rotated($0, set: $0.keySet([2, 3, 4], number: 2, audience: "")) },
        malformed("\"audience\" of the key set is empty")),
    Attack(
        "33 key sets",
        { publisher in
            let set = try publisher.signedKeySet(publisher.keySet([0]), signers: [])
            return try publisher.bundle(keySets: Array(repeating: set, count: 33))
        }, malformed("33 key sets")),

    // The file
    Attack(
        "10 MiB", { try $0.bundle() + String(repeating: " ", count: 10 << 20) },
        {
            $0 == .tooLarge(limit: 1 << 20)
        }),
    Attack("an empty file", { _ in "" }, isMalformed),
    Attack(
        "a member twice",
        { publisher in
            let text = Contents().text.replacingOccurrences(of: "\"keySet\"", with: "\"sequence\": 9, \"keySet\"")
            return "{\(try publisher.envelope(text, signers: [0, 1]))}"
        }, isMalformed),
    Attack(
        "an unknown member of the payload", { try $0.bundle(Contents(more: ", \"unlisted\": \"trust\"")) },
        malformed("unknown key \"unlisted\"")),
    Attack(
        "an unknown member of the bundle",
        { "{\"sequence\": 9, \(try $0.envelope(Contents().text, signers: [0, 1]))}" }, malformed("unknown key")),
    Attack(
        "an unknown version",
        { publisher in
            let text = Contents().text.replacingOccurrences(of: "\"version\": 1", with: "\"version\": 2")
            return "{\(try publisher.envelope(text, signers: [0, 1]))}"
        }, malformed("\"version\"")),
    Attack(
        "201 files",
        { publisher in
            let more = (1...200).map { ("\($0).json", Publisher.policy()) }
            let files = ["pins.json": Publisher.policy()].merging(more) { $1 }
            return try publisher.bundle(Contents(files: files))
        }, malformed("201 files")),
    Attack("no policy", { try $0.bundle(Contents(policy: "other.json")) }, malformed("other.json")),
    Attack(
        "an invalid policy", { try $0.bundle(Contents(files: ["pins.json": "{\"version\": 1, \"domains\": []}"])) },
        { if case .policy = $0 { true } else { false } }),
    Attack(
        "a policy that names a file of the machine",
        { publisher in
            let rule = "\"anchors\": {\"files\": [\"/etc/ssl/certs/ca-certificates.crt\"]}, \"host\""
            let policy = Publisher.policy().replacingOccurrences(of: "\"host\"", with: rule)
            return try publisher.bundle(Contents(files: ["pins.json": policy]))
        }, { if case .policy(let error) = $0 { "\(error)".contains("isn't in the bundle") } else { false } }),
]

struct PolicyBundleTests {
    private let publisher: Publisher

    init() throws { publisher = try Publisher() }

    private func trust(_ keySet: String? = nil, sequence: Int = 0) throws -> PolicyBundleTrust {
        PolicyBundleTrust(
            keySet: try PolicyKeySet(json: Array((keySet ?? publisher.keySet([0, 1, 2])).utf8)), sequence: sequence)
    }

    private func verify(_ bundle: String, by trust: PolicyBundleTrust? = nil, at time: Date = now) throws
        -> VerifiedPolicyBundle
    {
        try PolicyBundle(json: Array(bundle.utf8)).verified(by: trust ?? self.trust(), at: time)
    }

    @Test("A bundle that is hostile, stale or not signed by enough keys is refused (PU1)", arguments: attacks)
    private func refused(attack: Attack) throws {
        var trust = try trust(attack.keySet(publisher), sequence: attack.sequence)
        if let before = attack.before { trust = try verify(before(publisher), by: trust).trust }
        let bundle = try attack.bundle(publisher)
        let error = try #require(throws: PolicyBundleError.self) { try verify(bundle, by: trust) }
        #expect(attack.isExpected(error), "\(error)")
        // The reason is told with a remedy.
        #expect("\(error)".contains(": "))
    }

    @Test(
        "A bundle is accepted with the signatures of any two of three keys",
        arguments: [[0, 1], [1, 2], [2, 0], [0, 1, 2]])
    func accepted(signers: [Int]) throws {
        let verified = try verify(publisher.bundle(sequence: 3, signers: signers + [4]))
        #expect(verified.policy.rules.map(\.host.description) == ["host3.example"])
        #expect(verified.signers.map(\.description) == signers.sorted().map { publisher.keys[$0].name })
        #expect(verified.trust.sequence == 3)
        #expect(try verify(publisher.bundle(sequence: 4), by: verified.trust).trust.sequence == 4)
    }

    @Test("A bundle is valid from five minutes before its issue to the second before it expires")
    func times() throws {
        let bundle = try publisher.bundle(Contents(issued: now, expires: now + 60))
        for (offset, isValid) in [(-301.0, false), (-300, true), (0, true), (59, true), (60, false)] {
            let verified = try? verify(bundle, at: now + offset)
            #expect((verified != nil) == isValid, "\(offset)")
        }
    }

    @Test("The same bundle is accepted again, and key sets that were followed are skipped")
    func again() throws {
        let bundle = try rotated(publisher)
        let verified = try verify(bundle)
        #expect(verified.trust.keySet.number == 2)
        #expect(try verify(bundle, by: verified.trust).trust == verified.trust)
        // A program with the new key set doesn't need the old one.
        let set = publisher.keySet([2, 3, 4], number: 2)
        #expect(try verify(bundle, by: trust(set)).trust.keySet.number == 2)
    }

    @Test("A program that missed several key sets follows all of them")
    func severalKeySets() throws {
        let sets = try [
            publisher.signedKeySet(publisher.keySet([1, 2, 3], number: 2), signers: [1, 2]),
            publisher.signedKeySet(publisher.keySet([2, 3, 4], number: 3), signers: [2, 3]),
            publisher.signedKeySet(publisher.keySet([4], threshold: 1, number: 4), signers: [3, 4]),
        ]
        let bundle = try publisher.bundle(Contents(keySet: 4), signers: [4], keySets: sets)
        #expect(try verify(bundle).trust.keySet.keys.count == 1)
        #expect(throws: PolicyBundleError.missingKeySet(3)) {
            try verify(publisher.bundle(Contents(keySet: 4), signers: [4], keySets: [sets[0], sets[2]]))
        }
    }

    @Test("Every truncation and every changed byte of a bundle is refused (PU1)")
    func damaged() throws {
        let bytes = Array(try publisher.bundle().utf8)
        let trust = try trust()
        let digest = try PolicyBundle(json: bytes).verified(by: trust, at: now).policy.digest
        for count in 0..<bytes.count {
            #expect(throws: PolicyBundleError.self) {
                try PolicyBundle(json: Array(bytes[..<count])).verified(by: trust, at: now)
            }
        }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            // A change may leave two valid signatures over the same bytes, such as one of a blank.
            guard let verified = try? PolicyBundle(json: changed).verified(by: trust, at: now) else { continue }
            #expect(verified.policy.digest == digest)
        }
    }

    @Test("The files that a policy names are in the bundle, and no others are read")
    func files() throws {
        let directory = try TestDirectory()
        let root = try TestSite(isValidNow: true).root
        _ = try directory.add(root.pemText, name: "root.pem")
        let key = publisher.keys[0].key.publicKey
        _ = try directory.add(
            "{\"version\": 1, \"pins\": {\"key\": \"\(key.fingerprint)\"}}", name: "names.json")
        let path = try directory.add(
            """
            // The policy
            {"version": 1, "include": ["names.json"], "domains": [{"host": "a.example", "pins": ["key"],
              "anchors": {"files": ["root.pem"]}}]}
            """, name: "pins.jsonc")
        let set = try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2]).utf8))
        var bundle = try PolicyBundle(
            policyAt: path, sequence: 8, issued: now, expires: now + 60, keySet: set)
        #expect(throws: PolicyBundleError.self) { try bundle.verified(by: trust(), at: now) }
        for index in 0..<2 { try bundle.sign(with: publisher.keys[index].key) }
        let read = try PolicyBundle(json: bundle.json)
        let file = try PolicyFile(contentsOfFile: path)
        // Not one of the files is needed any more.
        for name in ["root.pem", "names.json", "pins.jsonc"] {
            try FileManager.default.removeItem(atPath: directory.path + "/" + name)
        }
        let verified = try read.verified(by: trust(), at: now)
        #expect(verified.policy.digest == file.policy.digest)
        #expect(verified.policy.rules[0].location?.description == "bundle 8 of com.example.app/pins.jsonc:2:55")
        #expect(Set(read.files.keys) == ["pins.jsonc", "names.json", "root.pem"])
    }

    @Test("A key verifies nothing in another encoding than the usual one")
    func encodings() throws {
        for index in [0, 1] {
            let der = publisher.keys[index].key.publicKey.derBytes
            #expect(try SubjectPublicKeyInfo(derBytes: der).signsMessages)
            // The number of unused bits, before the octets of the key.
            let bits = try #require(der.lastRange(of: index == 0 ? [0x03, 0x21, 0x00] : [0x03, 0x42, 0x00]))
            for unused in 1...7 {
                var other = der
                other[bits.upperBound - 1] = UInt8(unused)
                #expect((try? SubjectPublicKeyInfo(derBytes: other))?.signsMessages != true)
            }
        }
        let point = publisher.keys[1].key.publicKey.derBytes
        var hybrid = point
        hybrid[point.count - 65] = 6 + (point[point.count - 1] & 1)
        #expect(try !SubjectPublicKeyInfo(derBytes: hybrid).signsMessages)
        // Without its last octet, and with the lengths of that.
        var short = Array(point.dropLast())
        short[1] -= 1
        short[point.count - 67] -= 1
        #expect(try !SubjectPublicKeyInfo(derBytes: short).signsMessages)
    }

    @Test("An Ed25519 key for which anyone can make signatures is refused")
    func lowOrder() throws {
        let middle = String(repeating: "ff", count: 30)
        let encodings =
            [0, 1].map { "0\($0)" + String(repeating: "00", count: 31) }
            + ["ec", "ed", "ee"].map { $0 + middle + "7f" }
            + [
                "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
                "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            ]
        // A signature with R = A and S = 0 verifies if the hash of the message is right, one time in eight.
        let messages = (0..<200).map { Array("message \($0)".utf8) }
        for encoding in encodings {
            for sign: UInt8 in [0, 0x80] {
                var key = stride(from: 0, to: 64, by: 2).compactMap {
                    UInt8(encoding.dropFirst($0).prefix(2), radix: 16)
                }
                key[31] |= sign
                let info = try SubjectPublicKeyInfo(
                    derBytes: [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00] + key)
                #expect(!info.signsMessages)
                let identity: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
                let forged = identity + [UInt8](repeating: 0, count: 32)
                #expect(!messages.contains { info.verifies(forged, over: $0) })
            }
        }
    }

    @Test("A file with a private key isn't put into a bundle, which is public")
    func privateKey() throws {
        let directory = try TestDirectory()
        let root = try TestSite(isValidNow: true).root
        _ = try directory.add(root.pemText + root.key.privateKeyPEM, name: "root.pem")
        let path = try directory.add(
            Publisher.policy().replacingOccurrences(
                of: "\"host\"", with: "\"anchors\": {\"files\": [\"root.pem\"]}, \"host\""), name: "pins.json")
        let set = try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2]).utf8))
        #expect(try PolicyFile(contentsOfFile: path).policy.rules.count == 1)
        let error = try #require(throws: PolicyBundleError.self) {
            try PolicyBundle(policyAt: path, sequence: 1, issued: now, expires: now + 60, keySet: set)
        }
        #expect("\(error)".contains("root.pem: error: a bundle is public, but this file contains a private key"))
    }

    @Test("A bundle that programs would refuse because of its key sets isn't created")
    func tooManyKeySets() throws {
        let directory = try TestDirectory()
        let path = try directory.add(Publisher.policy(), name: "pins.json")
        func set(_ number: Int) throws -> PolicyKeySet {
            try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2], number: number).utf8))
        }
        var bundle = try PolicyBundle(policyAt: path, sequence: 1, issued: now, expires: now + 60, keySet: set(1))
        for number in 2...33 {
            bundle = try PolicyBundle(
                policyAt: path, sequence: number, issued: now, expires: now + 60, keySet: set(number), after: bundle)
        }
        #expect(throws: PolicyBundleError.malformed("it has 33 key sets, more than 32")) {
            try PolicyBundle(
                policyAt: path, sequence: 34, issued: now, expires: now + 60, keySet: set(34), after: bundle)
        }
    }

    @Test("A bundle isn't created for a key set that neither signed the bundle before nor is the next one (PU1)")
    func otherKeySet() throws {
        let directory = try TestDirectory()
        let path = try directory.add(Publisher.policy(), name: "pins.json")
        func bundle(_ number: Int, after previous: PolicyBundle? = nil) throws -> PolicyBundle {
            let set = try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2], number: number).utf8))
            return try PolicyBundle(
                policyAt: path, sequence: 2, issued: now, expires: now + 60, keySet: set, after: previous)
        }
        let previous = try bundle(3)
        for (number, count) in [(3, 0), (4, 1)] {
            #expect(try bundle(number, after: previous).keySets.count == count, "\(number)")
        }
        for number in [1, 2, 5, 6] {
            let error = PolicyBundleError.malformed(
                "the bundle before it is signed by key set 3, not by \(number) or the one before")
            #expect(throws: error, "\(number)") { try bundle(number, after: previous) }
        }
    }

    @Test("A bundle that is larger than programs accept isn't created")
    func createdSize() throws {
        let directory = try TestDirectory()
        let set = try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2]).utf8))
        func bundle(_ comment: Int) throws -> PolicyBundle {
            let path = try directory.add("//" + String(repeating: "x", count: comment) + "\n" + Publisher.policy())
            return try PolicyBundle(policyAt: path, sequence: 1, issued: now, expires: now + 60, keySet: set)
        }
        #expect(try PolicyBundle(json: bundle(500_000).json).sequence == 1)
        // Its payload isn't too large yet.
        #expect(throws: PolicyBundleError.tooLarge(limit: 1 << 20)) { try bundle(600_000) }
    }

    @Test("A signature of a bundle or of its new key set that isn't valid, or not of a known key, is named (PU8)")
    func invalidSigner() throws {
        let keys = publisher.keys.map(\.key.publicKey)
        func signer(_ text: String, among known: [Int]) throws -> SPKIFingerprint? {
            try PolicyBundle(json: Array(text.utf8)).invalidSigner(among: known.map { keys[$0] })
        }
        #expect(try signer(rotated(publisher), among: [0, 1, 2, 3]) == nil)
        #expect(try signer(rotated(publisher), among: [1, 2, 3]) == keys[0].fingerprint, "of the key set")
        #expect(try signer(rotated(publisher, signers: [0]), among: [0, 3]) == keys[2].fingerprint, "of the bundle")
        // Signatures that exist, under the names of known keys that didn't make them.
        func renamed(_ text: String, _ from: Int, _ to: Int) -> String {
            text.replacingOccurrences(of: publisher.keys[from].name, with: publisher.keys[to].name)
        }
        #expect(try signer(renamed(publisher.bundle(signers: [0, 1]), 0, 2), among: [0, 1, 2]) == keys[2].fingerprint)
        let rotation = try renamed(rotated(publisher, signers: [0, 1], bundleSigners: [2]), 1, 3)
        #expect(try signer(rotation, among: [0, 1, 2, 3]) == keys[3].fingerprint)
    }

    @Test("Keys sign a new key set and the bundle one after the other, each what it has to")
    func rotation() throws {
        let directory = try TestDirectory()
        let path = try directory.add(Publisher.policy(), name: "pins.json")
        let first = try PolicyKeySet(json: Array(publisher.keySet([0, 1, 2]).utf8))
        let second = try PolicyKeySet(json: Array(publisher.keySet([2, 3, 4], number: 2).utf8))
        let before = try PolicyBundle(policyAt: path, sequence: 1, issued: now, expires: now + 60, keySet: first)
        var bundle = try PolicyBundle(
            policyAt: path, sequence: 2, issued: now, expires: now + 60, keySet: second, after: before)
        for index in [0, 1, 2] { try bundle.sign(with: publisher.keys[index].key) }
        #expect(throws: PolicyBundleError.self) { try bundle.verified(by: trust(), at: now) }
        // The last key signs elsewhere.
        let last = publisher.keys[4].key
        for message in bundle.unsigned(by: last.publicKey) {
            #expect(!bundle.add(try last.sign(message + [0]), by: last.publicKey))
            #expect(bundle.add(try last.sign(message), by: last.publicKey))
        }
        #expect(bundle.unsigned(by: last.publicKey).isEmpty)
        let verified = try bundle.verified(by: trust(), at: now)
        #expect(verified.trust.keySet == second)
        #expect(verified.signers.count == 2)
        // The next bundle carries the key sets on.
        var next = try PolicyBundle(
            policyAt: path, sequence: 3, issued: now, expires: now + 60, keySet: second, after: bundle)
        for index in [2, 3] { try next.sign(with: publisher.keys[index].key) }
        #expect(try next.verified(by: trust(), at: now).trust.sequence == 3)
        #expect(try next.verified(by: verified.trust, at: now).trust.sequence == 3)
    }

    private static let hasValidator = (try? TestCommand.run(["python3", "-c", "import jsonschema"]).status) == 0

    @Test(
        "A JSON Schema validator accepts bundles, payloads and key sets, and rejects what isn't one",
        .enabled(if: hasValidator, "python3-jsonschema is not installed: no other validator reads the schema"))
    func schema() throws {
        let directory = try TestDirectory()
        let set = publisher.keySet([2, 3, 4], number: 2)
        let bundle = try rotated(publisher)
        let payload = Contents(more: ", \"rollout\": {\"share\": 10, \"until\": \"2026-09-22T00:00:00Z\"}").text
        let rows = [
            ("", bundle, true), ("payload", payload, true), ("keySet", set, true), ("", set, false),
            ("", bundle.replacingOccurrences(of: "\"sig\"", with: "\"signature\""), false),
            ("", bundle.replacingOccurrences(of: "policy-bundle.v1", with: "policy-bundle.v2"), false),
            ("payload", payload.replacingOccurrences(of: "\"sequence\": 1", with: "\"sequence\": 0"), false),
            ("payload", payload.replacingOccurrences(of: "\"share\": 10", with: "\"share\": 100"), false),
            ("keySet", publisher.keySet([2], threshold: 17, number: 2), false),
        ]
        let program = """
            import json, sys, jsonschema
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            if sys.argv[2]: schema = {"$ref": "#/$defs/" + sys.argv[2], "$defs": schema["$defs"]}
            sys.exit(0 if jsonschema.Draft202012Validator(schema).is_valid(json.load(open(sys.argv[3]))) else 3)
            """
        for (part, text, isValid) in rows {
            let file = try directory.add(text)
            let schema = Repository.root + "/pins/policy-bundle.schema.json"
            let result = try TestCommand.run(["python3", "-c", program, schema, part, file])
            #expect(result.status == (isValid ? 0 : 3), "\(part) \(text.prefix(80)): \(result.text)")
        }
    }
}
