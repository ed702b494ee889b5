import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

extension ServerProbe {
    /// The maximum number of addresses of a target that are probed at a time.
    private static let addressLimit = 16
    /// The time that a server may take to reject the client certificate, which happens after the handshake in TLS 1.3.
    private static let patience = Duration.seconds(1)

    /// Runs a handshake for each key at each address, and returns at least one probe.
    ///
    /// `keys` and `allAddresses` are the settings of a rule, or the default of a command, and the command line
    /// overrides them. For `nil`, see ``CheckSettings``. If both kinds of key are requested and the server has only
    /// one, there is no probe for the other.
    func probes(
        of target: Target, keys: CheckSettings.Keys? = .auto, allAddresses: Bool? = false
    ) async -> [Probe] {
        let start = TransportTime.now
        let target = located(target)
        let keys = self.keys ?? (isSingle ? .auto : keys)
        guard choice(for: target, allAddresses) == .everyAddress else {
            return await probes(of: target, keys, at: nil, since: start)
        }
        let addresses: [SocketAddress]
        do throws(TransportError) {
            addresses = try await Transport.shared.addresses(of: target.endpoint, options: dialing, since: start)
        } catch {
            return [
                Probe(
                    target: target, address: nil, key: nil, outcome: .failure(failure(error, target)),
                    duration: .now - start)
            ]
        }
        return await withTaskGroup(of: (Int, [Probe]).self) { group in
            var found = [[Probe]](repeating: [], count: addresses.count)
            for (index, address) in addresses.enumerated() {
                if index >= Self.addressLimit, let (done, probes) = await group.next() { found[done] = probes }
                group.addTask { (index, await probes(of: target, keys, at: address, since: start)) }
            }
            for await (done, probes) in group { found[done] = probes }
            let all = found.flatMap(\.self)
            return (self.allAddresses ?? allAddresses) == nil ? all.joinedIfUnreachable : all
        }
    }

    private enum AddressChoice {
        case firstAddress, everyAddress, byProxy
    }

    /// Returns how the addresses of a target are chosen.
    private func choice(for target: Target, _ allAddresses: Bool?) -> AddressChoice {
        // mutant check-every-address: (self.allAddresses ?? allAddresses) == true by EveryAddressTests/addresses
        //   EveryAddressTests/refused
        guard (self.allAddresses ?? allAddresses) != false else { return .firstAddress }
        return proxy.proxy(for: target.endpoint) == nil ? .everyAddress : .byProxy
    }

    /// Whether a proxy chose the address of a target that may have several, and all of them were to be checked.
    func isAddressChosenByProxy(_ target: Target, allAddresses: Bool?) -> Bool {
        let target = located(target)
        return choice(for: target, allAddresses) == .byProxy
            && !(target.endpoint.route?.host ?? target.endpoint.name).isIPAddress
    }

    /// Returns the target with the address and STARTTLS protocol of the command line, if it has none of its own.
    private func located(_ target: Target) -> Target {
        var target = target
        if target.endpoint.route == nil { target.endpoint.route = routes[target.endpoint] }
        if target.startTLS == nil { target.startTLS = startTLS }
        return target
    }

    private func probes(
        of target: Target, _ keys: CheckSettings.Keys?, at address: SocketAddress?, since start: TransportTime
    ) async -> [Probe] {
        func probe(_ key: Probe.Key?) async -> Probe { await self.probe(target, key, at: address, since: start) }
        switch keys {
        case nil: return await eachKey(of: target, at: address, since: start)
        case .auto: return [await probe(nil)]
        case .rsa: return [await probe(.rsa)]
        case .ecdsa: return [await probe(.ecdsa)]
        case .both: break
        }
        async let rsa = probe(.rsa)
        let both = [await probe(.ecdsa), await rsa]
        let there = both.filter { !$0.isWithoutKey }
        // The server has neither kind of key, so it may have another, or it failed in a way that looks the same.
        guard var first = there.first else { return [await probe(nil)] }
        // If both handshakes failed for other reasons, nothing is known about either kind of key, so one failure is
        // enough.
        guard there.count < 2 || there.contains(where: \.isAnswered) else {
            first.key = nil
            return [first]
        }
        return there
    }

    /// Runs a handshake for the key that the server chooses, then one for each other kind of key, and returns a probe
    /// for each that it has. A server that doesn't answer is asked only once.
    private func eachKey(
        of target: Target, at address: SocketAddress?, since start: TransportTime
    ) async -> [Probe] {
        var first = await probe(target, nil, at: address, since: start)
        guard case .success(let served) = first.outcome else { return [first] }
        let kind = Probe.Key.allCases.first { $0.isKind(of: served.presented.leaf) }
        var others: [Probe] = []
        for key in Probe.Key.allCases where key != kind {
            // Otherwise the time that the first handshake took would count against a server that answers slowly.
            let other = await probe(target, key, at: address, since: .now)
            if !other.isWithoutKey { others.append(other) }
        }
        // The probe of a server with one kind of key needs no name.
        // mutant check-every-key: false by EveryAddressTests/keys
        guard others.contains(where: { !$0.isLost }) else { return [first] }
        first.key = kind
        return ([first] + others).withoutEndedBesides
    }

