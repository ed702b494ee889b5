import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The contents of a file as far as they are searched.
enum SearchedFile {
    case text([UInt8])
    /// A file that isn't text: it has a NUL at its beginning, and other bytes that texts don't have.
    case binary
    /// A text that is larger than any that people write.
    case tooLarge
    /// A device, pipe or socket, or a file that was removed meanwhile.
    case absent

    private static let maximumSize = 8 << 20
    /// The length of the beginning that shows whether a file is text.
    private static let beginning = 8_000

    init(_ path: String) throws(InputFileError) {
        switch FileKind(path) {
        case .special, .directory:
            self = .absent
            return
        case .file, .missing: break
        }
        var contents: [UInt8] = []
        do throws(InputFileError) {
            var file = try InputFile(path: path)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = try file.read(into: &buffer)
                if count == 0 { break }
                if contents.isEmpty, Self.isBinary(buffer[..<count].prefix(Self.beginning)) {
                    self = .binary
                    return
                }
                contents += buffer[..<count]
                guard contents.count <= Self.maximumSize else {
                    self = .tooLarge
                    return
                }
            }
        } catch {
            guard error.isNoSuchFile else { throw error }
            self = .absent
            return
        }
        self = .text(contents)
    }

    /// Whether a file isn't text, judged by its beginning. A NUL alone doesn't make a text binary, because its pins
    /// would be skipped.
    private static func isBinary(_ beginning: ArraySlice<UInt8>) -> Bool {
        guard beginning.contains(0), !beginning.starts(with: "bplist".utf8),
            XMLReader.wideEncoding(of: Array(beginning)) == nil
        else { return false }
        let control = beginning.count { $0 < 0x09 || (0x0E..<0x20).contains($0) }
        let nulCount = beginning.count { $0 == 0 }
        // mutant find-nul: true by FindTests
        return control > nulCount || nulCount * 100 > beginning.count + 200
    }
}

/// The search of a file.
struct FileSearch: Sendable {
    let path: String
    let result: Result

    enum Result: Sendable {
        case searched(PinSearch)
        case tooLarge
        /// The file isn't text, or is gone.
        case skipped
        case failed(InputFileError)
    }

    /// Searches the file. `name` is its path in the tree.
    init(_ path: String, name: String, at time: Date, suffixes: PublicSuffixes = .system) {
        self.path = path
        do throws(InputFileError) {
            switch try SearchedFile(path) {
            case .text(let bytes):
                result = .searched(PinSearch(bytes, path: path, name: name, at: time, suffixes: suffixes))
            case .tooLarge: result = .tooLarge
            case .binary, .absent: result = .skipped
            }
        } catch {
            result = .failed(error)
        }
    }
}
