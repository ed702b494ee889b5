package import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// A signed policy that a program can receive while it runs, as one file.
///
/// It contains the policy file and every file that it names, unchanged. Nothing in it is trusted before
/// ``verified(by:at:)`` has returned.
public struct PolicyBundle: Sendable {
    /// The application that the bundle is for.
    public let audience: String
    /// The sequence number, from 1. A client never accepts a lower one than it had.
    public let sequence: Int
    /// The time from which the bundle is valid.
    public let issued: Date
    /// The time from which the bundle isn't valid any more.
    public let expires: Date
    /// The number of the key set that has to sign the bundle.
    public let keySetNumber: Int
    /// The stage before the bundle is in force everywhere, if there is one.
    public let rollout: PolicyRollout?
    /// The path of the policy among the files in the bundle.
    public let policyPath: String

    /// The files in the bundle by their paths.
    let files: [String: [UInt8]]
    /// The signed key sets that lead to the one that signs the bundle, in order of their numbers.
    var keySets: [SignedDocument]
    var document: SignedDocument

    /// The maximum size of a bundle in bytes: 1 MiB.
    public static let maximumSize = 1 << 20
    /// The maximum number of key sets that a bundle carries.
    static let maximumKeySets = 32
    /// The maximum sequence number, and number of a key set: the largest integer that all readers of JSON read exactly
    /// (RFC 8259, section 6).
    static let maximumNumber = 1 << 53 - 1
    /// The maximum number of files in a bundle.
    static let maximumFiles = 200
    /// The longest time from `issued` to `expires`: 400 days. An attacker who withholds bundles gains no more.
    package static let maximumLifetime = 400.0 * 86_400
    /// The type of the signed document.
    static let type = "application/vnd.pinctl.policy-bundle.v1+json"

    static let shape = PolicyShape.object(
        SignedDocument.keys + [PolicyKey("keySets", .array(of: .object(SignedDocument.keys)))])

    private static let payloadShape = PolicyShape.object([
        PolicyKey("version", .number(1...1), isRequired: true),
        PolicyKey("audience", .string, isRequired: true),
        PolicyKey("sequence", .number(1...maximumNumber), isRequired: true),
        PolicyKey("issued", .string, isRequired: true),
        PolicyKey("expires", .string, isRequired: true),
        PolicyKey("keySet", .number(1...maximumNumber), isRequired: true),
        PolicyKey("rollout", PolicyRollout.shape),
        PolicyKey("policy", .string, isRequired: true),
        PolicyKey("files", .map(to: .string), isRequired: true),
    ])

    /// Reads a bundle of at most ``maximumSize`` bytes. Its signatures and its policy aren't checked.
    public init(json: [UInt8]) throws(PolicyBundleError) {
        let root = try bundleJSON(json, Self.shape, "the bundle")
        try self.init(
            SignedDocument(root, type: Self.type),
            keySets: (root["keySets"]?.elements ?? []).map { value throws(PolicyBundleError) in
                try SignedDocument(value, type: PolicyKeySet.type)
            })
    }

    init(_ document: SignedDocument, keySets: [SignedDocument]) throws(PolicyBundleError) {
        // mutant key-set-count: true by PolicyBundleTests
        guard keySets.count <= Self.maximumKeySets else {
            throw .malformed("it has \(keySets.count) key sets, more than \(Self.maximumKeySets)")
        }
        let payload = try bundleJSON(document.payload, Self.payloadShape, "the payload")
        guard let audience = payload["audience"]?.string, let sequence = payload["sequence"]?.integer,
            let keySet = payload["keySet"]?.integer, let policy = payload["policy"]?.string
        else { throw .malformed("the payload lacks a member") }
        guard let issued = payload["issued"]?.string.flatMap({ Date(rfc3339: $0) }),
            let expires = payload["expires"]?.string.flatMap({ Date(rfc3339: $0) })
        else { throw .malformed("\"issued\" and \"expires\" must be times such as 2026-11-20T18:48:48Z") }
        // mutant bundle-lifetime: true for 2 by PolicyBundleTests
        guard issued < expires, expires.timeIntervalSince(issued) <= Self.maximumLifetime else {
            throw .malformed("\"expires\" must be later than \"issued\", by at most 400 days")
        }
        rollout = payload["rollout"].flatMap { PolicyRollout($0) }
        if payload["rollout"] != nil, rollout.map({ $0.until > issued && $0.until < expires }) != true {
            throw .malformed("\"until\" of \"rollout\" must be a time between \"issued\" and \"expires\"")
        }
        let members = payload["files"]?.members ?? []
        // mutant bundle-file-count: true by PolicyBundleTests/refused
        guard members.count <= Self.maximumFiles else {
            throw .malformed("it has \(members.count) files, more than \(Self.maximumFiles)")
        }
        var files: [String: [UInt8]] = [:]
        for member in members {
            guard let bytes = member.value.string.flatMap({ Base64.decodeCanonical(Array($0.utf8)) }) else {
                throw .malformed("the file \(quoted(member.key)) isn't Base64")
            }
            files[member.key] = bytes
        }
        guard files[policy] != nil else { throw .malformed("the file \(quoted(policy)) is missing") }
        self.audience = audience
        self.sequence = sequence
        self.issued = issued
        self.expires = expires
        keySetNumber = keySet
        policyPath = policy
        self.files = files
        self.keySets = keySets
        self.document = document
    }

