import PinDialects
import PinctlBasics

/// The contents of a file as far as they are searched.
enum SearchedFile {
    case text([UInt8])
    /// A file that isn't text, as git judges it: it has a NUL at its beginning.
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

    private static func isBinary(_ beginning: ArraySlice<UInt8>) -> Bool {
        let bytes = Array(beginning)
        guard bytes.contains(0) else { return false }
        return !bytes.starts(with: "bplist".utf8) && XMLReader.wideEncoding(of: bytes) == nil
    }
}
