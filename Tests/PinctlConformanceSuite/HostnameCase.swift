import CertificateTrust
package import FoundationEssentials

/// A dNSName entry and whether it matches a host, from the tests of Go and curl.
package struct HostnameCase: Decodable, Sendable {
    let source: String
    let sanDns: String
    let host: String
    let match: Bool

    package static func list(json: Data) throws -> [HostnameCase] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode([HostnameCase].self, from: json)
    }

    /// The outcome of the case. Text that isn't a hostname is no server's name, so nothing matches it.
    package var outcome: Outcome {
        let matches = (try? ServerName(host))?.matches(.dns(Array(sanDns.utf8))) ?? false
        return Outcome(
            id: "\(source)::\(sanDns)::\(host)", profile: "names", expected: match ? .success : .failure,
            actual: matches ? .success : .failure)
    }
}
