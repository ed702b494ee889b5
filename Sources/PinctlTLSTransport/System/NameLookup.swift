import CertificateTrust
import PinctlBasics
import PinctlLibC

/// A name lookup that runs a blocking function on its own threads. ``shared`` uses the system's resolver.
///
/// A name that is requested several times at once is looked up once, so that a DNS server that doesn't answer blocks
/// only one thread.
final class NameLookup: Sendable {
    /// The resolver's text for why there is no address.
    struct Failure: Error {
        let reason: String
        /// The addresses of the other family, if only one was requested and there is none.
        var others: [SocketAddress] = []
    }

    typealias Answer = @Sendable (Result<[SocketAddress], Failure>) -> Void
    /// A function that finds the addresses of a DNS name. Their port doesn't matter.
    typealias Find = @Sendable (ServerName, DialOptions.AddressFamily) -> Result<[SocketAddress], Failure>

    private struct Question: Hashable, Sendable {
        let host: ServerName
        let family: DialOptions.AddressFamily
    }

    private struct Asker: Sendable {
        let number: Int
        let port: UInt16
        let answer: Answer
    }

    private struct State {
        /// The callers that wait for an answer. A question that all of them have withdrawn has no entry.
        var askers: [Question: [Asker]] = [:]
        var running: Set<Question> = []
        /// The questions that wait for a thread. Those before ``next`` have been taken.
        var line: [Question] = []
        var next = 0
        var threads = 0
        var count = 0
    }

    /// The system's resolver (`getaddrinfo`).
    static let shared = NameLookup(find: systemAddresses)

    private let find: Find
    private let threadLimit: Int
    private let state = Locked(State())

    /// Creates a lookup. `threadLimit` is the number of names that are looked up at once. A DNS server that doesn't
    /// answer occupies a lookup for 10 to 30 seconds, even if the question is withdrawn. If that uses up all threads,
    /// other names have to wait.
    init(threadLimit: Int = 512, find: @escaping Find) {
        self.threadLimit = threadLimit
        self.find = find
    }

    /// Looks up a DNS name and calls `answer` once, on one of the lookup's threads. Throws if it can't start a thread.
    ///
    /// The returned function withdraws the question. After that `answer` need not be called, and a lookup that hasn't
    /// begun is skipped unless other callers wait for it.
    func lookUp(
        _ host: ServerName, port: UInt16, family: DialOptions.AddressFamily, answer: @escaping Answer
    ) throws(SystemError) -> @Sendable () -> Void {
        let question = Question(host: host, family: family)
        let number = try state.withLock { state throws(SystemError) in
            state.count += 1
            let isAsked = state.askers[question] != nil || state.running.contains(question)
            if !isAsked, state.threads < threadLimit {
                try startThread { self.work(on: question) }
                state.threads += 1
                state.running.insert(question)
            } else if !isAsked {
                state.line.append(question)
            }
            state.askers[question, default: []].append(Asker(number: state.count, port: port, answer: answer))
            return state.count
        }
        return { self.withdraw(number, from: question) }
    }

    private func withdraw(_ number: Int, from question: Question) {
        state.withLock { state in
            state.askers[question]?.removeAll { $0.number == number }
            if state.askers[question]?.isEmpty == true { state.askers[question] = nil }
        }
    }

    /// Runs on a lookup thread and answers questions until there are none left.
    private func work(on first: Question) {
        var next: Question? = first
        while let question = next {
            let found = find(question.host, question.family)
            let askers = state.withLock { state in
                state.running.remove(question)
                defer { next = Self.takeNext(&state) }
                return state.askers.removeValue(forKey: question) ?? []
            }
            for asker in askers { asker.answer(found.map { $0.map { $0.at(port: asker.port) } }) }
        }
    }

    /// Returns the next question that has a caller. If there is none, gives up the thread.
    private static func takeNext(_ state: inout State) -> Question? {
        while state.next < state.line.count {
            let question = state.line[state.next]
            state.next += 1
            // Moving the rest for every question would take quadratic time.
            if state.next >= 1024, state.next * 2 >= state.line.count {
                state.line.removeFirst(state.next)
                state.next = 0
            }
            // A question that was withdrawn and asked again is in line twice.
            if state.askers[question] != nil, state.running.insert(question).inserted { return question }
        }
        (state.line, state.next) = ([], 0)
        state.threads -= 1
        return nil
    }
}

/// Returns the addresses in the resolver's order (RFC 6724), without duplicates.
@Sendable private func systemAddresses(
    of host: ServerName, _ family: DialOptions.AddressFamily
) -> Result<[SocketAddress], NameLookup.Failure> {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family =
        switch family {
        case .any: AF_UNSPEC
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    unsafe hints.ai_socktype = streamSocket
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host.description, nil, &hints, &list)
    guard code == 0 else {
        let reason = unsafe code == EAI_SYSTEM ? SystemError.last.description : String(cString: gai_strerror(code))
        var failure = NameLookup.Failure(reason: reason)
        // If there is an address of the family after all, the failure was temporary.
        if family != .any, case .success(let others) = systemAddresses(of: host, .any),
            !others.contains(where: { $0.isIPv6 == (family == .ipv6) })
        {
            failure.others = others
        }
        return .failure(failure)
    }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var entry = unsafe list
    while let current = unsafe entry {
        if let address = unsafe SocketAddress(current.pointee.ai_addr, port: 0), !addresses.contains(address) {
            addresses.append(address)
        }
        unsafe entry = current.pointee.ai_next
    }
    return addresses.isEmpty ? .failure(NameLookup.Failure(reason: "no address")) : .success(addresses)
}
