import CertificateTrust
import PinctlBasics

extension CommandDefinition {
    static let swiftFlags = CommandDefinition(
        name: "swift-flags", summary: "print the flags that pin a Swift program and its dependencies",
        operands: "[BINARY…]", operandCount: 0...Int.max,
        flags: [.configuration, .staticLibrary, .prefix, .checkLinked],
        notes: [
            "With these flags, swift build compiles a package and its dependencies, unchanged, with",
            "PinnedNetworking wherever their sources import FoundationNetworking. Give them to every swift build,",
            "swift run and swift test of the package, because a build without them uses FoundationNetworking again.",
            "",
            "    swift build $(pinctl swift-flags)",
            "",
            "The modules are for one version of the compiler. The command fails if the compiler of swift build",
            "(SWIFT_EXEC, or the one beside swift in PATH) is another one, if the modules are of another version of",
            "pinctl, or if one of their files is missing or was changed. It then prints a flag that lets swift",
            "build fail too, because a shell runs it nevertheless.",
            "",
            "With --check, each BINARY is read with the libraries that the loader finds for it. It may be stripped or",
            "linked statically. What a program loads later (dlopen) isn't seen.",
        ],
        examples: [
            ("Print the flags of a release build", "pinctl swift-flags --configuration release"),
            (
                "Check that no dependency uses FoundationNetworking",
                "pinctl swift-flags --check .build/release/server"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let variables = environment.variables()
            if arguments.has(.checkLinked) {
                guard !arguments.operands.isEmpty else { throw .missingOperand(arguments.command) }
                for path in arguments.operands { checkLinked(path, variables, &console) }
                return
            }
            if let operand = arguments.operands.first {
                throw .invalidOperand(operand, reason: "only --check reads programs: add it, or leave the operand out")
            }
            let configuration = arguments[.configuration] ?? "debug"
            let known = Flag.configuration.choices
            guard known.contains(configuration) else {
                throw .unknownChoice(.configuration, configuration, known: known)
            }
            let prefix = try SwiftPrefix(at: prefixDirectory(arguments))
            try prefix.requireVersion(commit: environment.commit)
            let flags = try prefix.flags(configuration, isStatic: arguments.has(.staticLibrary))
            let compiler = try SwiftCompiler(variables: variables)
            try prefix.requireCompiler(try compiler.version(), at: compiler.path)
            try prefix.requireFiles(configuration)
            // A line for the shell isn't folded.
            console.columns = nil
            console.result(
                [flags.joined(separator: " ")],
                ["flags": .array(flags.map(JSON.string)), "compiler": .string(compiler.path)])
        })

    /// Returns the absolute path of the directory with the modules.
    private static func prefixDirectory(_ arguments: Arguments) throws(UsageError) -> String {
        if let path = arguments[.prefix] {
            guard case .directory = FileKind(path) else {
                throw .invalidValue(.prefix, reason: "\(path): no such directory")
            }
            return absolutePath(path) ?? path
        }
        guard let manifest = installedFile("swift/manifest", inBuild: ""), let path = absolutePath(manifest) else {
            throw .unusable([
                "the modules of PinnedNetworking aren't beside pinctl: install the package pinctl-swift, run "
                    + "tools/swift-prefix in a clone, or name their directory with --prefix"
            ])
        }
        return String(path.dropLast("/manifest".count))
    }

    private static func checkLinked(_ path: String, _ variables: [String: String], _ console: inout Console) {
        let program: LinkedProgram
        do throws(LinkError) {
            program = try LinkedProgram(path, variables: variables)
        } catch {
            console.problem("\(error)", .badInput, members: [("file", .string(path))])
            return
        }
        let (other, own) = (program.modules["FoundationNetworking"]?.first, program.modules["PinnedNetworking"]?.first)
        var reasons: [String] = []
        if let other {
            let place = other == path ? "contains FoundationNetworking" : "links FoundationNetworking (\(other))"
            reasons.append("\(place): build it and its dependencies with $(pinctl swift-flags)")
        }
        if own == nil {
            reasons.append("doesn't contain PinnedNetworking: nothing in it is pinned by PinnedNetworking")
        }
        // mutant check-linked: Severity.ok for `reasons.isEmpty ? Severity.ok : .failed` by LinkedProgramTests/check
        let severity = reasons.isEmpty ? Severity.ok : .failed
        let lines = reasons.isEmpty ? ["contains PinnedNetworking, and doesn't link FoundationNetworking"] : reasons
        console.result(
            lines.map { "\(padded(severity.mark, 4))  \(path)  \($0)" },
            [
                "file": .string(path), "verdict": .string(severity.rawValue),
                "pinned_networking": own.map(JSON.string) ?? .null,
                "foundation_networking": other.map(JSON.string) ?? .null,
            ], severity.exitCode)
    }
}
