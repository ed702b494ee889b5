/// A way in which a call can fail.
struct Fault: Sendable, Equatable {
    /// The name in `interposer.c`.
    let call: String
    let error: String
    let code: Int32
    /// The letters of the files to which this can happen: f for regular files, d for directories, p for pipes, s for
    /// sockets, c for devices, n and o for `open` with and without `O_CREAT`, * for calls without a file.
    let kinds: String
    let mode: Mode
    /// Whether the program must go on as if nothing had happened.
    let isTransparent: Bool

    enum Mode: String, Sendable {
        case once, onward, short, end
    }

    /// The words for `TORTURE_CALL`.
    func words(_ number: Int) -> String { "\(call) \(number) \(code) \(kinds) \(mode.rawValue)" }

    var title: String { mode == .once ? "\(call) \(error)" : "\(call) \(error) \(mode.rawValue)" }
}

extension Fault {
    /// All of them. The manual page of each call lists its errors.
    static let all: [Fault] =
        rows("allocate", "*", [("ENOMEM", 12)], [.once, .onward])
        + rows("access", "*", [("EACCES", 13), ("EIO", 5), ("EROFS", 30)])
        + rows("chmod", "*", [("EPERM", 1), ("EIO", 5), ("EROFS", 30)])
        + rows("close", "fds", [("EIO", 5), ("EINTR", 4)]) + rows("close", "f", [("ENOSPC", 28), ("EDQUOT", 122)])
        + rows(
            "connect", "*",
            [
                ("ECONNREFUSED", 111), ("ETIMEDOUT", 110), ("ENETUNREACH", 101), ("EHOSTUNREACH", 113),
                ("EADDRNOTAVAIL", 99), ("EACCES", 13), ("EPERM", 1), ("ENOBUFS", 105),
            ]) + rows("connect", "*", [("EINTR", 4)], isTransparent: true)
        + rows("connect", "*", [("ENETUNREACH", 101), ("ECONNREFUSED", 111)], [.onward])
        + rows("epoll_create", "*", shortage) + rows("epoll_ctl", "*", [("ENOMEM", 12), ("ENOSPC", 28)])
        + rows("epoll_wait", "*", [("EINTR", 4)], isTransparent: true) + rows("eventfd", "*", shortage)
        + rows("flock", "*", [("ENOLCK", 37)])
        + rows("flock", "*", [("EINTR", 4), ("EWOULDBLOCK", 11)], isTransparent: true)
        + rows("flock", "*", [("EWOULDBLOCK", 11)], [.onward])
        + rows("fopen", "*", shortage + [("EACCES", 13)])
        + rows("fsync", "fd", [("EIO", 5), ("ENOSPC", 28), ("EDQUOT", 122), ("EINTR", 4)])
        + rows(
            "getaddrinfo", "*",
            [("EAI_NONAME", -2), ("EAI_AGAIN", -3), ("EAI_FAIL", -4), ("EAI_MEMORY", -10), ("EAI_SYSTEM", -11)])
        + rows("getrandom", "*", [("EIO", 5), ("ENOSYS", 38)], [.once, .onward])
        + rows(
            "getsockopt", "*", [("ECONNREFUSED", 111), ("ETIMEDOUT", 110), ("EHOSTUNREACH", 113), ("ECONNRESET", 104)])
        + rows("link", "*", disk + [("EPERM", 1), ("EACCES", 13), ("EEXIST", 17)])
        + rows("mkdir", "*", disk + [("EACCES", 13), ("EMLINK", 31)]) + rows("mmap", "*", [("ENOMEM", 12)])
        + rows("open", "no", shortage + [("EACCES", 13), ("EINTR", 4), ("EIO", 5)])
        + rows("open", "n", [("ENOSPC", 28), ("EDQUOT", 122), ("EROFS", 30)])
        + rows("open", "no", [("EMFILE", 24)], [.onward])
        + rows("poll", "*", [("ENOMEM", 12)]) + rows("poll", "*", [("EINTR", 4)], isTransparent: true)
        + rows("posix_spawn", "*", [("EAGAIN", 11), ("ENOMEM", 12)])
        + rows("pthread_create", "*", [("EAGAIN", 11)])
        + rows("read", "f", [("EIO", 5)], [.once, .onward])
        + rows("read", "fpsc", [("EINTR", 4), ("EAGAIN", 11)], isTransparent: true)
        + rows("read", "fpsc", [("bytes", 1)], [.short], isTransparent: true)
        + rows("readdir", "*", [("EIO", 5)]) + rows("readlink", "*", [("EIO", 5), ("EACCES", 13), ("ENOMEM", 12)])
        + rows("realpath", "*", [("EIO", 5), ("EACCES", 13), ("ENOMEM", 12)])
        + rows("recv", "s", [("EINTR", 4), ("EAGAIN", 11)], isTransparent: true)
        + rows("recv", "s", [("bytes", 1)], [.short], isTransparent: true)
        + rows(
            "recv", "s", [("ECONNRESET", 104), ("ETIMEDOUT", 110), ("EHOSTUNREACH", 113), ("ENOMEM", 12)],
            [.once, .onward]) + rows("recv", "s", [("bytes", 0)], [.end])
        + rows("rename", "*", disk + [("EACCES", 13), ("EPERM", 1), ("EBUSY", 16)])
        + rows("rmdir", "*", [("EIO", 5), ("EBUSY", 16)])
        + rows("send", "s", [("EINTR", 4), ("EAGAIN", 11)], isTransparent: true)
        + rows("send", "s", [("bytes", 1)], [.short], isTransparent: true)
        + rows(
            "send", "s", [("ECONNRESET", 104), ("EPIPE", 32), ("ETIMEDOUT", 110), ("ENOBUFS", 105), ("ENOMEM", 12)],
            [.once, .onward])
        + rows("setsockopt", "*", [("ENOBUFS", 105)])
        + rows("socket", "*", shortage + [("ENOBUFS", 105), ("EACCES", 13), ("EAFNOSUPPORT", 97)])
        + rows("socket", "*", [("EMFILE", 24)], [.onward])
        + rows("stat", "*", [("EIO", 5), ("EACCES", 13), ("ENOMEM", 12)])
        + rows("unlink", "*", [("EIO", 5), ("EACCES", 13), ("EPERM", 1), ("EROFS", 30), ("EBUSY", 16)])
        + rows("waitpid", "*", [("EINTR", 4)], isTransparent: true)
        + rows("write", "f", [("ENOSPC", 28), ("EDQUOT", 122), ("EIO", 5), ("EFBIG", 27)], [.once, .onward])
        + rows("write", "fps", [("EINTR", 4), ("EAGAIN", 11)], isTransparent: true)
        + rows("write", "fps", [("bytes", 1)], [.short], isTransparent: true)

    private static let shortage: [(String, Int32)] = [("EMFILE", 24), ("ENFILE", 23), ("ENOMEM", 12)]
    private static let disk: [(String, Int32)] = [("EIO", 5), ("ENOSPC", 28), ("EDQUOT", 122), ("EROFS", 30)]

    private static func rows(
        _ call: String, _ kinds: String, _ errors: [(String, Int32)], _ modes: [Mode] = [.once],
        isTransparent: Bool = false
    ) -> [Fault] {
        modes.flatMap { mode in
            errors.map { error, code in
                // A regular file is never unready.
                let kinds = code == 11 && kinds.contains("f") ? String(kinds.filter { $0 != "f" }) : kinds
                return Fault(
                    call: call, error: error, code: code, kinds: kinds, mode: mode, isTransparent: isTransparent)
            }
        }
    }
}
