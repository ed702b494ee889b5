import CertificateTrust

/// The file that a download is written to: 0600, in a folder of its own (0700) among the temporary files.
final class DownloadFile: Sendable {
    /// The folder's name, which finds it again.
    let name: String
    private let handle: FileHandle
    private let state: Locked<State>

    private struct State {
        var count: Int64
        /// Whether the folder stays when nobody has the file any longer.
        var isKept = false
    }

    /// Bytes that are in it.
    var count: Int64 { state.withLock { $0.count } }

    private static let prefix = "PinnedNetworking-"
    private static let content = "download"

    private static func folder(_ name: String) -> String {
        FileManager.default.temporaryDirectory.standardizedFileURL.path + "/" + prefix + name
    }

    /// A new file.
    init() throws(DownloadError) {
        name = UUID().uuidString
        do throws(PrivateFolderError) {
            // A name that somebody else has made already is not of this user, or empty: both are safe.
            _ = try PrivateFolder(path: Self.folder(name), creates: true)
        } catch {
            throw .cannotCreate("\(error)")
        }
        let path = Self.folder(name) + "/" + Self.content
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forUpdatingAtPath: path)
        else { throw .cannotCreate(path) }
        self.handle = handle
        state = Locked(State(count: 0))
    }

    /// The file of an earlier download that has this many bytes and is still this user's alone. There may be more bytes,
    /// which were written after the count.
    init(resuming name: String, count: Int64) throws(DownloadError) {
        // A name from resume data leads to no other folder.
        guard let identifier = UUID(uuidString: name), identifier.uuidString == name else { throw .nothingToResume }
        let path = Self.folder(name)
        guard (try? PrivateFolder(path: path, creates: false)) != nil,
            let handle = FileHandle(forUpdatingAtPath: path + "/" + Self.content)
        else { throw .nothingToResume }
        guard let size = try? handle.seekToEnd(), count >= 0, size >= count,
            (try? handle.truncate(atOffset: UInt64(count))) != nil
        else { throw .nothingToResume }
        self.name = name
        self.handle = handle
        state = Locked(State(count: count))
    }

    deinit {
        try? handle.close()
        if !state.withLock({ $0.isKept }) { try? FileManager.default.removeItem(atPath: Self.folder(name)) }
    }

    /// Where the file is.
    var url: URL { URL(filePath: Self.folder(name) + "/" + Self.content) }

    func append(_ part: ArraySlice<UInt8>) throws(DownloadError) {
        do {
            try handle.write(contentsOf: Data(part))
        } catch {
            throw .cannotWrite("\(error.localizedDescription)")
        }
        state.withLock { $0.count += Int64(part.count) }
    }

    /// Begins again with an empty file.
    func restart() throws(DownloadError) {
        do {
            try handle.truncate(atOffset: 0)
        } catch {
            throw .cannotWrite("\(error.localizedDescription)")
        }
        state.withLock { $0.count = 0 }
    }

    /// Leaves the file where it is for a later task.
    func keep() {
        try? handle.synchronize()
        state.withLock { $0.isKept = true }
    }

    /// Gives the file away, to a place among the temporary files.
    func giveAway() throws(DownloadError) -> URL {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("\(Self.prefix)\(name).tmp")
        do {
            try FileManager.default.moveItem(at: url, to: place)
        } catch {
            throw .cannotWrite("\(error.localizedDescription)")
        }
        return place
    }
}

/// Why a download is not written, or not gone on with.
enum DownloadError: Error, Hashable {
    case cannotCreate(String)
    case cannotWrite(String)
    /// It is not what an earlier task produced, or of another version.
    case malformedResumeData
    /// The part that was loaded before is gone.
    case nothingToResume
    /// The server sent another part than the one that is missing.
    case otherPart

    var code: URLError.Code {
        switch self {
        case .cannotCreate: .cannotCreateFile
        case .cannotWrite: .cannotWriteToFile
        case .malformedResumeData, .nothingToResume: .cannotOpenFile
        case .otherPart: .badServerResponse
        }
    }
}

extension DownloadError: CustomStringConvertible {
    var description: String {
        switch self {
        case .cannotCreate(let reason): visibleText("no file for the download can be made: \(reason); check TMPDIR")
        case .cannotWrite(let reason): visibleText("the download cannot be written: \(reason)")
        case .malformedResumeData: "this is no resume data of this version: download from the beginning"
        case .nothingToResume: "the part that was loaded before is gone: download from the beginning"
        case .otherPart: "the server sent another part than the missing one: download from the beginning"
        }
    }
}
