import CertificateTrust
import PinctlBasics
import Testing

/// Returns the number of this machine's sockets that are connected or connecting to `port` of the loopback interface
/// and still have an owner: the rows of `/proc/net/tcp` and `tcp6` with that remote port and an inode.
func openSockets(to port: UInt16) throws -> Int {
    let suffix =
        ":" + String(repeating: "0", count: 4 - String(port, radix: 16).count)
        + String(port, radix: 16, uppercase: true)
    return try ["/proc/net/tcp", "/proc/net/tcp6"].reduce(0) { count, path in
        var file = try InputFile(path: path)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let read = try file.read(into: &buffer), read > 0 { text += buffer[..<read] }
        let rows = String(decoding: text, as: UTF8.self).split(separator: "\n").dropFirst()
        return count
            + rows.count { row in
                guard row.contains(suffix) else { return false }
                let fields = row.split(separator: " ")
                return fields[2].hasSuffix(suffix) && fields[9] != "0"
            }
    }
}

/// Expects every socket to `port` to be closed.
func expectNoSockets(to port: UInt16, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let open = try openSockets(to: port)
    #expect(open == 0, "sockets are still open", sourceLocation: sourceLocation)
}
