import CertificateTrust
import Glibc

/// Names to addresses through the system's resolver (`getaddrinfo`), which blocks and so has threads of its own.
final class NameLookup: Sendable {
    /// The resolver's words for why there is no address.
    struct Failure: Error {
        let reason: String
    }

    private struct Job: Sendable {
        let host: String
        let port: UInt16
        let family: CInt
        let answer: @Sendable (Result<[SocketAddress], Failure>) -> Void
    }

    private struct State {
        /// Those before ``next`` have been taken.
        var waiting: [Job] = []
        var next = 0
        var threads = 0
    }

    static let shared = NameLookup()

    /// Lookups under way at once. A resolver that hangs takes one of them until it gives up; the others wait in line.
    private static let threadLimit = 64

    private let state = Locked(State())

    /// Looks a DNS name up and calls `answer` once, on a thread of the lookup's. Throws when it cannot have a thread.
    func lookUp(
        _ host: ServerName, port: UInt16, family: DialOptions.AddressFamily,
        answer: @escaping @Sendable (Result<[SocketAddress], Failure>) -> Void
    ) throws(SystemError) {
        let family =
            switch family {
            case .any: AF_UNSPEC
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        let job = Job(host: host.description, port: port, family: family, answer: answer)
        let hasThread = state.withLock { state in
            guard state.threads < Self.threadLimit else {
                state.waiting.append(job)
                return false
            }
            state.threads += 1
            return true
        }
        guard hasThread else { return }
        do throws(SystemError) {
            try startThread { self.work(from: job) }
        } catch {
            state.withLock { $0.threads -= 1 }
            throw error
        }
    }

    /// One thread's life: jobs until there are none.
    private func work(from first: Job) {
        var next: Job? = first
        while let job = next {
            job.answer(Self.addresses(for: job))
            next = state.withLock { state in
                guard state.next < state.waiting.count else {
                    (state.waiting, state.next) = ([], 0)
                    state.threads -= 1
                    return nil
                }
                let job = state.waiting[state.next]
                state.next += 1
                // To move the rest for each of them would cost the square of their number.
                if state.next >= 1024, state.next * 2 >= state.waiting.count {
                    state.waiting.removeFirst(state.next)
                    state.next = 0
                }
                return job
            }
        }
    }

    /// The addresses in the resolver's order (RFC 6724), each once.
    private static func addresses(for job: Job) -> Result<[SocketAddress], Failure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = job.family
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(job.host, nil, &hints, &list)
        guard code == 0 else {
            let reason = unsafe code == EAI_SYSTEM ? SystemError.last.description : String(cString: gai_strerror(code))
            return .failure(Failure(reason: reason))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let current = unsafe entry {
            if let address = unsafe SocketAddress(current.pointee.ai_addr, port: job.port), !addresses.contains(address)
            {
                addresses.append(address)
            }
            unsafe entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(Failure(reason: "it has no address")) : .success(addresses)
    }
}
