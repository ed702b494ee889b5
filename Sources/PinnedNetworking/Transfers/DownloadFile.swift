import CertificateTrust
import PinctlBasics

/// The file of a download, with mode 0600, in its own temporary directory with mode 0700.
///
/// With the last reference, the file is deleted, and the directory if nothing else is in it. Programs move the file to
/// another name in the directory, as Alamofire does by default, and such files stay.
final class DownloadFile: Sendable {
    /// The name of the directory, by which it can be found again.
    let name: String
    private let handle: FileHandle
    private let state: Locked<State>

    private struct State {
        var count: Int64
        /// Whether the directory is kept after the last use of the file.
        var isKept = false
    }

    /// The number of bytes in the file.
    var count: Int64 { state.withLock { $0.count } }

    private static let prefix = "PinnedNetworking-"
    private static let content = "download"

    private static func directory(_ name: String) -> String {
        FileManager.default.temporaryDirectory.standardizedFileURL.path + "/" + prefix + name
    }

    /// Creates a new file.
    init() throws(DownloadError) {
        name = UUID().uuidString
        do throws(PrivateDirectoryError) {
            // If the directory already exists, it belongs to another user and is rejected, or it is empty. Both are
            // safe.
            _ = try PrivateDirectory(path: Self.directory(name), creates: true)
        } catch {
            throw .cannotCreate("\(error)")
        }
        let path = Self.directory(name) + "/" + Self.content
        do {
            try Data().write(to: URL(filePath: path), options: .withoutOverwriting)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            handle = try FileHandle(forUpdating: URL(filePath: path))
        } catch {
            try? FileManager.default.removeItem(atPath: Self.directory(name))
            throw .cannotCreate("\(path) (\(systemReason(error)))")
        }
        state = Locked(State(count: 0))
    }

    /// Opens the file of an earlier download, which must have this many bytes and still belong to this user alone.
    /// Bytes after that number were written later and are removed.
    init(resuming name: String, count: Int64) throws(DownloadError) {
        // Only a UUID is accepted, so the name in resume data can't refer to another directory.
        guard let identifier = UUID(uuidString: name), identifier.uuidString == name else { throw .nothingToResume }
        let path = Self.directory(name)
        guard (try? PrivateDirectory(path: path, creates: false)) != nil,
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
        if !state.withLock({ $0.isKept }) {
            PrivateDirectory.discard(Self.content, openAs: handle.fileDescriptor, in: Self.directory(name))
        }
        try? handle.close()
    }

    /// The location of the file.
    var url: URL { URL(filePath: Self.directory(name) + "/" + Self.content) }

    func append(_ part: ArraySlice<UInt8>) throws(DownloadError) {
        do {
            try handle.write(contentsOf: Data(part))
        } catch {
            throw .cannotWrite(systemReason(error))
        }
        state.withLock { $0.count += Int64(part.count) }
    }

    /// Empties the file to start again.
    func restart() throws(DownloadError) {
        do {
            try handle.truncate(atOffset: 0)
        } catch {
            throw .cannotWrite(systemReason(error))
        }
        state.withLock { $0.count = 0 }
    }

    /// Keeps the file in its directory for a later task.
    func keep() {
        try? handle.synchronize()
        state.withLock { $0.isKept = true }
    }

    /// Moves the file to the directory for temporary files and returns its location. The caller owns it from then on.
    func moveOut() throws(DownloadError) -> URL {
        let target = FileManager.default.temporaryDirectory.appendingPathComponent("\(Self.prefix)\(name).tmp")
        do {
            try FileManager.default.moveItem(at: url, to: target)
        } catch {
            throw .cannotWrite(systemReason(error))
        }
        return target
    }
}

/// Returns the system's message for an error of Foundation, whose own often gives a number only.
private func systemReason(_ error: any Error) -> String {
    let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
    let cause = (underlying ?? error) as NSError
    return cause.domain == NSPOSIXErrorDomain ? systemErrorText(Int32(cause.code)) : error.localizedDescription
}

/// The reason why a download can't be written or resumed.
enum DownloadError: Error, Hashable {
    case cannotCreate(String)
    case cannotWrite(String)
    /// The data wasn't produced by an earlier task, or has another version.
    case malformedResumeData
    /// The part that was loaded before no longer exists.
    case nothingToResume
    /// The server sent a part other than the missing one.
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
        case .cannotCreate(let reason): visibleText("cannot create a file for the download, \(reason): check TMPDIR")
        case .cannotWrite(let reason):
            visibleText("cannot write the download, \(reason): check the space and the permissions")
        case .malformedResumeData: "malformed resume data, or data of another version: download from the beginning"
        case .nothingToResume: "the part that was downloaded before is missing: download from the beginning"
        case .otherPart: "the server did not send the missing part: download from the beginning"
        }
    }
}
