import Foundation

/// The destination of a download. An empty file reserves the name until the complete file replaces it.
struct DownloadDestination: Sendable {
    private(set) var path: String?
    private var allowsOverwriting = false
    /// The URL of the reserved file, which is replaced at the end.
    private var place: URL?
    /// Whether the empty file exists and belongs to this download.
    private var isEmpty = false

    /// The number of names that are tried.
    private static let nameLimit = 10_000

    var isTaken: Bool { place != nil }

    mutating func set(_ path: String, allowsOverwriting: Bool) {
        guard !isTaken else { return }
        self.path = path
        self.allowsOverwriting = allowsOverwriting
    }

    /// Reserves the destination, or a similar name if it is taken. Returns the path.
    mutating func take() throws(DownloadError) -> String {
        guard let path else { throw .cannotWrite("it has no destination: call setDestination(_:allowOverwrite:)") }
        let url = URL(filePath: path)
        let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        if allowsOverwriting, let type {
            guard type == .typeRegular else {
                throw .cannotWrite("\(path) is not a regular file: choose another destination")
            }
            place = url
            return url.path
        }
        for number in 0..<Self.nameLimit {
            let name = number == 0 ? url : url.numbered(number)
            do {
                // O_EXCL: the file is new, and no symbolic link is followed.
                try Data().write(to: name, options: .withoutOverwriting)
            } catch let error as CocoaError where error.code == .fileWriteFileExists {
                continue
            } catch {
                throw .cannotWrite("\(error.localizedDescription)")
            }
            (place, isEmpty) = (name, true)
            return name.path
        }
        throw .cannotWrite("\(path) and \(Self.nameLimit) names like it are in use: choose another destination")
    }

    /// Moves the complete file to the destination.
    mutating func fill(with file: URL) throws(DownloadError) {
        guard let place else { return }
        do {
            // Written to a temporary file and renamed, so that the destination never has an incomplete file.
            try Data(contentsOf: file, options: .alwaysMapped).write(to: place, options: .atomic)
        } catch {
            throw .cannotWrite("\(error.localizedDescription)")
        }
        isEmpty = false
    }

    /// Removes the empty file if there is no complete one.
    mutating func clear() {
        guard isEmpty, let place else { return }
        try? FileManager.default.removeItem(at: place)
        isEmpty = false
    }
}

extension URL {
    /// Returns the URL with a number in the file name: `name-1.ext` for `name.ext`.
    fileprivate func numbered(_ number: Int) -> URL {
        let name = deletingPathExtension().lastPathComponent + "-\(number)"
        let directory = deletingLastPathComponent()
        return directory.appending(path: pathExtension.isEmpty ? name : "\(name).\(pathExtension)")
    }
}
