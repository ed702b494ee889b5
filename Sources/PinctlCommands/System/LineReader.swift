import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A reader of the lines of several files, one file after the other, only as far as needed.
///
/// It reads on a separate thread, because standard input may block. The class is unchecked `Sendable` because `next`
/// isn't called again before it has returned, so that only one thread at a time uses it.
final class LineReader: @unchecked Sendable {
    /// A line of a file, or the reason why nothing more is read from it.
    enum Line: Sendable {
        case text(String, file: String, number: Int)
        /// A line that is longer than any target.
        case tooLong(file: String, number: Int)
        case failure(file: String, String)
    }

    /// The maximum length of a line in bytes. Hostnames have at most 253 bytes, addresses fewer.
    static let maximumLength = 4_096

    /// The number of bytes without a line end after which a file is given up, because it isn't a list of lines.
    private static let endlessLength = 1 << 20

    private var paths: ArraySlice<String>
    private var file: InputFile?
    private var path = ""
    private var number = 0
    /// The part of the current line that was read so far.
    private var partial: [UInt8] = []
    private var isTooLong = false
    /// The number of bytes of the current line that were discarded.
    private var skipped = 0
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// Creates a reader, with `-` for standard input.
    init(paths: [String]) {
        self.paths = paths[...]
    }

    /// Returns the next lines, as many as are available, or an empty array at the end. It must not be called again
    /// before it returns. If the task is cancelled, it returns an empty array at once, and must not be called again.
    func next() async -> [Line] {
        // The thread may be blocked in a read that nothing ends.
        let waiting = Locked<CheckedContinuation<[Line], Never>?>(nil)
        @Sendable func give(_ lines: [Line]) {
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: lines)
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting.withLock { $0 = continuation }
                guard !Task.isCancelled else { return give([]) }
                do throws(SystemError) {
                    try startThread { give(self.read()) }
                } catch {
                    paths = []
                    file = nil
                    give([.failure(file: path, "cannot start a thread to read it: \(error)")])
                }
            }
        } onCancel: {
            give([])
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
                            file: path, "a line has more than \(Self.endlessLength) bytes: write one target per line"))
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
