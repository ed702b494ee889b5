import Glibc

/// Lets this process have as many descriptors as it may (`RLIMIT_NOFILE`, the soft limit up to the hard one): each
/// connection takes one, and the usual soft limit is for programs that use `select`.
func raiseDescriptorLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
