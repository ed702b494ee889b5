import PinctlFoundation
import PinctlLibC

extension Terminal {
    /// The terminal of this process, if any.
    static var ofProcess: Terminal {
        Terminal(
            columns: isatty(1) == 1 ? columns(of: 1) : nil,
            // The reader of a pipe may write to the same terminal, behind a line that is still there.
            showsProgress: isatty(2) == 1 && !isPipe(1) && ProcessInfo.processInfo.environment["TERM"] != "dumb")
    }

    private static func isPipe(_ descriptor: Int32) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Returns the width from the terminal (`TIOCGWINSZ`), or else from the environment, or else 80.
    private static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        if unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        let text = ProcessInfo.processInfo.environment["COLUMNS"] ?? ""
        return Int(text).flatMap { (1...10_000).contains($0) ? $0 : nil } ?? 80
    }
}
