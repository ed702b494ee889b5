import Glibc

/// A shortage of descriptors: this object takes every descriptor that the process may have, until ``end()``. Use it in
/// a separate process, because nothing else in the process can open descriptors either.
package final class DescriptorShortage: Sendable {
    private let previous: rlimit
    private let taken: [Int32]

    package init() throws(TestPKIError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw .system("getrlimit")
        }
        previous = limit
        limit.rlim_cur = min(limit.rlim_cur, 512)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw .system("setrlimit")
        }
        var taken: [Int32] = []
        while case let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 {
            taken.append(descriptor)
        }
        self.taken = taken
    }

    package func end() {
        for descriptor in taken { close(descriptor) }
        var limit = previous
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
