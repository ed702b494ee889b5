import PinctlLibC

/// Raises the soft limit on descriptors to the hard limit (`RLIMIT_NOFILE`). Each connection needs one, and the usual
/// soft limit is meant for programs that use `select`.
func raiseDescriptorLimit() {
    #if canImport(Darwin)
    // The hard limit is usually infinite, which setrlimit(2) rejects as a soft limit.
    let most = rlim_t(OPEN_MAX)
    #else
    let most = rlim_t.max
    #endif
    guard var limit = descriptorLimit() else { return }
    limit.rlim_cur = min(limit.rlim_max, most)
    _ = unsafe setrlimit(descriptors, &limit)
}

/// Returns how many connections can be open at a time. Besides them, the process has descriptors for its streams, for
/// the event loop and for libdispatch, which opens a file in /proc once a second, and traps if it can't.
func connectionLimit() -> Int {
    descriptorLimit().map { max(1, Int(clamping: $0.rlim_cur) - 10) } ?? 1
}

#if canImport(Darwin)
private let descriptors = RLIMIT_NOFILE
#else
private let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#endif

private func descriptorLimit() -> rlimit? {
    var limit = rlimit()
    return unsafe getrlimit(descriptors, &limit) == 0 ? limit : nil
}
