import PinctlBasics
import Synchronization

/// The body of a request.
enum RequestBody: Hashable, Sendable {
    case data(Data)
    /// A file, opened each time it is sent.
    case file(URL)
    /// A stream, which can be sent once. Nil means that the delegate is asked for the first stream too.
    case stream(BodyStream?)

    /// The most bytes that are sent along with the header, and that are read at a time.
    static let part = 64 * 1024

    var data: Data? { if case .data(let data) = self { data } else { nil } }

    var isStream: Bool { if case .stream = self { true } else { false } }
}

/// A reader that returns a body in parts. Each sending of a body uses its own reader.
final class RequestBodyReader: Sendable {
    private enum Source: Sendable {
        case data(Data)
        case file(OpenFile)
        case stream(BodyStream)
    }

    private final class OpenFile: Sendable {
        let file: Mutex<InputFile>
        init(_ file: consuming InputFile) { self.file = Mutex(file) }
    }

    /// The number of bytes in total, or nil if it isn't known before the end.
    let length: Int?
    private let source: Source
    private let position = Locked(0)
    private let path: String

    init(_ data: Data) {
        (source, length, path) = (.data(data), data.count, "")
    }

    init(_ stream: BodyStream) {
        (source, length, path) = (.stream(stream), nil, "")
    }

    /// Opens a file, which can block. Only regular files are accepted, since others have no length to announce.
    init(file url: URL) throws(RequestBodyError) {
        path = url.path
        guard url.isFileURL, let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
            throw .noFile(path)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int else {
            throw .unreadable(path)
        }
        do throws(InputFileError) {
            source = .file(OpenFile(try InputFile(path: path)))
        } catch {
            throw .failed(path, "\(error)")
        }
        length = size
    }

    /// Returns the next bytes, empty at the end. Throws if the file becomes shorter while it is read.
    func next() async throws -> [UInt8] {
        switch source {
        case .data(let data):
            return position.withLock { position in
                let part = Array(data.dropFirst(position).prefix(RequestBody.part))
                position += part.count
                return part
            }
        case .file, .stream:
            guard let part = try await BlockingWork.run({ try self.read() }) else { throw CancellationError() }
            return part
        }
    }

    private func read() throws -> [UInt8] {
        switch source {
        case .data: return []
        case .stream(let stream): return try stream.read(RequestBody.part)
        case .file(let open):
            let rest = (length ?? 0) - position.withLock { $0 }
            guard rest > 0 else { return [] }
            var part = [UInt8](repeating: 0, count: min(rest, RequestBody.part))
            let count: Int
            do throws(InputFileError) {
                count = try open.file.withLock { file throws(InputFileError) in try file.read(into: &part) }
            } catch {
                throw RequestBodyError.failed(path, "\(error)")
            }
            guard count > 0 else { throw RequestBodyError.shorter(path) }
            position.withLock { $0 += count }
            part.removeLast(part.count - count)
            return part
        }
    }
}

/// The reason why a request's body can't be sent.
enum RequestBodyError: Error, Hashable {
    case noFile(String)
    case unreadable(String)
    /// The file can't be opened or read, with the reason and a remedy.
    case failed(String, String)
    /// The file had more bytes when it was opened.
    case shorter(String)
    /// The stream failed.
    case stream
    /// The stream had been opened before.
    case used
    /// The body has to be sent, or sent again, and the delegate has no stream for it.
    case noStream

    var code: URLError.Code {
        switch self {
        case .noFile: .fileDoesNotExist
        case .unreadable, .failed: .cannotOpenFile
        case .shorter, .stream, .used, .noStream: .requestBodyStreamExhausted
        }
    }
}

extension RequestBodyError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noFile(let path): visibleText("the body's file \(path) does not exist: check the path")
        case .unreadable(let path): visibleText("the body's file \(path) cannot be read: use a regular file")
        case .failed(let path, let reason): visibleText("the body's file \(path): \(reason)")
        case .shorter(let path): visibleText("the body's file \(path) became shorter while it was sent: send it again")
        case .stream: "the body's stream failed: send the request again with a new one"
        case .used: "the body's stream was already open: use one that has not been opened"
        case .noStream:
            "no stream to send the body again: implement urlSession(_:task:needNewBodyStream:)"
        }
    }
}
