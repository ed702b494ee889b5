import OpenSSLBridge
import PinctlBasics

/// The password for the encrypted keys of some files, and the work that may still be spent on all of them. Without that
/// limit, a directory of files that take two seconds each could take hours. The password is wiped on deinitialization.
package final class KeyPassword: Sendable {
    private struct State {
        var bytes: [UInt8]?
        /// The number of iterations that are left.
        var iterations = 5 * iterationLimit
    }

    private let state: Locked<State>

    package init(_ bytes: [UInt8]? = nil) { state = Locked(State(bytes: bytes)) }

    deinit {
        state.withLock { state in
            // The state gives up its reference, so that `wipe` overwrites the original and not a copy.
            guard var secret = state.bytes else { return }
            state.bytes = nil
            wipe(&secret)
        }
    }

    /// The password. `nil` if none was given. Only PKCS #12 files are decrypted then, with the empty password.
    package var bytes: [UInt8]? { state.withLock { $0.bytes } }

    /// Calls `body` with the iterations that are left, from which it subtracts its work. One caller runs at a time.
    func spending<Result, Failure: Error>(
        _ body: (inout UInt64) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(&state.iterations) }
    }

    /// The cost of a key in OpenSSL's old format: a round of MD5 and the search for its lines.
    static let oldFormatIterations: UInt64 = 20_000
}

extension KeyPassword {
    /// Creates a password from a file's contents, of which it is the first line. The contents are wiped.
    package convenience init(firstLineOf contents: consuming [UInt8]) {
        var contents = contents
        self.init(Array(contents.prefix { $0 != 0x0A && $0 != 0x0D }))
        wipe(&contents)
    }
}