    private func failure(_ error: TransportError, _ target: Target) -> ProbeFailure {
        ProbeFailure(
            error: error, target: target, proxyHint: proxy.hint(for: target.endpoint),
            proxy: proxy.proxy(for: target.endpoint), proxyVariable: proxy.variable)
    }

    /// Runs a handshake, with retries if the server doesn't answer.
    private func probe(
        _ target: Target, _ key: Probe.Key?, at address: SocketAddress?, since start: TransportTime
    ) async -> Probe {
        let began = ContinuousClock.now
        // The time spent waiting for a turn doesn't count toward the limit.
        var start = start
        var tries = 0
        while true {
            if let rate { start += await rate.turn() }
            tries += 1
            let error: TransportError
            var tried = address?.description
            do throws(TransportError) {
                let served = try await ask(target, key, at: address, since: start, &tried)
                return Probe(
                    target: target, address: tried, proxy: proxy.proxy(for: target.endpoint), key: key,
                    outcome: .success(served), duration: .now - began, tries: tries)
            } catch let failure {
                error = failure
            }
            // Descriptors become free when other connections end, and waiting for one isn't an attempt.
            if error.isExhausted { tries -= 1 }
            let pause = error.isExhausted ? Duration.milliseconds(50) : .milliseconds(100 << min(max(tries - 1, 0), 4))
            let rest = dialing.totalTimeout - (.now - start)
            guard error.isWorthTrying, tries <= retries, pause < rest, !Task.isCancelled else {
                // Behind a proxy, the address is the proxy's.
                let proxy = proxy.proxy(for: target.endpoint)
                let last = proxy == nil ? error.lastAddress : nil
                return Probe(
                    target: target, address: tried ?? last, proxy: proxy, key: key,
                    outcome: .failure(failure(error, target)), duration: .now - began, tries: tries)
            }
            await Transport.shared.pause(for: pause)
        }
    }

    private func ask(
        _ target: Target, _ key: Probe.Key?, at address: SocketAddress?, since start: TransportTime,
        _ reached: inout String?
    ) async throws(TransportError) -> ServedChain {
        var options = dialing
        options.serverKey = key
        let proxy = proxy.proxy(for: target.endpoint)
        let connection: PendingConnection
        do throws(TransportError) {
            connection = try await Transport.shared.dial(
                target.endpoint, startTLS: target.startTLS, at: address, through: proxy, options: options, since: start,
                onConnect: { reached = $0 })
        } catch .otherVersion(let peer, nil, let offered) where offered.count > 1 {
            var start = start
            // mutant rate-question: { } by ProbeTests/rateOfOldVersion
            if let rate { start += await rate.turn() }
            let newest = await Transport.shared.oldVersion(
                of: target.endpoint, startTLS: target.startTLS, at: address, through: proxy, options: options,
                since: start)
            throw .otherVersion(peer: peer, newest: newest, offered: offered)
        }
        var served = ServedChain(
            presented: connection.presented, version: connection.version, cipherSuite: connection.cipherSuite,
            group: connection.group)
        served.timestamps = connection.timestamps
        if let identity = identity {
            let (outcome, staple) = try await connection.show(identity, patience: Self.patience)
            served.identity = outcome
            served.staple = staple
        } else {
            served.staple = try await connection.staple()
        }
        return served
    }
}

extension Probe {
    fileprivate var isAnswered: Bool {
        if case .success = outcome { true } else { false }
    }

    /// Whether the server has no key of the requested kind.
    fileprivate var isWithoutKey: Bool { if case .otherKey? = failure?.error { true } else { false } }

    /// Whether this machine has no route to any of the addresses that were tried.
    var isUnrouted: Bool {
        guard case .unreachable(_, let attempts)? = failure?.error else { return false }
        return !attempts.isEmpty && attempts.allSatisfy(\.isUnrouted)
    }
}

extension [Probe] {
    /// One probe with the attempts at all addresses if nothing accepted a connection at any of them, since the target
    /// as a whole is then unreachable.
    fileprivate var joinedIfUnreachable: [Probe] {
        let failures = compactMap(\.failure)
        let known = failures.compactMap { failure in
            if case .unreachable(_, let attempts) = failure.error { attempts } else { nil }
        }
        guard count > 1, known.count == count, let first, let last, var failure = failures.first else { return self }
        failure.error = .unreachable(peer: first.target.endpoint.description, attempts: known.flatMap(\.self))
        return [
            Probe(
                target: first.target, address: last.address, key: nil, outcome: .failure(failure),
                duration: map(\.duration).max() ?? .zero, tries: map(\.tries).max() ?? 1)
        ]
    }
}

extension TransportError {
    fileprivate var isExhausted: Bool {
        if case .exhausted("a socket", _) = self { true } else { false }
    }

    /// Whether the error may be temporary: the server didn't answer, or this process was out of descriptors.
    fileprivate var isWorthTrying: Bool {
        switch self {
        case .unreachable, .timedOut(.connect, _, _): true
        default: isExhausted
        }
    }

    /// The last address that was tried.
    fileprivate var lastAddress: String? {
        if case .unreachable(_, let attempts) = self { attempts.last?.address } else { nil }
    }
}
