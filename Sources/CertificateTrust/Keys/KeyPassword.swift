import OpenSSLBridge

/// The password that the encrypted keys of some files are opened with, and the work that is left for all of them: a
/// folder of files that ask for two seconds each would take hours. The password is wiped when this goes.
package final class KeyPassword: Sendable {
    private struct State {
        var bytes: [UInt8]?
        /// Iterations that are left.
        var iterations = 5 * iterationLimit
    }

    private let state: Locked<State>

    package init(_ bytes: [UInt8]? = nil) { state = Locked(State(bytes: bytes)) }

    deinit {
        state.withLock { state in
            // One reference is left, so that no copy is wiped instead.
            guard var secret = state.bytes else { return }
            state.bytes = nil
            wipe(&secret)
        }
    }

    /// Nil when none was given: then only what the empty password opens is opened.
    package var bytes: [UInt8]? { state.withLock { $0.bytes } }

    /// Lets `body` pay for its work from the iterations that are left, one caller at a time.
    func spending<Result, Failure: Error>(
        _ body: (inout UInt64) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(&state.iterations) }
    }

    /// What a key in OpenSSL's old format is charged: a round of MD5, and a walk to its lines.
    static let oldFormatIterations: UInt64 = 20_000
}

extension KeyPassword {
    /// A password as it stands in a file: its first line. The rest is wiped.
    package convenience init(firstLineOf contents: consuming [UInt8]) {
        var contents = contents
        self.init(Array(contents.prefix { $0 != 0x0A && $0 != 0x0D }))
        wipe(&contents)
    }
}
