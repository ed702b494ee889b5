import FoundationEssentials

/// A folder that goes with the test.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/pinning-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ contents: some Collection<UInt8>, _ name: String) throws -> String {
        let file = path + "/" + name
        try Data(contents).write(to: URL(filePath: file))
        return file
    }
}
