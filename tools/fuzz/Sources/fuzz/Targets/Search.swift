import CertificatePinning
import FoundationEssentials

@testable import PinDialects

extension FuzzTarget {
    /// The search of a file, whose name is in the first line. Its pins are in the file, and the file with its own pins
    /// in place of them is the same.
    static let search = FuzzTarget(name: "search") { bytes in
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        let name = String(decoding: line.prefix(64), as: UTF8.self)
        let text = Array(bytes.dropFirst(line.count + 1))
        let time = Date(timeIntervalSince1970: 1_795_000_000)
        let project = SourceProject { _ in
            var contents = SourceProject.Contents()
            contents.add(text, path: "other/" + name)
            return contents
        }
        let search = PinSearch(text.span, path: name, name: name, at: time, project: project)
        let lineCount = text.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } + 1
        for sighting in search.sightings + search.unsure {
            precondition(0...lineCount ~= sighting.location.line, "\(sighting) of \(lineCount) lines")
        }
        for dialect in search.dialects {
            guard let policy = try? dialect.read(text, path: name).policy,
                let same = try? dialect.replacing(text, path: name, with: policy)
            else { continue }
            precondition(same == text, "\(dialect): \(String(decoding: same, as: UTF8.self))")
        }
    }
}
