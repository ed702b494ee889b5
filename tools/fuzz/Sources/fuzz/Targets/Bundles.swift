import FoundationEssentials
import PinctlTestPKI

@testable import CertificatePinning
@testable import CertificateTrust
@testable import PinctlBasics

extension FuzzTarget {
    /// Signed policies and key sets, built from a script, or any bytes behind a zero. One is accepted exactly if enough
    /// of the right keys signed it for this application, at this time, and not before another.
    static let bundles = FuzzTarget(name: "bundles") { bytes in
        guard let first = bytes.first, first != 0 else { return read(Array(bytes.dropFirst())) }
        var script = Script(bytes)
        let publisher = BundlePublisher.shared
        let trusted = publisher.keySet(&script, number: 1 + script.number(below: 3))
        guard let current = try? PolicyKeySet(json: Array(trusted.json.utf8)) else { return }
        let highest = script.number(below: 4)
        let sequence = script.number(below: 4)
        let isSame = script.isChosen()
        let audience = script.number(below: 16) == 15 ? "other" : "app"
        let number = trusted.number + script.number(below: 4) - 1
        let times = script.number(below: 8)

        var sets: [(BundlePublisher.SignedSet, SignedDocument)] = []
        for _ in 0..<script.number(below: 4) {
            let set = publisher.keySet(&script, number: trusted.number + script.number(below: 5) - 1)
            sets.append(publisher.sign(set, &script))
        }
        let payload = publisher.payload(
            audience: audience, sequence: sequence, keySet: number, isRolledOut: script.isChosen())
        let (signers, document) = publisher.sign(payload, type: PolicyBundle.type, &script)
        guard let bundle = try? PolicyBundle(document, keySets: sets.map(\.1)) else {
            return precondition(sequence == 0 || number < 1, "a bundle that is in order was refused")
        }
        let old = isSame ? document.payload : Array("another".utf8)
        let trust = PolicyBundleTrust(
            keySet: current, sequence: highest, payload: script.isChosen() ? old : nil)
        let now = BundlePublisher.issued + [0, -300, -301, 1, 3_600, 86_399, 86_400, .infinity][times]

        var expected = trusted
        var isFollowed = true
        for (set, _) in sets where isFollowed && set.set.number > expected.number {
            isFollowed =
                set.isReadable && set.set.number == expected.number + 1 && set.set.audience == expected.audience
                && expected.isMet(by: set.signers) && set.set.isMet(by: set.signers)
            if isFollowed { expected = set.set }
        }
        // A set that can't be read ends everything, wherever it is.
        let isInOrder = sets.allSatisfy(\.0.isReadable)
        let isValid =
            isFollowed && isInOrder && number == expected.number && expected.isMet(by: signers)
            && audience == expected.audience && sequence >= highest
            && !(sequence == highest && trust.payload.map { $0 != document.payload } ?? false)
            && now >= BundlePublisher.issued - 300 && now < BundlePublisher.issued + 86_400
        do throws(PolicyBundleError) {
            let verified = try bundle.verified(by: trust, at: now)
            precondition(isValid, "accepted, against the rules")
            precondition(verified.trust.sequence == sequence && verified.trust.keySet.number == expected.number)
            precondition(!verified.policy.rules.isEmpty)
        } catch {
            precondition(!isValid, "refused, though it is in order: \(error)")
        }
        guard let again = try? PolicyBundle(json: bundle.json) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again.document == bundle.document && again.keySets == bundle.keySets)
    }

    /// Any bytes, which nobody signed.
    private static func read(_ bytes: [UInt8]) {
        if let set = try? PolicyKeySet(json: bytes) {
            precondition((try? PolicyKeySet(json: set.json)) == set, "a key set that isn't read as written")
        }
        guard let bundle = try? PolicyBundle(json: bytes) else { return }
        precondition(PolicyBundle.isRecognized(in: bundle.json))
        guard let again = try? PolicyBundle(json: bundle.json) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again.document == bundle.document && again.keySets == bundle.keySets)
        _ = try? bundle.policyFile()
        precondition((try? bundle.verifiedAtAnyTime(by: BundlePublisher.shared.trust)) == nil, "nobody signed it")
    }
}

/// An owner of keys who signs anything with any of them.
private struct BundlePublisher: Sendable {
    struct Set: Sendable {
        let audience: String
        let number: Int
        let threshold: Int
        /// The positions of the keys.
        let keys: [Int]
        let json: String

        func isMet(by signers: Swift.Set<Int>) -> Bool { signers.intersection(keys).count >= threshold }
    }

    struct SignedSet {
        let set: Set
        let signers: Swift.Set<Int>
        let isReadable: Bool
    }

