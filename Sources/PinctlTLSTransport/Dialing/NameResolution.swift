import CertificateTrust

/// A resolver that answers in a callback on another thread, and returns a function that withdraws the question.
/// ``NameLookup/shared`` is the system's resolver.
typealias LookUp = (
    _ host: ServerName, _ port: UInt16, _ family: DialOptions.AddressFamily, _ answer: @escaping NameLookup.Answer
) throws(SystemError) -> @Sendable () -> Void

/// Returns the addresses of a host in the order in which to try them. An IP address stands for itself. A name is looked
/// up.
func resolve(
    _ host: ServerName, port: UInt16, family: DialOptions.AddressFamily, until deadline: Deadline, on loop: EventLoop,
    lookUp: LookUp = NameLookup.shared.lookUp
) async throws(TransportError) -> [SocketAddress] {
    if let address = SocketAddress(host, port: port) {
        guard family == .any || (family == .ipv6) == address.isIPv6 else {
            throw .noAddress(host: host, of: family, others: [host.description])
        }
        return [address]
    }
    let answer = OneShot<[SocketAddress]>()
    let timer = loop.schedule(at: deadline.instant) { answer.give(.failure(deadline.error)) }
    defer { loop.cancel(timer) }
    let withdraw: @Sendable () -> Void
    do throws(SystemError) {
        withdraw = try lookUp(host, port, family) { result in
            answer.give(
                result.mapError { failure in
                    failure.others.isEmpty
                        ? .unresolvable(host: host, reason: failure.reason)
                        : .noAddress(host: host, of: family, others: failure.others.map(\.host))
                })
        }
    } catch {
        throw .exhausted(what: "a thread for name resolution", reason: error.description)
    }
    defer { withdraw() }
    return interleaved(try await answer.value())
}

/// Alternates the address families, beginning with that of the first address (RFC 8305, section 4).
func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first else { return [] }
    let preferred = addresses.filter { $0.isIPv6 == first.isIPv6 }
    let others = addresses.filter { $0.isIPv6 != first.isIPv6 }
    return (0..<max(preferred.count, others.count)).flatMap { index in
        [preferred, others].compactMap { $0.indices.contains(index) ? $0[index] : nil }
    }
}
