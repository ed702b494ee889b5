import PinctlLibC

/// Raises the soft limit on descriptors to the hard limit (`RLIMIT_NOFILE`). Each connection needs one, and the usual
/// soft limit is meant for programs that use `select`.
func raiseDescriptorLimit() {
    #if canImport(Darwin)
    let descriptors = RLIMIT_NOFILE
    // The hard limit is usually infinite, which setrlimit(2) rejects as a soft limit.
    let most = rlim_t(OPEN_MAX)
    #else
    let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let most = rlim_t.max
    #endif
    var limit = rlimit()
    guard unsafe getrlimit(descriptors, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, most)
    _ = unsafe setrlimit(descriptors, &limit)
}
