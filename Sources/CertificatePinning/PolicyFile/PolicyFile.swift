public import CertificateTrust

/// A policy as it stands in a file: the policy, and what only the file has.
public struct PolicyFile: Sendable {
    /// What the file says.
    public let policy: PinningPolicy
    /// The file, as it was named.
    public let path: String
    /// Files in other systems' dialects that are made of this one.
    package let exports: [PolicyExport]
    /// What shipped before: `git:TAGGLOB:PATH`, or files.
    package let releases: [String]
    /// The file's values with their places, free keys included.
    package let root: JSONValue
    /// The pins that have names in this file, those of included files not among them.
    let names: [String: Pin]
    /// Comments that allow what lint finds.
    let allowances: [LintAllowance]

    /// Reads a file whole: JSON with comments and trailing commas, or strict JSON when the name ends in `.json`.
    ///
    /// The keys are those of version 1. Files that it names are read too, relative to its own folder. Every problem of
    /// the file is told in one ``PolicyFileError``.
    public init(contentsOfFile path: String, publicSuffixes: PublicSuffixes = .system) throws(PolicyFileError) {
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try InputFile.contents(ofFile: path, limit: JSONCReader.maximumSize)
        } catch {
            throw PolicyFileError(problems: [
                PolicyProblem(location: PolicyLocation(path: path), message: error.description)
            ])
        }
        try self.init(bytes: bytes, path: path, publicSuffixes: publicSuffixes)
    }

    /// Reads the contents of a file that is named `path`.
    public init(
        bytes: [UInt8], path: String, publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyFileError) {
        try self.init(bytes: bytes, path: path, in: .current, publicSuffixes: publicSuffixes)
    }

    /// The same with the files that it names read from `folder`. A file that gives names to pins for others to include,
    /// and has no rules, is a policy only where `allowsNamesAlone` says so.
    package init(
        bytes: [UInt8], path: String, in folder: PolicyFolder, publicSuffixes: PublicSuffixes = .system,
        allowsNamesAlone: Bool = false
    ) throws(PolicyFileError) {
        let document = JSONCReader.read(bytes, dialect: .init(ofFile: path))
        var problems = PolicyProblems(path: path)
        for problem in document.problems {
            // What does not end the reading is a key that stands twice.
            problems.add(problem.message, at: problem.position, rule: document.root == nil ? nil : .duplicate)
        }
        guard let root = document.root else { throw PolicyFileError(problems: problems.sorted) }
        let keys = (root.members ?? []).map(\.key)
        let holdsNamesAlone =
            root["pins"]?.members?.isEmpty == false
            && keys.allSatisfy(["$schema", "version", "pins", "include"].contains)
        let schema = allowsNamesAlone && holdsNamesAlone ? PolicySchema.included : PolicySchema.file
        schema.check(root, "the policy", &problems)
        var reader = PolicyReader(path: path, folder: folder, publicSuffixes: publicSuffixes, problems: problems)
        policy = reader.policy(root)
        guard reader.problems.isEmpty else { throw PolicyFileError(problems: reader.problems.sorted) }
        exports = (root["exports"]?.elements ?? []).compactMap { value in
            guard let target = value["to"]?.string, let file = value["file"]?.string else { return nil }
            return PolicyExport(
                target: target, file: resolvedPath(file, besides: path),
                allowed: value["allow"]?.elements?.compactMap(\.string),
                location: PolicyLocation(path: path, value.position))
        }
        releases = (root["releases"]?.elements ?? []).compactMap(\.string)
        self.path = path
        self.root = root
        names = reader.named.compactMapValues { $0.location.path == path ? $0.pin : nil }
        allowances = LintAllowance.all(in: bytes)
    }
}

/// A file in another system's dialect that a policy is held against.
package struct PolicyExport: Sendable, Hashable {
    /// The dialect, by its name.
    package let target: String
    /// Its path, from where the policy's path starts.
    package let file: String
    /// The names of the changes that its owner accepts; `nil` when the policy lists none.
    package let allowed: [String]?
    package let location: PolicyLocation
}

extension PinningPolicy {
    /// Loads a policy file; see ``PolicyFile``.
    public init(contentsOfFile path: String) throws(PolicyFileError) {
        self = try PolicyFile(contentsOfFile: path).policy
    }
}
