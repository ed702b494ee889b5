import Glibc

/// The most memory that this process had at once, in KiB.
func peak() -> Int {
    var usage = rusage()
    return unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 ? usage.ru_maxrss : 0
}

/// Prints a line at once: what is buffered is lost with a trap.
func report(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = unsafe write(1, line, line.count)
}
