import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// Memory for the contents of files, which is used for one after another.
struct FileBuffer {
    fileprivate var bytes = [UInt8](repeating: 0, count: 1 << 16)

    /// Returns a copy of the first bytes.
    func contents(_ size: Int) -> [UInt8] { Array(bytes[..<size]) }
}

/// The contents of a file as far as they are searched.
enum SearchedFile {
    /// A text, which is at the beginning of the buffer.
    case text(size: Int)
    /// A file that isn't text: it has a NUL at its beginning, and other bytes that texts don't have.
    case binary
    /// A text that is larger than any that people write, and whether it has a word of pinning.
    case tooLarge(mayPin: Bool)
    /// A device, pipe or socket, or a file that was removed meanwhile.
    case absent

    private static let maximumSize = 8 << 20
    /// The length of the beginning that is read first.
    private static let firstPart = 1 << 16
    /// The length of the beginning that shows whether a file is text.
    private static let beginning = 8_000
    /// The length of the part of it that shows it for most files.
    private static let firstBytes = 512

    init(_ path: String, _ buffer: inout FileBuffer) throws(InputFileError) {
        var size = 0
        do throws(InputFileError) {
            var file = try InputFile(path: path)
            // A file can have been replaced with a pipe since it was listed.
            guard file.isRegular else {
                self = .absent
                return
            }
            // The end of a file whose size is known needn't be read.
            while size == 0 || size != file.size {
                if size == buffer.bytes.count { buffer.bytes += [UInt8](repeating: 0, count: size) }
                let count = try file.read(
                    into: &buffer.bytes, in: size..<(size == 0 ? Self.firstPart : buffer.bytes.count))
                if count == 0 { break }
                if size == 0 {
                    let part = buffer.bytes.span.extracting(0..<count)
                    // A small file of NULs is one that was lost.
                    // mutant find-nul-file: false for `count < Self.firstPart` by FindTests
                    let isLost = count < Self.firstPart && (0..<count).allSatisfy { part[$0] == 0 }
                    if !isLost, Self.isBinary(part) {
                        self = .binary
                        return
                    }
                }
                size += count
                guard size <= Self.maximumSize else {
                    self = .tooLarge(mayPin: try Self.mayPin(size, &buffer.bytes, &file))
                    return
                }
            }
        } catch {
            guard error.isNoSuchFile else { throw error }
            self = .absent
            return
        }
        self = .text(size: size)
    }

    /// Returns whether a text has one of the words without which a file has no pins, in what was read or in the rest.
    private static func mayPin(
        _ count: Int, _ buffer: inout [UInt8], _ file: inout InputFile
    ) throws(InputFileError) -> Bool {
        var (end, size) = (count, 0)
        repeat {
            // mutant find-large: false by FindTests
            if PinSearch.namesPins(buffer.span.extracting(0..<end)) { return true }
            // A word may begin in one part and end in the next.
            let kept = buffer[..<end].suffix(longestWord)
            buffer.replaceSubrange(..<kept.count, with: kept)
            let read = try file.read(into: &buffer, in: kept.count..<min(buffer.count, 1 << 20))
            size += read
            end = read == 0 ? 0 : kept.count + read
        } while end > 0 && size < maximumRest
        return end > 0
    }

    /// The length of the longest word that is looked for in a large text, or more.
    private static let longestWord = 20
    /// The part of a large text that is searched for words. A text that is longer may have pins.
    private static let maximumRest = 1 << 30

    /// Whether a file isn't text, judged by its beginning. A NUL alone doesn't make a text binary, because its pins
    /// would be skipped.
    private static func isBinary(_ file: Span<UInt8>) -> Bool {
        var bytes = file.extracting(first: firstBytes)
        if bytes.firstIndex(of: 0, from: 0) == bytes.count { bytes = file.extracting(first: beginning) }
        guard bytes.firstIndex(of: 0, from: 0) < bytes.count else { return false }
        guard !bytes.has("bplist", at: 0), XMLReader.wideEncoding(of: bytes) == nil else { return false }
        var (controlCount, nulCount): (UInt32, UInt32) = (0, 0)
        for index in 0..<bytes.count {
            controlCount &+= bytes[index] < 0x09 || bytes[index] &- 0x0E < 0x12 ? 1 : 0
            nulCount &+= bytes[index] == 0 ? 1 : 0
        }
        // mutant find-nul: true by FindTests
        return controlCount > nulCount || Int(nulCount) * 100 > bytes.count + 200
    }
}

/// The search of a file.
struct FileSearch: Sendable {
    let path: String
    let result: Result
    /// The code in the file that pins in a way that isn't read, if any.
    private(set) var unread: UnreadPinning?

    enum Result: Sendable {
        case searched(PinSearch)
        case tooLarge(mayPin: Bool)
        /// The file isn't text, or is gone.
        case skipped
        /// The file isn't text, although its name is the usual one of a file with pins.
        case lost
        case failed(InputFileError)
    }

    /// Searches the file. `name` is its path in the tree.
    init(
        _ path: String, name: String, at time: Date, suffixes: PublicSuffixes = .system, _ projects: SourceProjects,
        _ buffer: inout FileBuffer
    ) {
        self.path = path
        do throws(InputFileError) {
            switch try SearchedFile(path, &buffer) {
            case .text(let size):
                unread = UnreadPinning(buffer.bytes.span.extracting(0..<size), path: path, name: name)
                result = .searched(
                    PinSearch(
                        buffer.bytes.span.extracting(0..<size), path: path, name: name, at: time, suffixes: suffixes,
                        project: projects.project(of: path)))
            case .tooLarge(let mayPin): result = .tooLarge(mayPin: mayPin)
            case .absent: result = .skipped
            // mutant find-binary: .skipped by FindTests
            case .binary: result = PinSearch.expectsPins(inFileNamed: name) ? .lost : .skipped
            }
        } catch {
            result = .failed(error)
        }
    }
}
