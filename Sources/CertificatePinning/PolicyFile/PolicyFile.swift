public import CertificateTrust
package import PinctlBasics

/// A policy file: the policy, and settings that only the file has.
public struct PolicyFile: Sendable {
    /// The policy.
    public let policy: PinningPolicy
    /// The path of the file, as given by the caller.
    public let path: String
    /// Files in other systems' dialects that are generated from this one. Empty in a bundle, which doesn't contain
    /// them.
    package internal(set) var exports: [PolicyExport]
    /// Earlier releases of the policy: `git:TAGGLOB:PATH`, or files.
    package let releases: [String]
    /// The file's values with their positions, including free keys.
    package let root: JSONValue
    /// The values of the files that this one includes, at any depth.
    let included: [(path: String, root: JSONValue)]
    /// The named pins of this file, without those of included files.
    let names: [String: Pin]
    /// Comments that allow lint findings.
    let allowances: [LintAllowance]
    /// The bundle that the policy was read from, if it was. Nothing in it is verified.
    package internal(set) var bundle: PolicyBundle?

    /// Reads a whole file: JSON with comments and trailing commas, or strict JSON if the name ends in `.json`.
    ///
    /// The keys are those of version 1. Files that the policy names are also read, relative to its directory. The
    /// ``PolicyFileError`` has every problem of the file.
    public init(contentsOfFile path: String, publicSuffixes: PublicSuffixes = .system) throws(PolicyFileError) {
        try self.init(bytes: Self.contents(ofFile: path), path: path, publicSuffixes: publicSuffixes)
    }

    /// Returns the contents of a file that has at most the size of a policy.
    package static func contents(ofFile path: String) throws(PolicyFileError) -> [UInt8] {
        do throws(InputFileError) {
            return try InputFile.contents(ofFile: path, limit: JSONCReader.maximumSize)
        } catch {
            throw PolicyFileError(problems: [
                PolicyProblem(location: PolicyLocation(path: path), message: error.description)
            ])
        }
    }

    /// Reads the contents of a file with this path.
    public init(
        bytes: [UInt8], path: String, publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyFileError) {
        try self.init(bytes: bytes, path: path, in: .current, publicSuffixes: publicSuffixes)
    }

    /// Reads the contents of a file, and the files that it names from `directory`. A file without rules that only names
    /// pins for other files counts as a policy only if `allowsNamesAlone` is true.
    package init(
        bytes: [UInt8], path: String, in directory: PolicyDirectory, publicSuffixes: PublicSuffixes = .system,
        allowsNamesAlone: Bool = false
    ) throws(PolicyFileError) {
        let document = JSONCReader.read(bytes, dialect: .init(ofFile: path))
        var problems = PolicyProblems(path: path)
        problems.add(document, of: bytes, keys: "\"version\" and \"domains\"")
        guard let root = document.root else { throw PolicyFileError(problems: problems.sorted) }
        guard root["payloadType"] == nil else {
            problems.add(
                "the file is a signed bundle: verify it with PolicyBundle, or use a PolicyUpdater", at: root.position)
            throw PolicyFileError(problems: problems.sorted)
        }
        let keys = (root.members ?? []).map(\.key)
        let holdsNamesAlone =
            root["pins"]?.members?.isEmpty == false
            && keys.allSatisfy(
                (["$schema", "version", "pins", "include"] + RootCalendar.keys + ProviderPools.keys).contains)
        let schema = allowsNamesAlone && holdsNamesAlone ? PolicySchema.included : PolicySchema.file
        schema.check(root, "the policy", &problems)
        var reader = PolicyReader(path: path, directory: directory, publicSuffixes: publicSuffixes, problems: problems)
        policy = reader.policy(root)
        guard reader.problems.isEmpty else { throw PolicyFileError(problems: reader.problems.sorted) }
        exports = (root["exports"]?.elements ?? []).compactMap { value in
            guard let target = value["to"]?.string, let file = value["file"]?.string else { return nil }
            return PolicyExport(
                target: target, file: resolvedPath(file, besides: path), host: value["host"]?.string,
                allowed: value["allow"]?.elements?.compactMap(\.string),
                location: PolicyLocation(path: path, value.position))
        }
        releases = (root["releases"]?.elements ?? []).compactMap(\.string)
        self.path = path
        self.root = root
        included = reader.included
        names = reader.named.compactMapValues { $0.location.path == path ? $0.pin : nil }
        allowances = LintAllowance.all(in: bytes)
    }
}

/// A file in another system's dialect that is compared with a policy.
package struct PolicyExport: Sendable, Hashable {
    /// The name of the dialect.
    package let target: String
    /// The path of the file, relative to the same directory as the policy's path.
    package let file: String
    /// The only host whose rule the file has, or `nil` for every rule.
    package let host: String?
    /// The names of the changes that its owner accepts, or `nil` if the policy lists none.
    package let allowed: [String]?
    package let location: PolicyLocation
}

extension PinningPolicy {
    /// Loads a policy file. See ``PolicyFile``.
    public init(contentsOfFile path: String) throws(PolicyFileError) {
        self = try PolicyFile(contentsOfFile: path).policy
    }
}

extension PolicyFile: CustomStringConvertible {
    /// The path.
    public var description: String { visibleText(path) }
}
