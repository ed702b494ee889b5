import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The contents of a file as far as they are searched.
enum SearchedFile {
    case text([UInt8])
    /// A file that isn't text: it has a NUL at its beginning, and other bytes that texts don't have.
    case binary
    /// A text that is larger than any that people write, and whether it has a word of pinning.
    case tooLarge(mayPin: Bool)
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
                // A small file of NULs is one that was lost.
                // mutant find-nul-file: false for `count < buffer.count` by FindTests
                let isLost = count < buffer.count && buffer[..<count].allSatisfy { $0 == 0 }
                if contents.isEmpty, !isLost, Self.isBinary(buffer[..<count].prefix(Self.beginning)) {
                    self = .binary
                    return
                }
                contents += buffer[..<count]
                guard contents.count <= Self.maximumSize else {
                    self = .tooLarge(mayPin: try Self.mayPin(contents, &file))
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

    /// Returns whether a text has one of the words without which a file has no pins, in what was read or in the rest.
    private static func mayPin(_ beginning: [UInt8], _ file: inout InputFile) throws(InputFileError) -> Bool {
        let words = [
            "sha256/", "sha1/", "pin-sha256", "<pin", "pinnedpubkey", "nspinned", "tskpinned", "certificatepin",
            "publickeyhash", "publickeypins", "sslpin", "certpin", "spki",
        ]
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var part = beginning
        var size = 0
        repeat {
            // mutant find-large: false by FindTests
            if part.hasAny(of: words, ignoringCase: true) { return true }
            let count = try file.read(into: &buffer)
            size += count
            // A word may begin in one part and end in the next.
            part = count == 0 ? [] : part.suffix(20) + buffer[..<count]
        } while !part.isEmpty && size < maximumRest
        return !part.isEmpty
    }

    /// The part of a large text that is searched for words. A text that is longer may have pins.
    private static let maximumRest = 1 << 30

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
        case tooLarge(mayPin: Bool)
        /// The file isn't text, or is gone.
        case skipped
        /// The file isn't text, although its name is the usual one of a file with pins.
        case lost
        case failed(InputFileError)
    }

    /// Searches the file. `name` is its path in the tree.
    init(
        _ path: String, name: String, at time: Date, suffixes: PublicSuffixes = .system, _ projects: SourceProjects
    ) {
        self.path = path
        do throws(InputFileError) {
            switch try SearchedFile(path) {
            case .text(let bytes):
                result = .searched(
                    PinSearch(
                        bytes, path: path, name: name, at: time, suffixes: suffixes,
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
