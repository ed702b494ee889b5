import CertificateTrust
import PinctlBasics

/// The limits on the files that are read for one policy, and the use so far.
struct PolicyReadingBudget {
    /// The maximum number of files of keys and roots. A file counts each time it is named, because naming a large file
    /// costs only a few bytes.
    static let maximumNamedFiles = 1000
    /// The maximum number of included files, at any depth.
    static let maximumIncludedFiles = 100

    var namedFiles = 0
    /// The paths of the files that were included.
    var includedFiles: Set<String> = []
    /// The number of bytes that included files may still have. Together they may be as large as one policy file.
    var includedBytesLeft = JSONCReader.maximumSize
}

extension PolicyReader {
    /// Reads an included file for the names of its pins, and those of the files that it includes.
    mutating func include(_ value: JSONValue) {
        guard let name = value.string else { return }
        do throws(InclusionError) {
            let target = try target(of: name)
            // A file that is included twice defines the same names both times.
            guard budget.includedFiles.insert(target).inserted else { return }
            guard budget.includedFiles.count <= PolicyReadingBudget.maximumIncludedFiles else { throw .tooMany }
            // mutant include-outside: true by PolicyInclusionTests
            guard directory.isInside(target, directoryOf: path) else { throw .outside }
            let bytes: [UInt8]
            do throws(InputFileError) {
                bytes = try directory.contents(target, budget.includedBytesLeft)
            } catch {
                throw .unreadable(error)
            }
            budget.includedBytesLeft -= bytes.count
            readNames(ofFile: target, bytes, at: value)
        } catch {
            lacksNames = true
            problems.add("\(quoted(name)) \(error)", at: value.position)
        }
    }

    private func target(of name: String) throws(InclusionError) -> String {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).filter { $0 != "." }
        guard !parts.isEmpty, !parts.contains(""), !parts.contains("..") else { throw .outside }
        let target = resolved(parts.joined(separator: "/"))
        // mutant include-cycle: true by PolicyInclusionTests
        guard !ancestors.contains(target) else { throw .cycle }
        return target
    }

    private mutating func readNames(ofFile target: String, _ bytes: [UInt8], at value: JSONValue) {
        let document = JSONCReader.read(bytes, dialect: .init(ofFile: target))
        var found = PolicyProblems(path: target)
        found.add(document, of: bytes, keys: "\"version\" and \"pins\"")
        guard let root = document.root else {
            lacksNames = true
            return problems.add(included: found)
        }
        PolicySchema.included.check(root, "the included file", &found)
        // mutant include-settings: false by PolicyInclusionTests
        for member in root.members ?? [] where PolicySchema.unincluded.contains(member.key) {
            // If these keys were ignored, a denied key would be allowed, or a host would go unpinned.
            found.add(
                "\(quoted(member.key)) isn't allowed in an included file, which only defines names of pins: "
                    + "move it to the policy, or remove it", at: member.keyPosition, rule: .misplacedSetting)
        }
        var reader = PolicyReader(path: target, directory: directory, publicSuffixes: publicSuffixes, problems: found)
        reader.ancestors = ancestors + [target]
        reader.budget = budget
        reader.readNames(root)
        budget = reader.budget
        lacksNames = lacksNames || reader.lacksNames
        problems.add(included: reader.problems)
        included += [(target, root)] + reader.included
        for (name, pin) in reader.named.sorted(by: { $0.key < $1.key }) {
            if let known = named[name] {
                problems.add("\(pin.location): \(Self.taken(name, at: known.location))", at: value.position)
            } else {
                named[name] = pin
            }
        }
    }
}

/// The reason why a file can't be included. The message puts the file name in front of it.
private enum InclusionError: Error, CustomStringConvertible {
    case outside
    case cycle
    case tooMany
    case unreadable(InputFileError)

    var description: String {
        switch self {
        case .outside: "isn't below this file's directory: move it there, and write its path relative to this file"
        case .cycle: "includes this file in turn: move the pins that both need to a third file, and include that one"
        case .tooMany: "exceeds the limit of \(PolicyReadingBudget.maximumIncludedFiles) included files: merge some"
        case .unreadable(let error): "cannot be included: \(error)"
        }
    }
}
