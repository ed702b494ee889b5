package import CertificateTrust
import FoundationEssentials

/// Where the files that a policy names are read from: the file system, or a state of it that somebody kept.
package struct PolicyFolder {
    /// Why a file of it cannot be had.
    package typealias Failure = InputFileError

    /// A file by its path, of at most so many bytes.
    let contents: (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]
    /// Whether links in it lead elsewhere.
    private let followsLinks: Bool

    /// Files as they are now.
    package static var current: PolicyFolder {
        PolicyFolder(followsLinks: true) { path, limit throws(InputFileError) in
            try InputFile.contents(ofFile: path, limit: limit)
        }
    }

    /// Files as they were kept, in which a link is no file.
    package init(kept contents: @escaping (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]) {
        self.init(followsLinks: false, contents)
    }

    private init(
        followsLinks: Bool, _ contents: @escaping (_ path: String, _ limit: Int) throws(Failure) -> [UInt8]
    ) {
        self.followsLinks = followsLinks
        self.contents = contents
    }

    /// Resolves `.` and `..` in a path by its text alone, since no link is followed. Returns nil for a path that leads out
    /// of the folder where it begins.
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

    /// Whether a path leads to a place below the folder of another, links followed.
    func isInside(_ target: String, folderOf path: String) -> Bool {
        guard followsLinks else { return true }
        let folder = URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath().path()
        return URL(filePath: target).resolvingSymlinksInPath().path().hasPrefix(folder)
    }

    /// Every certificate of some files, as anchors.
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

    /// The roots of a file: those of every public store together have a tenth of it.
    private static let maximumRoots = 8 << 20
}
