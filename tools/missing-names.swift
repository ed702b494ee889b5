// Lists the public names of FoundationNetworking that PinnedNetworking lacks, one a line. The arguments are the
// directory of the symbol graphs of both. Names that PinnedNetworking lacks on purpose aren't listed, except those that
// it has meanwhile.
import Foundation

struct SymbolGraph: Decodable {
    var symbols: [Symbol]

    struct Symbol: Decodable {
        var pathComponents: [String]
    }
}

/// Left out on purpose. Code that uses them gets an error of the compiler, with the reason where the declaration is
/// marked as unavailable.
let omitted: Set = [
    // Unavailable.
    "HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier:)",
    "URLSessionTaskTransactionMetrics.localAddress", "URLSessionTaskTransactionMetrics.localPort",
    "URLSessionTaskTransactionMetrics.negotiatedTLSCipherSuite", "tls_protocol_version_t.DTLSv10",
    "tls_protocol_version_t.DTLSv12", "tls_protocol_version_t.TLSv10", "tls_protocol_version_t.TLSv11",
    // The number of a cipher suite, which has a name instead.
    "tls_ciphersuite_t",
    // Tasks and requests aren't created by hand.
    "URLSessionTask.init()", "URLRequest.ReferenceType",
    // A parameter with a default value takes its place.
    "URLCredentialStorage.remove(_:for:)",
]

/// The types that PinnedNetworking's have members from, since they are an alias or inherit them.
let sources = [
    "NSURLRequest.CachePolicy": "URLRequest.CachePolicy",
    "NSURLRequest.NetworkServiceType": "URLRequest.NetworkServiceType",
    "NSMutableURLRequest": "NSURLRequest", "URLSessionWebSocketTask": "URLSessionTask",
]

/// Whether a member comes with a protocol or a superclass.
func isImplied(_ path: [String]) -> Bool {
    let members: Set = [
        "!=(_:_:)", "==(_:_:)", "copy(with:)", "encode(with:)", "hash", "hash(into:)", "hashValue", "init(coder:)",
        "init(rawValue:)", "isEqual(_:)", "supportsSecureCoding",
    ]
    return path.last.map(members.contains) ?? true
}

func names(_ prefix: String, in directory: URL) throws -> [[String]] {
    try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        .filter { $0.lastPathComponent.hasPrefix(prefix) && $0.pathExtension == "json" }
        .flatMap { try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: $0)).symbols }
        .map(\.pathComponents)
}

guard CommandLine.arguments.count == 2 else { fatalError("usage: swift tools/missing-names.swift DIRECTORY") }
let directory = URL(filePath: CommandLine.arguments[1])
let wanted = try names("FoundationNetworking", in: directory)
let own = Set(try names("PinnedNetworking", in: directory).map { $0.joined(separator: ".") })
guard wanted.count > 500, own.count > 500 else { fatalError("no symbol graphs in \(directory.path)") }
var missing: Set<String> = []
for path in wanted where !isImplied(path) {
    let name = path.joined(separator: ".")
    // A type that is left out has no members.
    let outer = path.indices.dropFirst().map { path[..<$0].joined(separator: ".") }
    let source = outer.last.flatMap { sources[$0] }.map { "\($0).\(path[path.count - 1])" }
    if !own.contains(name), source.map({ !own.contains($0) }) ?? true, outer.allSatisfy({ !omitted.contains($0) }) {
        missing.insert(name)
    }
}
for name in missing.symmetricDifference(omitted).sorted() { print(name) }