    static let issued = Date(timeIntervalSince1970: 1_790_000_000)

    private let keys: [MessageSigningKey]
    private let signatures = Locked<[SignedPayload: [UInt8]]>([:])
    let trust: PolicyBundleTrust

    private struct SignedPayload: Hashable {
        let key: Int
        let bytes: [UInt8]
    }

    static let shared: BundlePublisher = {
        do { return try BundlePublisher() } catch { preconditionFailure("no keys: \(error)") }
    }()

    private init() throws {
        keys = try [TestKey.Kind.ed25519, .p256, .ed25519, .ed25519].map { kind in
            try MessageSigningKey(pem: Array(try TestKey(kind).privateKeyPEM.utf8), password: nil)
        }
        let text = Self.text(audience: "app", number: 1, threshold: 1, keys.map(\.publicKey))
        trust = PolicyBundleTrust(keySet: try PolicyKeySet(json: Array(text.utf8)))
    }

    private static func text(
        audience: String, number: Int, threshold: Int, _ keys: [SubjectPublicKeyInfo]
    ) -> String {
        let keys = keys.map { "\"\(TestPEM.base64($0.derBytes))\"" }.joined(separator: ",")
        return """
            {"version":1,"audience":"\(audience)","number":\(number),"threshold":\(threshold),"keys":[\(keys)]}
            """
    }

    func keySet(_ script: inout Script, number: Int) -> Set {
        let members = script.subset(of: Array(keys.indices))
        let threshold = 1 + script.number(below: 3)
        let audience = script.number(below: 16) == 15 ? "other" : "app"
        return Set(
            audience: audience, number: number, threshold: threshold, keys: members,
            json: Self.text(
                audience: audience, number: number, threshold: threshold, members.map { keys[$0].publicKey }))
    }

    func sign(_ set: Set, _ script: inout Script) -> (SignedSet, SignedDocument) {
        let payload = Array(set.json.utf8)
        let (signers, document) = sign(payload, type: PolicyKeySet.type, &script)
        let isReadable = (try? PolicyKeySet(json: payload)) != nil
        precondition(
            isReadable == (set.number > 0 && set.threshold <= set.keys.count && !set.keys.isEmpty),
            "another opinion of a key set: \(set.json)")
        return (SignedSet(set: set, signers: signers, isReadable: isReadable), document)
    }

    /// Signs with some keys, and spoils some of the signatures. Returns the keys with an intact one.
    func sign(_ payload: [UInt8], type: String, _ script: inout Script) -> (Swift.Set<Int>, SignedDocument) {
        var signers: Swift.Set<Int> = []
        var document = SignedDocument(type: type, payload: payload)
        for _ in 0..<script.number(below: 6) {
            let key = script.number(below: keys.count)
            let spoiling = script.number(below: 8)
            let message = spoiling == 1 ? SignedDocument(type: "t", payload: payload).signedBytes : document.signedBytes
            var signature = signature(of: message, by: key)
            if spoiling == 2 { signature[signature.count - 1] ^= 1 }
            if spoiling == 3 { signature.removeLast() }
            let claimed = spoiling == 4 ? (key + 1) % keys.count : key
            document.signatures.append(
                SignedDocument.Signature(key: keys[claimed].publicKey.fingerprint, bytes: signature))
            if spoiling == 0 || spoiling > 4 { signers.insert(key) }
        }
        return (signers, document)
    }

    func payload(audience: String, sequence: Int, keySet: Int, isRolledOut: Bool) -> [UInt8] {
        let rollout = isRolledOut ? #""rollout":{"share":10,"until":"2026-09-21T19:33:20Z"},"# : ""
        return Array(
            """
            {"version":1,"audience":"\(audience)","sequence":\(sequence),"issued":"\(Self.issued.rfc3339)",\
            "expires":"\((Self.issued + 86_400).rfc3339)","keySet":\(keySet),\(rollout)"policy":"p",\
            "files":{"p":"\(TestPEM.base64(Self.policy))"}}
            """.utf8)
    }

    private static let policy = Array(
        """
        {"version":1,"domains":[{"host":"a.test","pins":["sha256/\(String(repeating: "A", count: 43))="]}]}
        """.utf8)

    /// The scripts have few messages, so each is signed once.
    private func signature(of message: [UInt8], by key: Int) -> [UInt8] {
        signatures.withLock { signatures in
            let signed = SignedPayload(key: key, bytes: message)
            if let known = signatures[signed] { return known }
            guard let signature = try? keys[key].sign(message) else { preconditionFailure("a key can't sign") }
            if signatures.count >= 4096 { signatures.removeAll() }
            signatures[signed] = signature
            return signature
        }
    }
}
