import CertificateTrust
import PinctlBasics

/// The modules and the library of PinnedNetworking that other programs are built with, as `tools/swift-prefix` builds
/// them. Modules are for one version of the compiler.
struct SwiftPrefix {
    let directory: String
    private var version = ""
    private var commit = ""
    private var compiler = ""
    private var target = ""
    private var files: [(path: String, digest: String)] = []

    /// Reads the manifest of a directory. Its lines are a word and a value, and for files a digest before the path.
    init(at directory: String) throws(UsageError) {
        self.directory = directory
        let path = directory + "/manifest"
        let text: String
        do throws(InputFileError) {
            text = String(decoding: try InputFile.contents(ofFile: path, limit: 1 << 20), as: UTF8.self)
        } catch {
            throw .unusable(["\(path): \(error)"])
        }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { throw Self.damaged(path) }
            switch words[0] {
            case "pinctl": version = words[1]
            case "commit": commit = words[1]
            case "compiler": compiler = words[1]
            case "target": target = words[1]
            case "file":
                let file = words[1].split(separator: " ", maxSplits: 1).map(String.init)
                guard file.count == 2 else { throw Self.damaged(path) }
                files.append((file[1], file[0]))
            default: throw Self.damaged(path)
            }
        }
        guard ![version, compiler, target].contains("") else { throw Self.damaged(path) }
    }

    private static func damaged(_ path: String) -> UsageError {
        .unusable(["\(path): isn't a manifest of tools/swift-prefix: build the modules again"])
    }

    /// Requires the modules to be of this version of pinctl. `commit` is that of the program, or 0 if it isn't known.
    func requireVersion(commit: UInt64) throws(UsageError) {
        // mutant prefix-version: true by SwiftFlagsTests/otherVersion
        guard version == Version.current else {
            throw .unusable([
                "\(directory) is of pinctl \(version), and this is \(Version.current): install both from one release, "
                    + "or run tools/swift-prefix"
            ])
        }
        // mutant prefix-commit: true by SwiftFlagsTests/otherVersion
        guard commit == 0 || self.commit.isEmpty || UInt64(self.commit, radix: 16) == commit else {
            throw .unusable([
                "\(directory) was built from other sources than this pinctl (commit \(self.commit)): install both from "
                    + "one release, or run tools/swift-prefix"
            ])
        }
    }

    /// Requires the compiler to be the one that built the modules. `answer` is what `swiftc -version` prints.
    func requireCompiler(_ answer: String, at path: String) throws(UsageError) {
        let lines = answer.split(whereSeparator: \.isNewline).map(String.init)
        let foundTarget = lines.first { $0.hasPrefix("Target: ") }?.dropFirst("Target: ".count) ?? ""
        let found = (lines.first ?? "", String(foundTarget))
        // mutant prefix-compiler: true by SwiftFlagsTests/otherCompiler
        guard found == (compiler, target) else {
            throw .unusable([
                "\(path) is \(quoted(found.0)) for \(found.1), and the modules in \(directory) are for "
                    + "\(quoted(compiler)) for \(target): use that compiler, or build the modules with this one "
                    + "(tools/swift-prefix)"
            ])
        }
    }

    /// Requires the files of a configuration to be those of the manifest.
    func requireFiles(_ configuration: String) throws(UsageError) {
        let wanted = files.filter { $0.path.hasPrefix(configuration + "/") }
        // mutant prefix-configuration: true by SwiftFlagsTests/files
        guard wanted.contains(where: { $0.path == Self.library(configuration) }) else {
            throw .unusable([
                "\(directory) has no modules for \(configuration) builds: run tools/swift-prefix --configuration "
                    + configuration
            ])
        }
        for file in wanted {
            let path = "\(directory)/\(file.path)"
            let bytes: [UInt8]
            do throws(InputFileError) {
                bytes = try InputFile.contents(ofFile: path, limit: 1 << 30)
            } catch {
                throw .unusable(["\(path): \(error)"])
            }
            // mutant prefix-digest: true by SwiftFlagsTests/files
            guard Hexadecimal.encode(sha256Digest(bytes.span)) == file.digest else {
                throw .unusable([
                    "\(path): was changed since the modules were built: install pinctl again, or run "
                        + "tools/swift-prefix"
                ])
            }
        }
    }

    /// Returns the flags of `swift build` for a configuration. A shell splits them at blanks and interprets patterns.
    func flags(_ configuration: String, isStatic: Bool) throws(UsageError) -> [String] {
        // mutant prefix-path: true by SwiftFlagsTests/path
        guard directory.allSatisfy({ $0.isLetter || $0.isNumber || "/._+-@%:,=".contains($0) }) else {
            throw .unusable([
                "\(directory): the shell would split or change this path in $(pinctl swift-flags): move the directory "
                    + "to a path of letters and digits"
            ])
        }
        let compiled = [
            "-module-alias", "FoundationNetworking=PinnedNetworking", "-I", "\(directory)/\(configuration)/modules",
        ]
        let library = "\(directory)/\(Self.library(configuration))"
        let systems = ["-lssl", "-lcrypto"]
        // The linker takes from a static library what it needs so far, and this one is the last to need something.
        let linked =
            isStatic
            ? ["--start-group", library] + Self.staticLibraries.map { "-l\($0)" } + ["--end-group"] + systems
                + ["-lstdc++", "-lm"]
            : [library] + systems + ["-lswiftSynchronization"]
        return ["--configuration", configuration] + (isStatic ? [Flag.staticLibrary.dashed] : [])
            + compiled.flatMap { ["-Xswiftc", $0] } + linked.flatMap { ["-Xlinker", $0] }
    }

    /// The toolchain's static libraries that it needs.
    private static let staticLibraries = [
        "Foundation", "FoundationEssentials", "FoundationInternationalization", "CoreFoundation", "_FoundationICU",
        "_FoundationCShims", "_FoundationCollections", "dispatch", "BlocksRuntime", "swiftCore", "swiftDispatch",
        "swiftGlibc", "swiftSynchronization", "swift_Concurrency", "swift_RegexParser", "swift_StringProcessing",
    ]

    private static func library(_ configuration: String) -> String { "\(configuration)/libPinnedNetworking.a" }

    /// The line that is printed in place of the flags. `swift build` doesn't know it and fails. A shell starts it even
    /// if this command failed, and a build without flags uses FoundationNetworking.
    static let refusal = "--pinctl-swift-flags-failed"

    /// Returns whether a shell takes what is printed for the flags of `swift build`.
    static func isForShell(_ words: [String], _ format: Console.Format) -> Bool {
        words.first == CommandDefinition.swiftFlags.name && format == .text
            && !words.contains(Flag.checkLinked.dashed)
    }
}
