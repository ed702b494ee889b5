/// The compiler that `swift build` runs.
struct SwiftCompiler {
    let path: String
    private let variables: [String: String]

    /// Finds it as SwiftPM does: SWIFT_EXEC, or else the one beside the program `swift`, or else the one in PATH.
    init(variables: [String: String]) throws(UsageError) {
        self.variables = variables
        let search = variables["PATH"] ?? ""
        if let named = variables["SWIFT_EXEC"], !named.isEmpty {
            guard let found = named.contains("/") ? absolutePath(named) : programPath(named, in: search) else {
                throw .unusable(["SWIFT_EXEC: \(named): no such program: unset it, or name a compiler"])
            }
            path = found
            return
        }
        var places: [String] = []
        if let swift = programPath("swift", in: search) {
            // A link such as /usr/bin/swift leads to the toolchain. A program that chooses one has its own swiftc.
            places = [absolutePath(swift), swift].compactMap { $0 }.map(parentDirectory)
        }
        guard let found = programPath("swiftc", in: (places + [search]).joined(separator: ":")) else {
            throw .unusable(["swiftc isn't in PATH: add the directory of the compiler that built the modules"])
        }
        path = found
    }

    /// Returns what `swiftc -version` prints.
    func version() throws(UsageError) -> String {
        do throws(ChildProcessError) {
            let process = try ChildProcess(
                path, ["-version"], environment: variables.map { "\($0.key)=\($0.value)" }, patience: .seconds(60))
            let (output, status) = try process.finish(limit: 1 << 16)
            guard status == 0 else { throw .ended }
            return String(decoding: output, as: UTF8.self)
        } catch {
            let reason =
                if case .failed(let reason) = error { "cannot be run: \(reason)" } else { "printed no version" }
            throw .unusable(["\(path) -version: \(reason): install a toolchain that works"])
        }
    }
}
