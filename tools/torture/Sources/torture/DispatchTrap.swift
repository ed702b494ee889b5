import FoundationEssentials
import PinctlTestPKI
import Synchronization

/// The traps of libdispatch, on which Swift's tasks run: it ends a process that has no descriptor or memory for its own
/// event loop. Nothing in this project can prevent that, so they aren't findings.
enum DispatchTrap {
    private static let names = Mutex<[String: String]>([:])

    /// Returns whether the call that failed is one of libdispatch.
    static func explains(_ outcome: Campaign.Outcome, of program: String) -> Bool {
        guard let offset = outcome.caller.split(separator: "+").last else { return false }
        return names.withLock { names in
            let known = names[outcome.caller]
            let name =
                known ?? (try? TestCommand.run(["addr2line", "-f", "-e", program, String(offset)]))?.text
                .split(separator: "\n").first.map(String.init) ?? ""
            names[outcome.caller] = name
            return name.hasPrefix("_dispatch_")
        }
    }
}
