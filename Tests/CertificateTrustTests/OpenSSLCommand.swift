import Foundation

/// The `openssl` command, as a witness.
enum OpenSSLCommand {
    static let isPresent = (try? run(["version"]).status) == 0

    struct Result {
        let status: Int32
        /// Standard output and standard error.
        let output: String
    }

    static func run(_ arguments: [String], input: String = "") throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let (standardInput, output) = (Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Result(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}

/// A folder of its own, gone with the last reference.
final class TemporaryFiles: Sendable {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("testpki-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func add(_ text: String) throws -> String {
        let file = folder.appendingPathComponent(UUID().uuidString)
        try Data(text.utf8).write(to: file)
        return file.path
    }
}
