import PinctlTestPKI
import PinnedNetworking
import Testing

/// A connection to a server, one thing that is wrong by the time of the request, and the expected result.
struct VerdictRow: Sendable, CustomTestStringConvertible {
    /// The connection that the request could use.
    enum Connection: CaseIterable {
        case new
        /// Left open by an earlier request.
        case reused
        /// New, with the TLS session of an earlier one.
        case resumed
    }

    enum Way: CaseIterable {
        case direct
        /// Through a proxy's tunnel.
        case tunnel
        /// The same, with TLS to the proxy.
        case tlsTunnel
    }

    /// The change after the earlier request. For a redirected request, it happens while the first server answers.
    enum Change: CaseIterable {
        case nothing
        case policy, roots
        /// Another default credential for the server's client certificate challenge.
        case identity
        /// An earlier task's delegate accepted an untrusted chain. This task has no delegate that does.
        case accepter
        /// The delegate accepts a server with a pin mismatch, or with a matching pin and an untrusted chain.
        case yesToMismatch, yesToUntrusted
        /// The delegate accepts with a trust that it made itself.
        case yesToAnother
        case never, late
        case cancelThenYes, yesThenCancel

        /// Whether the change concerns only the session, so that no delegate is asked.
        var isSessions: Bool { [.nothing, .policy, .roots, .identity].contains(self) }
    }

    /// The kind of the request, and of what it must not give away.
    enum Kind: CaseIterable {
        case data
        /// With a cookie from the session's storage, which the response adds to.
        case cookies
        /// With a response that is decoded.
        case coding
        case download, upload
        case webSocket
        /// In a session with a protocol class that doesn't handle the request.
        case protocolClass
    }

    let version: LoopbackServer.TLSVersion
    let connection: Connection
    let way: Way
    let isRedirected: Bool
    let change: Change
    let kind: Kind

    var testDescription: String {
        "\(change): \(kind), \(version), \(connection), \(way)\(isRedirected ? ", redirected" : "")"
    }

    /// The error that the request ends with; nil if it succeeds.
    var failure: URLError.Code? {
        switch change {
        case .nothing, .identity, .yesThenCancel: nil
        case .policy, .yesToMismatch, .yesToAnother: .serverCertificateUntrusted
        case .roots, .accepter, .yesToUntrusted: .serverCertificateHasUnknownRoot
        case .never, .late, .cancelThenYes: .cancelled
        }
    }

    /// Rows in which any two values of any two columns occur together.
    static let pairwise: [VerdictRow] = {
        let versions = [LoopbackServer.TLSVersion.tls12, .tls13]
        return PinnedNetworkingTests.pairwise(columns).map { row in
            VerdictRow(
                version: versions[row[0]], connection: Connection.allCases[row[1]], way: Way.allCases[row[2]],
                isRedirected: row[3] == 1, change: Change.allCases[row[4]], kind: Kind.allCases[row[5]])
        }
    }()

    /// Rows in which each kind of request meets each connection that another policy or other roots approved.
    static let inherited: [VerdictRow] = Kind.allCases.flatMap { kind in
        [Connection.reused, .resumed].flatMap { connection in
            [Change.policy, .roots].map { change in
                VerdictRow(
                    version: .tls13, connection: connection, way: .direct, isRedirected: false, change: change,
                    kind: kind)
            }
        }
    }

    /// The number of values of each column.
    static let columns = [
        2, Connection.allCases.count, Way.allCases.count, 2, Change.allCases.count, Kind.allCases.count,
    ]
}

/// Rows of one value for each column, from 0 to below its entry in `columns`, until any two values of any two columns
/// occur together in a row.
func pairwise(_ columns: [Int]) -> [[Int]] {
    let all = columns.reduce([[]]) { rows, count in rows.flatMap { row in (0..<count).map { row + [$0] } } }
    let pairs = all.map { row in
        row.indices.flatMap { left in
            // One number, since there are many of them to look up.
            row.indices.dropFirst(left + 1).map { right in
                ((left * columns.count + right) * 100 + row[left]) * 100 + row[right]
            }
        }
    }
    var missing = Set(pairs.joined())
    var rows: [[Int]] = []
    while !missing.isEmpty {
        let gains = pairs.map { $0.count(where: missing.contains) }
        guard let best = all.indices.max(by: { gains[$0] < gains[$1] }) else { break }
        rows.append(all[best])
        missing.subtract(pairs[best])
    }
    return rows
}
