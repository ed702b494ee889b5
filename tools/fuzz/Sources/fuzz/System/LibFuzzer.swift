#if COVERAGE
import CLibFuzzer
import Glibc

/// Hands a target to libFuzzer. Returns its exit status.
func runLibFuzzer(_ target: FuzzTarget, _ arguments: [String]) -> CInt {
    unsafe current = target
    // libFuzzer starts itself again to merge, by a shell and with its first argument as the command.
    let command = "'\(CommandLine.arguments[0])' \(target.name) --cover"
    // libFuzzer keeps pointers to its arguments until the process ends.
    let copies = unsafe ([command] + arguments).map { unsafe strdup($0) } + [nil]
    let vector = unsafe UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: copies.count)
    unsafe vector.initialize(from: copies, count: copies.count)
    var count = unsafe CInt(copies.count - 1)
    var pointer = unsafe vector
    return unsafe LLVMFuzzerRunDriver(&count, &pointer) { data, size in
        unsafe current?.run(Array(UnsafeBufferPointer(start: data, count: size)))
        return 0
    }
}

/// The target, because libFuzzer's callback has no context. Written once, before the first call.
private nonisolated(unsafe) var current: FuzzTarget?
#endif
