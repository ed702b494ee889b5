import CertificateTrust
package import PinctlBasics
import PinctlFoundation

/// The source of the files that a policy names: the file system, or a stored snapshot of it.
package struct PolicyDirectory {
    /// The reason why a file can't be read.
    package typealias Failure = InputFileError

    /// Returns the contents of the file at a path, up to a maximum size in bytes.
    let contents: (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]
    /// Whether symbolic links are followed.
    private let followsLinks: Bool

    /// The current files.
    package static var current: PolicyDirectory {
        PolicyDirectory(followsLinks: true) { path, limit throws(InputFileError) in
            try InputFile.contents(ofFile: path, limit: limit)
        }
    }

    /// Reads files from a stored snapshot, in which a symbolic link doesn't count as a file.
    package init(kept contents: @escaping (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]) {
        self.init(followsLinks: false, contents)
    }

    private init(
        followsLinks: Bool, _ contents: @escaping (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]
    ) {
        self.followsLinks = followsLinks
        self.contents = contents
    }

    /// Resolves `.` and `..` in a path by its text alone, since no link is followed. Returns `nil` for a path that
    /// leads out of the directory where it starts.
    package static func resolvingDots(in path: String) -> String? {
        var parts: [Substring] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false) where part != "." {
            guard part == ".." else {
                parts.append(part)
                continue
            }
            guard let last = parts.popLast(), !last.isEmpty else { return nil }
        }
        return parts.joined(separator: "/")
    }

    /// Whether a path is located below the directory of another one after links are resolved.
    func isInside(_ target: String, directoryOf path: String) -> Bool {
        guard followsLinks else { return true }
        let directory = URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath().path()
        return URL(filePath: target).resolvingSymlinksInPath().path().hasPrefix(directory)
    }

    /// Returns every certificate of these files as trust anchors.
    func store(files: [String]) throws(TrustStoreError) -> TrustStore {
        guard !followsLinks else { return try TrustStore(files: files) }
        var stores: [TrustStore] = []
        for file in files {
            let bytes: [UInt8]
            do throws(InputFileError) {
                bytes = try contents(file, Self.maximumRoots)
            } catch {
                throw .file(.unreadable(path: file, reason: error.description))
            }
            stores.append(try TrustStore(bytes: bytes, file: file))
        }
        return TrustStore(combining: stores)
    }

    /// The maximum size of a file of roots in bytes. All public root stores together have a tenth of it.
    static let maximumRoots = 8 << 20
}
