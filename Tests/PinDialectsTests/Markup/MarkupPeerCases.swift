import CertificatePinning
import FoundationEssentials

@testable import PinDialects

/// The cases of peer-cases.json for the dialects with markup.
enum MarkupPeerCases {
    static let path =
        (ProcessInfo.processInfo.environment["PINCTL_CONFORMANCE"]
            ?? URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../shared/conformance")
            .path)
        + "/peer-cases.json"
    static let areThere = FileManager.default.isReadableFile(atPath: path)
    static let missing: String = "\(path) is not there"

    /// The cases of one part of `configs`.
    static func cases(_ part: String) throws -> [JSONValue] {
        let document = JSONCReader.read(Array(try Data(contentsOf: URL(filePath: path))), dialect: .json)
        return document.root?["configs"]?[part]?["cases"]?.elements ?? []
    }
}

extension CanonicalPolicy {
    /// Without the places in the file.
    var placeless: CanonicalPolicy {
        var policy = self
        for index in policy.rules.indices { policy.rules[index].location = nil }
        return policy
    }
}

/// The lines of an error about "f".
func problems(_ body: () throws(PolicyFileError) -> Void) -> [String] {
    do throws(PolicyFileError) {
        try body()
        return []
    } catch {
        return error.description.split(separator: "\n").map(String.init)
    }
}
