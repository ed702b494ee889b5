import Glibc

/// Raises the soft limit on descriptors to the hard limit (`RLIMIT_NOFILE`). Each connection needs one, and the usual
/// soft limit is meant for programs that use `select`.
func raiseDescriptorLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
