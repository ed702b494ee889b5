import Foundation

/// Where a download goes. Its name is taken by an empty file until the whole one comes.
struct DownloadDestination: Sendable {
    private(set) var path: String?
    private var allowsOverwriting = false
    /// The file that is replaced in the end.
    private var place: URL?
    /// The empty file is there, and this download's.
    private var isEmpty = false

    /// Numbers that are tried for a name.
    private static let nameLimit = 10_000

    var isTaken: Bool { place != nil }

    mutating func set(_ path: String, allowsOverwriting: Bool) {
        guard !isTaken else { return }
        self.path = path
        self.allowsOverwriting = allowsOverwriting
    }

    /// Takes the destination, or a name like it; returns the path.
    mutating func take() throws(DownloadError) -> String {
        guard let path else { throw .cannotWrite("it has no destination: call setDestination(_:allowOverwrite:)") }
        let url = URL(filePath: path)
        let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        if allowsOverwriting, let type {
            guard type == .typeRegular else {
                throw .cannotWrite("\(path) is no regular file: name another destination")
            }
            place = url
            return url.path
        }
        for number in 0..<Self.nameLimit {
            let name = number == 0 ? url : url.numbered(number)
            do {
                // O_EXCL: nobody else has it, and no symbolic link leads elsewhere.
                try Data().write(to: name, options: .withoutOverwriting)
            } catch let error as CocoaError where error.code == .fileWriteFileExists {
                continue
            } catch {
                throw .cannotWrite("\(error.localizedDescription)")
            }
            (place, isEmpty) = (name, true)
            return name.path
        }
        throw .cannotWrite("\(path) and \(Self.nameLimit) names like it are taken: name another destination")
    }

    /// Puts the whole file in its place.
    mutating func fill(with file: URL) throws(DownloadError) {
        guard let place else { return }
        do {
            // Written beside it and renamed, so that half a file never has the name.
            try Data(contentsOf: file, options: .alwaysMapped).write(to: place, options: .atomic)
        } catch {
            throw .cannotWrite("\(error.localizedDescription)")
        }
        isEmpty = false
    }

    /// Removes the empty file when no whole one has come.
    mutating func clear() {
        guard isEmpty, let place else { return }
        try? FileManager.default.removeItem(at: place)
        isEmpty = false
    }
}

extension URL {
    /// `name-1.ext` of `name.ext`.
    fileprivate func numbered(_ number: Int) -> URL {
        let name = deletingPathExtension().lastPathComponent + "-\(number)"
        let folder = deletingLastPathComponent()
        return folder.appending(path: pathExtension.isEmpty ? name : "\(name).\(pathExtension)")
    }
}
