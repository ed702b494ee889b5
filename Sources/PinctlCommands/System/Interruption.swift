import PinctlLibC
import Synchronization

/// Ctrl-C (SIGINT) for commands that print what they know before they end.
enum Interruption {
    fileprivate static let isRequested = Atomic(false)
    private static let isHandled = Atomic(false)

    /// Whether the user has pressed Ctrl-C. From the first call on, the first SIGINT only sets this, and the caller ends
    /// the command. The second one ends the program.
    static var isPending: Bool {
        if !isHandled.exchange(true, ordering: .relaxed) {
            _ = signal(SIGINT, noteInterruption)
        }
        return isRequested.load(ordering: .relaxed)
    }

    /// Ends the program through the signal itself, so that a shell knows the reason and stops its script too.
    static func endProgram() {
        _ = signal(SIGINT, SIG_DFL)
        _ = raise(SIGINT)
    }
}

private func noteInterruption(_ number: Int32) {
    Interruption.isRequested.store(true, ordering: .relaxed)
    _ = signal(number, SIG_DFL)
}
