import CertificatePinning
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI

/// The results that the tests of other systems expect, collected in `peer-cases.json`. The file is read when the tests
/// run and isn't part of the project.
@dynamicMemberLookup
struct PeerCases: Sendable {
    let json: JSONValue?

    /// All cases; nil if the file is missing.
    static let all: PeerCases? = (try? Data(contentsOf: URL(filePath: path)))
        .flatMap { JSONCReader.read(Array($0), dialect: .json).root }.map(PeerCases.init)
    /// The comment of a skipped test.
    static let absence = "\(path) is not there"
    private static let path =
        (ProcessInfo.processInfo.environment["PINCTL_CONFORMANCE"]
            ?? Repository.root + "/../shared/conformance") + "/peer-cases.json"

    subscript(dynamicMember key: String) -> PeerCases { self[key] }

    subscript(key: String) -> PeerCases { PeerCases(json: json?[key]) }

    var string: String? { json?.string }
    var bool: Bool? { json?.bool }
    var integer: Int? { json?.integer }
    var elements: [PeerCases] { json?.elements?.map(PeerCases.init) ?? [] }
    var members: [(key: String, value: PeerCases)] { json?.members?.map { ($0.key, PeerCases(json: $0.value)) } ?? [] }
}
