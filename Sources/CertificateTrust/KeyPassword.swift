import OpenSSLBridge

/// The password that the encrypted keys of some files are opened with, and the work that is left for all of them: a
/// folder of files that ask for two seconds each would take hours. The password is wiped when this goes.
package final class KeyPassword {
    /// Nil when none was given: then only what the empty password opens is opened.
    private(set) var bytes: [UInt8]?
    /// Iterations that are left.
    var iterations = 5 * iterationLimit

    package init(_ bytes: [UInt8]? = nil) { self.bytes = bytes }

    deinit {
        if var secret = bytes {
            // One reference is left, so that no copy is wiped instead.
            bytes = nil
            wipe(&secret)
        }
    }

    /// What a key in OpenSSL's old format is charged: a round of MD5, and a walk to its lines.
    static let oldFormatIterations: UInt64 = 20_000
}

extension KeyPassword {
    /// A password as it stands in a file: a line end behind it is not part of it.
    package convenience init(line: consuming [UInt8]) {
        var secret = line
        if secret.last == 0x0A { secret.removeLast() }
        if secret.last == 0x0D { secret.removeLast() }
        self.init(secret)
    }
}
