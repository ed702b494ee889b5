import Glibc

/// A shortage of descriptors: the process can open no more until ``end()``, whatever it closes meanwhile. Use it in a
/// separate process, because nothing else in the process can open descriptors either.
package final class DescriptorShortage: Sendable {
    private let previous: rlimit

    package init() throws(TestPKIError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw .system("getrlimit")
        }
        previous = limit
        // A new descriptor's number must be below the limit. The three standard ones are open.
        limit.rlim_cur = 3
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw .system("setrlimit")
        }
    }

    package func end() {
        var limit = previous
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