    /// Returns whether a text looks like a bundle.
    package static func isRecognized(in bytes: [UInt8]) -> Bool {
        bytes.count <= maximumSize && bytes.first { $0 > 0x20 } == UInt8(ascii: "{")
            && bytes.firstRange(of: type, from: 0) != nil
    }

    /// Whether the bundle contains key sets, beyond the one that the program was built with.
    package var hasKeySets: Bool { !keySets.isEmpty }

    /// The number of the first key set in the bundle, or `nil` if it contains none.
    package var firstKeySetNumber: Int? { keySets.first.flatMap { try? PolicyKeySet(json: $0.payload).number } }

    /// The last key set in the bundle, which may not be signed. `nil` if there is none, or it is malformed.
    package var claimedKeySet: PolicyKeySet? { keySets.last.flatMap { try? PolicyKeySet(json: $0.payload) } }

    /// Reads the policy in the bundle, with the files in it. No other file is read, except for the system's trust store
    /// if a rule names it. In messages, the files are located in `directory`, if it is given.
    package func policyFile(in directory: String? = nil) throws(PolicyFileError) -> PolicyFile {
        let prefix = directory.map { $0 + "/" } ?? ""
        return try PolicyFile(
            bytes: files[policyPath] ?? [], path: prefix + policyPath, in: self.directory(besides: prefix + policyPath))
    }

    /// The certificates in the files of the bundle, such as anchors.
    package var certificates: [X509Certificate] {
        files.values.flatMap { (try? CertificateFile.read($0, name: policyPath)) ?? [] }
    }

    /// The files in the bundle, with the names that they have beside a policy at this path.
    func directory(besides path: String) -> PolicyDirectory {
        let prefix = path.dropLast(policyPath.count)
        // The bundle is smaller than every limit for a file.
        return PolicyDirectory(kept: { path, _ throws(InputFileError) in
            let name = path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path
            // mutant bundle-files: files[name] ?? (try? InputFile.contents(ofFile: path, limit: limit)) by
            //   PolicyBundleTests
            guard let bytes = files[PolicyDirectory.resolvingDots(in: name) ?? name] else {
                throw InputFileError(path: path, reason: .unavailable("isn't in the bundle: create the bundle again"))
            }
            return bytes
        })
    }

    /// The file.
    package var json: [UInt8] {
        let sets = keySets.map { JSON.object($0.members) }
        let object = JSON.object(document.members + (sets.isEmpty ? [] : [("keySets", .array(sets))]))
        return Array((object.lines() + "\n").utf8)
    }
}

extension PolicyFile {
    /// Reads the contents of a policy file, or of a bundle as if it were a directory with the policy in it. No
    /// signature is verified, so this is for tools and not for programs that pin.
    package static func reading(
        _ bytes: [UInt8], path: String, in directory: PolicyDirectory = .current, allowsNamesAlone: Bool = false
    ) throws(PolicyFileError) -> PolicyFile {
        guard PolicyBundle.isRecognized(in: bytes) else {
            return try PolicyFile(bytes: bytes, path: path, in: directory, allowsNamesAlone: allowsNamesAlone)
        }
        let bundle: PolicyBundle
        do throws(PolicyBundleError) {
            bundle = try PolicyBundle(json: bytes)
        } catch {
            throw PolicyFileError(problems: [
                PolicyProblem(location: PolicyLocation(path: path), message: error.description)
            ])
        }
        var file = try bundle.policyFile(in: path)
        file.bundle = bundle
        file.exports = []
        return file
    }

    /// The notes for a command that uses a policy in a bundle: that nothing was verified, and that the files that the
    /// policy exports aren't in the bundle. Empty for another policy.
    package var bundleNotes: [String] {
        guard let bundle else { return [] }
        let path = visibleText(String(path.dropLast(bundle.policyPath.count + 1)))
        let exported = root["exports"]?.elements?.isEmpty == false
        return [
            "\(path): the signatures of this bundle weren't verified: verify them with pinctl verify \(path) --keys "
                + "KEYSET"
        ]
            + (exported
                ? [
                    "\(path): the files that its policy exports aren't in the bundle, so they weren't checked: check "
                        + "the policy that it was made from"
                ]
                : [])
    }
}
