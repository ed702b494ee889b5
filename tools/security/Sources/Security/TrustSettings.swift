@_spi(Attachments) import CertificateTrust
import Foundation
import PinnedNetworking
import Synchronization

/// The settings of a trust that a program can change on Apple's platforms. They are attached to the trust, which
/// doesn't use them itself.
struct TrustSettings: Sendable {
    /// The anchors that a program set.
    enum Anchors: Sendable {
        /// None: those of the trust apply.
        case unset
        case set(TrustStore)
        /// A list that can't be used, with the reason.
        case refused(TrustRefusal)
    }

    /// The policies that a program set, or the reason why they can't be used. `nil` if it set none.
    var policies: Result<[SecPolicy], TrustRefusal>?
    var anchors = Anchors.unset
    /// Whether only the anchors that were set count.
    var isAnchorsOnly = false
    /// Whether the trust was created from certificates, without a store of its own.
    var usesSystemStore = false
    /// The number of changes, and the chain that was found since the last one.
    private var changeCount = 0
    private var found: (chain: [X509Certificate], time: Date)?

    /// Returns the policies in force. A challenge's trust starts with the policy of a server with its name.
    fileprivate func policies(of trust: ServerTrust) throws(TrustRefusal) -> [SecPolicy] {
        try policies?.get() ?? [SecPolicyCreateSSL(true, trust.name.description)]
    }

    /// Returns the anchors in force.
    fileprivate func store(of trust: ServerTrust) throws(TrustRefusal) -> TrustStore {
        switch anchors {
        case .refused(let refusal): throw refusal
        case .set(let store):
            return isAnchorsOnly ? store : TrustStore(combining: [store, try ownStore(of: trust)])
        case .unset:
            guard !isAnchorsOnly else {
                throw .unusable(
                    errSecParam,
                    reason: "the trust has no anchors, and no others may be used: call SecTrustSetAnchorCertificates")
            }
            return try ownStore(of: trust)
        }
    }

    private func ownStore(of trust: ServerTrust) throws(TrustRefusal) -> TrustStore {
        guard usesSystemStore else { return trust.store }
        do throws(TrustStoreError) {
            return try SystemStore.read()
        } catch {
            throw .unusable(errSecNotAvailable, reason: "\(error)")
        }
    }
}

extension TrustSettings {
    /// Returns the verified path under the settings. Throws the reason if there is none.
    func path(of trust: ServerTrust, at time: Date) throws(TrustRefusal) -> [X509Certificate] {
        let requirement = try TrustRequirement(try policies(of: trust))
        return try requirement.path(of: trust, to: try store(of: trust), at: time)
    }

    /// Returns the verified path, or if there is none, the longest one whose signatures are valid. That one may be
    /// expired, and may end anywhere. Throws if the settings can't be used.
    func chain(of trust: ServerTrust, at time: Date) throws(TrustRefusal) -> [X509Certificate] {
        do throws(TrustRefusal) {
            return try path(of: trust, at: time)
        } catch {
            guard case .untrusted = error else { throw error }
        }
        let presented = trust.presented
        let ends = TrustStore(certificates: presented.intermediates)
        let store = TrustStore(combining: [ends, try store(of: trust)])
        var policy = trust.policy
        policy.purpose = .any
        policy.revocation = .ignore
        let claim = ChainTrust(presented: presented, store: store, policy: policy)
        for time in [time, presented.leaf.notAfter, presented.leaf.notBefore] {
            let paths = (try? claim.allPaths(at: time, limit: .max)) ?? []
            if let longest = paths.map(\.certificates).max(by: { $0.count < $1.count }) { return longest }
        }
        return [presented.leaf]
    }
}

extension TrustSettings {
    /// Returns the settings of a trust.
    init(of trust: ServerTrust) {
        self = trust.withAttachment { $0 as? TrustSettings } ?? TrustSettings()
    }

    /// Changes the settings of a trust.
    static func change(_ trust: ServerTrust, _ body: (inout TrustSettings) -> Void) {
        trust.withAttachment { attached in
            var settings = attached as? TrustSettings ?? TrustSettings()
            body(&settings)
            settings.changeCount += 1
            settings.found = nil
            attached = settings
        }
    }

    /// Returns the verified path of a trust under its settings. Throws the reason if there is none.
    ///
    /// It is also the chain that ``chain(of:at:)`` returns next, in place of one that was found before the
    /// evaluation.
    static func evaluate(_ trust: ServerTrust, at time: Date = Date()) throws(TrustRefusal) -> [X509Certificate] {
        let settings = TrustSettings(of: trust)
        let path = try settings.path(of: trust, at: time)
        settings.keep(path, at: time, of: trust)
        return path
    }

    /// Returns the chain of a trust under its settings, or nil if they can't be used.
    ///
    /// It is kept for a second, so that a loop over its certificates evaluates the trust once and sees one chain.
    static func chain(of trust: ServerTrust, at time: Date = Date()) -> [X509Certificate]? {
        let settings = TrustSettings(of: trust)
        if let found = settings.found, (0..<1).contains(time.timeIntervalSince(found.time)) { return found.chain }
        guard let chain = try? settings.chain(of: trust, at: time) else { return nil }
        settings.keep(chain, at: time, of: trust)
        return chain
    }

    /// Keeps a chain that was found under these settings, unless they have been changed meanwhile.
    private func keep(_ chain: [X509Certificate], at time: Date, of trust: ServerTrust) {
        trust.withAttachment { attached in
            var current = attached as? TrustSettings ?? TrustSettings()
            guard current.changeCount == changeCount else { return }
            current.found = (chain, time)
            attached = current
        }
    }
}

/// The operating system's trust store, read once. After a failure, the next call tries again.
private enum SystemStore {
    private static let loaded = Mutex<TrustStore?>(nil)

    static func read() throws(TrustStoreError) -> TrustStore {
        try loaded.withLock { (loaded) throws(TrustStoreError) in
            if let loaded { return loaded }
            let store = try TrustStore.system()
            loaded = store
            return store
        }
    }
}
