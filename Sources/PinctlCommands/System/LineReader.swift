import CertificateTrust
import TLSTransport

/// The lines of files, one after the other, read only as far as they are asked for and on a thread of their own, since
/// standard input may keep a reader waiting.
///
/// Unchecked: `next` is asked again when its last answer was given, so that one thread at a time is in here.
final class LineReader: @unchecked Sendable {
    /// What stands in a file, or why nothing more is read from it.
    enum Line: Sendable {
        case text(String, file: String, number: Int)
        /// A line with more bytes than any target has.
        case tooLong(file: String, number: Int)
        case failure(file: String, String)
    }

    /// Bytes of a line: names have 253, addresses fewer.
    static let maximumLength = 4_096

    /// Bytes behind which no line end is looked for any more: what has lines is no such file.
    private static let endlessLength = 1 << 20

    private var paths: ArraySlice<String>
    private var file: InputFile?
    private var path = ""
    private var number = 0
    /// The beginning of a line, without the rest that is not read yet.
    private var partial: [UInt8] = []
    private var isTooLong = false
    /// Bytes of the line so far that were passed over.
    private var skipped = 0
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// `-` is standard input.
    init(paths: [String]) {
        self.paths = paths[...]
    }

    /// The lines that come next, as many as are there; empty at the end. Not to be asked twice at a time.
    func next() async -> [Line] {
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                try startThread { continuation.resume(returning: self.read()) }
            } catch {
                paths = []
                file = nil
                continuation.resume(returning: [.failure(file: path, "no thread to read it: \(error)")])
            }
        }
    }

    private func read() -> [Line] {
        var lines: [Line] = []
        while lines.isEmpty {
            do throws(InputFileError) {
                if file == nil {
                    guard let path = paths.popFirst() else { return [] }
                    self.path = path
                    number = 0
                    file = path == "-" ? .standardInput() : try InputFile(path: path)
                }
                let count = try file?.read(into: &buffer) ?? 0
                if count > 0 {
                    split(count, into: &lines)
                    guard skipped > Self.endlessLength else { continue }
                    (isTooLong, skipped) = (false, 0)
                    file = nil
                    lines.append(
                        .failure(
                            file: path, "a line has more than \(Self.endlessLength) bytes: give one target a line"))
                } else {
                    if !partial.isEmpty || isTooLong { endLine(&lines) }
                    file = nil
                }
            } catch {
                partial = []
                (isTooLong, skipped) = (false, 0)
                file = nil
                lines.append(.failure(file: path, "\(error)"))
            }
        }
        return lines
    }

    private func split(_ count: Int, into lines: inout [Line]) {
        var start = 0
        while start < count {
            let end = buffer[start..<count].firstIndex(of: UInt8(ascii: "\n")) ?? count
            if isTooLong || partial.count + end - start > Self.maximumLength {
                isTooLong = true
                skipped += end - start
                partial = []
            } else {
                partial += buffer[start..<end]
            }
            if end < count { endLine(&lines) }
            start = end + 1
        }
    }

    private func endLine(_ lines: inout [Line]) {
        number += 1
        lines.append(
            isTooLong
                ? .tooLong(file: path, number: number)
                : .text(String(decoding: partial, as: UTF8.self), file: path, number: number))
        partial.removeAll(keepingCapacity: true)
        isTooLong = false
        skipped = 0
    }
}
