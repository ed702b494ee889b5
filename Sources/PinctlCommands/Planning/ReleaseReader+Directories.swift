import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension ReleaseReader {
    /// The limits on a directory: far more than any directory of releases has.
    private static let maximumFiles = 20_000
    private static let maximumDepth = 16

    static func isDirectory(_ path: String) -> Bool {
        var isDirectory = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
    }

    /// Adds the releases in a directory and its subdirectories.
    mutating func readDirectory(_ directory: String, _ console: inout Console) throws(UsageError) {
        let before = unread.count
        var files: [String] = []
        try collect(directory, in: directory, depth: 0, &files, &console)
        var count = 0
        for path in files {
            do throws(UsageError) {
                let bytes = try DialectInput.contents(path)
                let name = path.split(separator: "/").last.map(String.init) ?? path
                switch DirectoryFile(bytes, name: name) {
                case .release:
                    count += 1
                    try append(path, path, bytes, &console)
                case .irrelevant: irrelevant.append(path)
                case .unread(let reason): throw .unusable(["\(path): \(reason)"])
                }
            } catch {
                report(error.messages, directory, [path], &console)
            }
        }
        guard count > 0 || unread.count > before else {
            throw .unusable(["\(directory): none of its files is in a recognized dialect: name files with pins"])
        }
    }

    /// Lists the files of a directory in order. A link to a directory isn't followed, since it may lead anywhere.
    private mutating func collect(
        _ directory: String, in source: String, depth: Int, _ files: inout [String], _ console: inout Console
    ) throws(UsageError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .unusable(["\(directory): can't be listed: check its permissions"])
        }
        for name in names.sorted() where ![".git", ".hg", ".svn"].contains(name) {
            let path = directory + (directory.hasSuffix("/") ? "" : "/") + name
            guard Self.isDirectory(path) else {
                files.append(path)
                continue
            }
            do throws(UsageError) {
                guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil else {
                    throw .unusable(["\(path): is a link to a directory, which isn't followed: name that directory"])
                }
                guard depth < Self.maximumDepth, files.count < Self.maximumFiles else {
                    throw .unusable(["\(path): the directory is too deep or too large: name directories inside it"])
                }
                try collect(path, in: source, depth: depth + 1, &files, &console)
            } catch {
                report(error.messages, source, [path], &console)
            }
        }
    }
}
