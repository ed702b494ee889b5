import CertificateTrust
import Glibc

/// Looks names up with a function that blocks, on threads of its own. ``shared`` is the system's resolver.
///
/// A name that is asked for several times at once is looked up once, so that one silent server takes one thread.
final class NameLookup: Sendable {
    /// The resolver's words for why there is no address.
    struct Failure: Error {
        let reason: String
    }

    typealias Answer = @Sendable (Result<[SocketAddress], Failure>) -> Void
    /// Finds the addresses of a DNS name, with any port.
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
        /// Who waits for an answer; a question that everybody has withdrawn has no entry.
        var askers: [Question: [Asker]] = [:]
        var running: Set<Question> = []
        /// Questions that wait for a thread; those before ``next`` have been taken.
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

    /// `threadLimit` is how many names are looked up at once. A silent DNS server keeps a lookup for 10 to 30 seconds,
    /// whether anybody still waits for it or not, and the other names in line if there are as many.
    init(threadLimit: Int = 512, find: @escaping Find) {
        self.threadLimit = threadLimit
        self.find = find
    }

    /// Looks a DNS name up and calls `answer` once, on a thread of the lookup's. Throws when it cannot have a thread.
    ///
    /// The function that it returns withdraws the question: then no answer has to come, and a lookup that has not begun
    /// is left out unless others wait for it.
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

    /// One thread's life: questions until there are none.
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

    /// The next question that somebody waits for; without one the thread is over.
    private static func takeNext(_ state: inout State) -> Question? {
        while state.next < state.line.count {
            let question = state.line[state.next]
            state.next += 1
            // To move the rest for each of them would cost the square of their number.
            if state.next >= 1024, state.next * 2 >= state.line.count {
                state.line.removeFirst(state.next)
                state.next = 0
            }
            // Whoever withdrew and asked again has it in line twice.
            if state.askers[question] != nil, state.running.insert(question).inserted { return question }
        }
        (state.line, state.next) = ([], 0)
        state.threads -= 1
        return nil
    }
}

/// The addresses in the resolver's order (RFC 6724), each once.
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
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host.description, nil, &hints, &list)
    guard code == 0 else {
        let reason = unsafe code == EAI_SYSTEM ? SystemError.last.description : String(cString: gai_strerror(code))
        return .failure(NameLookup.Failure(reason: reason))
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
    return addresses.isEmpty ? .failure(NameLookup.Failure(reason: "it has no address")) : .success(addresses)
}
