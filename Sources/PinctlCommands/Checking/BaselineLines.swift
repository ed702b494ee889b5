import CertificateTrust
import PinctlBasics

/// A reader of the lines of a file.
struct BaselineLines: ~Copyable {
    private var file: InputFile
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var unread: ArraySlice<UInt8> = []

    /// The maximum length of a line in bytes. A chain takes a few hundred bytes for each certificate.
    private static let limit = 8 << 20

    init(path: String) throws(BaselineProblem) {
        do throws(InputFileError) { file = try InputFile(path: path) } catch { throw BaselineProblem("\(error)") }
    }

    /// Returns the next line without its end, or `nil` at the end of the file.
    mutating func next() throws(BaselineProblem) -> [UInt8]? {
        var line: [UInt8] = []
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                line += unread[..<end]
                unread = unread[(end + 1)...]
                try Self.check(line)
                return line
            }
            line += unread
            try Self.check(line)
            guard try fill() else { return line.isEmpty ? nil : line }
        }
    }

    private static func check(_ line: [UInt8]) throws(BaselineProblem) {
        guard line.count <= limit else {
            throw BaselineProblem(
                "has a line of more than \(limit) bytes, which is the limit: give the output of check --json or "
                    + "--ndjson")
        }
    }

    /// Returns the rest of the file after the lines already read.
    mutating func rest(limit: Int) throws(BaselineProblem) -> [UInt8] {
        do throws(InputFileError) {
            return try Array(unread) + file.contents(limit: limit - unread.count)
        } catch {
            guard case .tooLarge = error.reason else { throw BaselineProblem("\(error)") }
            throw BaselineProblem(
                "larger than \(limit) bytes, the limit for a document: give the output of check --ndjson")
        }
    }

    private mutating func fill() throws(BaselineProblem) -> Bool {
        unread = []
        do throws(InputFileError) {
            unread = buffer[..<(try file.read(into: &buffer))]
        } catch {
            throw BaselineProblem("\(error)")
        }
        return !unread.isEmpty
    }
}
