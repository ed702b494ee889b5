import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("Replacing a policy at run time")
struct PolicyStoreTests {
    private static func policy(_ number: Int) throws -> PinningPolicy {
        try PinningPolicy(rules: [PinningRule("h\(number).test", pins: [PolicyFileTests.pinA])])
    }

    /// The hosts of the policies that an observer received.
    private final class Heard: Sendable {
        private let state = Locked<[String]>([])
        var hosts: [String] { state.withLock { $0 } }
        func add(_ policy: PinningPolicy) { state.withLock { $0.append("\(policy.rules[0].host)") } }
    }

    @Test("PE19: a loaded policy doesn't change, and observers receive each new policy until they are cancelled")
    func replace() throws {
        let store = PolicyStore(try Self.policy(0))
        let (first, second) = (Heard(), Heard())
        let loaded = store.policy
        let observation = store.observe(first.add)
        store.replace(with: try Self.policy(1))
        #expect(loaded.rules[0].host.description == "h0.test")
        #expect(store.policy.rules[0].host.description == "h1.test")
        #expect(loaded.digest != store.policy.digest)
        store.observe(second.add)
        // The same policy again isn't new.
        store.replace(with: try Self.policy(1))
        observation.cancel()
        store.replace(with: try Self.policy(2))
        #expect(first.hosts == ["h0.test", "h1.test"])
        #expect(second.hosts == ["h1.test", "h2.test"])
    }

    @Test("A policy that an observer puts in the store reaches every observer after the one that it received")
    func fromInside() throws {
        let store = PolicyStore(try Self.policy(0))
        let (first, second) = (Heard(), Heard())
        let next = try Self.policy(2)
        // The store retains its observers.
        store.observe { [weak store] policy in
            first.add(policy)
            if policy.rules[0].host.description == "h1.test" { store?.replace(with: next) }
        }
        store.observe(second.add)
        store.replace(with: try Self.policy(1))
        #expect(first.hosts == ["h0.test", "h1.test", "h2.test"])
        #expect(second.hosts == ["h0.test", "h1.test", "h2.test"])
        #expect(store.policy.digest == next.digest)
    }

    @Test("After concurrent replacements, every observer ends with the current policy and never runs twice at a time")
    func concurrent() async throws {
        let store = PolicyStore(try Self.policy(0))
        let heard = Heard()
        let callers = Locked((now: 0, most: 0))
        store.observe { policy in
            callers.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            heard.add(policy)
            callers.withLock { $0.now -= 1 }
        }
        let policies = try (1...400).map(Self.policy)
        await withTaskGroup(of: Void.self) { group in
            for policy in policies { group.addTask { store.replace(with: policy) } }
        }
        #expect(callers.withLock { $0.most } == 1)
        #expect(heard.hosts.count == 401)
        #expect(Set(heard.hosts).count == 401)
        #expect(heard.hosts.last == store.policy.rules[0].host.description)
    }
}
