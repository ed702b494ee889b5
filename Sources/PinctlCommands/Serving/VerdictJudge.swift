import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

/// A judge that answers questions under a policy, and reads the policy again when its file changes.
final class VerdictJudge: Sendable {
    /// The policy and the roots, read from files.
    struct Settings: Sendable {
        let policy: PinningPolicy
        let store: TrustStore
        let trust: TrustPolicy
    }

    private struct State {
        var settings: Settings
        /// The versions of the files that the settings were read from.
        var versions: [FileVersion?]
        var loaded: TransportTime
        /// The answers of one second, by the digests of their questions.
        var answers: [[UInt8]: VerdictAnswer] = [:]
        var second = 0
        /// The accepted chains by the digests of their leaves. A resumed session may have kept the leaf alone.
        var chains: [[UInt8]: [[UInt8]]] = [:]
        /// The number of times that the settings were read again, and that this failed.
        var generation = 0
        var failures = 0
    }

    private let state: Locked<State>
    private let files: [String]
    private let load: @Sendable () throws(UsageError) -> Settings
    private let now: @Sendable () -> Date
    private let note: @Sendable (String) -> Void

    /// The number of answers and of chains that are kept.
    private static let maximumKept = 4_096
    /// The time after which settings are read again, in case that a file changed that the policy names.
    private static let longestUse = Duration.seconds(5)

    /// Creates a judge whose settings are read again when one of the files changes. `note` gets the reasons why that
    /// failed.
    init(
        files: [String], now: @escaping @Sendable () -> Date, note: @escaping @Sendable (String) -> Void,
        _ load: @escaping @Sendable () throws(UsageError) -> Settings
    ) throws(UsageError) {
        // Before the files are read, so that no change is missed.
        let versions = files.map { FileVersion($0) }
        (self.files, self.load, self.now, self.note) = (files, load, now, note)
        state = Locked(State(settings: try load(), versions: versions, loaded: .now))
    }

    /// Reads the settings again if a file has changed. If that fails, the last ones stay in force, so that a file that
    /// is being written doesn't stop every program.
    func refresh() {
        let versions = files.map { FileVersion($0) }
        let isDue = state.withLock { state in
            let isDue = versions != state.versions || TransportTime.now - state.loaded > Self.longestUse
            if isDue { (state.versions, state.loaded) = (versions, .now) }
            return isDue
        }
        guard isDue else { return }
        do throws(UsageError) {
            let settings = try load()
            state.withLock { state in
                state.settings = settings
                state.generation += 1
                state.answers = [:]
            }
        } catch {
            state.withLock { $0.failures += 1 }
            for message in error.messages { note("the last policy stays in force: \(message)") }
        }
    }

    /// The number of times that the settings were read again, and that this failed.
    var loads: (succeeded: Int, failed: Int) { state.withLock { ($0.generation, $0.failures) } }

    /// Returns the answer to a question that was asked before in the same second. All times that a verdict depends on
    /// are whole seconds.
    func knownAnswer(to digest: [UInt8]) -> VerdictAnswer? {
        let second = second(of: now())
        // mutant verdict-second: true for `state.second == second` by VerdictJudgeTests/times
        return state.withLock { state in state.second == second ? state.answers[digest] : nil }
    }

    private func second(of time: Date) -> Int { Int(time.timeIntervalSince1970.rounded(.down)) }

    /// Judges a question with this digest.
    func answer(to question: VerdictMessage, digest: [UInt8]) -> VerdictAnswer {
        let (settings, generation) = state.withLock { ($0.settings, $0.generation) }
        let time = now()
        let answer = judge(question, settings, at: time)
        let second = second(of: time)
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.second != second || state.answers.count >= Self.maximumKept { state.answers = [:] }
            state.second = second
            state.answers[digest] = answer
            guard answer.isAccepted, question.certificates.count > 1 else { return }
            if state.chains.count >= Self.maximumKept { state.chains = [:] }
            let leaf = question.certificates[0]
            state.chains[sha256Digest(leaf.span)] = question.certificates
        }
        return answer
    }

    private func judge(_ question: VerdictMessage, _ settings: Settings, at time: Date) -> VerdictAnswer {
        func refused(_ reason: String) -> VerdictAnswer { VerdictAnswer(isAccepted: false, reason: oneLine(reason)) }
        let policy = settings.policy
        let names: [ServerName]
        if let text = question.host {
            do throws(ServerNameError) {
                // A fully qualified name may end with a dot.
                names = [try ServerName(text.hasSuffix(".") ? String(text.dropLast()) : text)]
            } catch {
                return refused(error.description)
            }
        } else if let address = question.address.flatMap({ try? ServerName($0) }),
            policy.unlisted == .refuse || !policy.rules(covering: address).isEmpty
        {
            names = [address]
        } else {
            names = []
        }
        let unknown = "the name of the server isn't known"
        // Clients send no name for an address, and that of the peer may be a proxy's. Any rule for one may be meant.
        // mutant verdict-nameless: true for `policy.unlisted == .trust` by VerdictJudgeTests
        guard !names.isEmpty || policy.unlisted == .trust && !policy.rules.contains(where: \.isOfAddress) else {
            return refused("\(unknown), and the policy has rules for addresses or refuses unlisted hosts")
        }
        let presented: PresentedChain
        do throws(PresentedChainError) {
            presented = try PresentedChain(derCertificates: whole(question.certificates))
        } catch {
            // mutant verdict-no-chain: true for `policy.unlisted == .trust` by VerdictJudgeTests
            guard question.certificates.isEmpty, policy.unlisted == .trust, let name = names.first,
                policy.rules(covering: name).isEmpty
            else {
                return refused(question.certificates.isEmpty ? "the server presented no certificate" : "\(error)")
            }
            return VerdictAnswer(
                isAccepted: true, reason: "no certificate was presented, and no rule covers the host")
        }
        // Without a name, the certificate has to be valid for its own, and match the rules of all of them.
        let own = names.isEmpty ? presented.leaf.serverNames : names
        let covered = own.filter { !policy.rules(covering: $0).isEmpty }
        let judged = covered.isEmpty ? Array(own.prefix(1)) : covered
        guard !judged.isEmpty else { return refused("\(unknown), and its certificate has none") }
        var evidence = RevocationEvidence.none
        evidence.stapledOCSP = question.stapledOCSP
        var accepted = VerdictAnswer(isAccepted: true, reason: "")
        for name in judged {
            let trust = ServerTrust(
                presented: presented, name: name, store: settings.store, policy: settings.trust, revocation: evidence,
                transparency: TransparencyEvidence(logs: nil, handshakeTimestamps: question.timestamps))
            for port in Self.ports(of: question.port.map(Int.init), for: name, policy) {
                do throws(PinningError) {
                    let decision = try policy.evaluate(trust, port: port, at: time)
                    let isReported = accepted.isReported || decision.isReported
                    // The reason is the worst one.
                    let isWorse = decision.isReported || !accepted.isReported
                    accepted = VerdictAnswer(
                        isAccepted: true, reason: isWorse ? oneLine("\(decision)") : accepted.reason,
                        pin: decision.matchedPin, isNameless: names.isEmpty, isReported: isReported)
                } catch {
                    return refused("\(error.summarized(true))")
                }
            }
        }
        return accepted
    }

    /// Returns the ports at which to judge a host. The port isn't known if the client has no socket of its own, and is
    /// that of a proxy if there is one. Then every rule of the host has to accept.
    static func ports(of port: Int?, for name: ServerName, _ policy: PinningPolicy) -> [Int] {
        if let port, policy.rule(for: name, port: port) != nil { return [port] }
        // mutant verdict-port: [Int]() for `policy.rules(covering: name).compactMap { $0.ports?.min() ?? 443 }` by
        //   VerdictJudgeTests
        let ruled = policy.rules(covering: name).compactMap { $0.ports?.min() ?? 443 }
        return ruled.isEmpty ? [port ?? 443] : ruled
    }

    /// Returns the whole chain of a leaf that was presented alone, if one was accepted before. Certificates prove
    /// themselves, so it doesn't matter who presented them.
    private func whole(_ certificates: [[UInt8]]) -> [[UInt8]] {
        guard certificates.count == 1 else { return certificates }
        let leaf = certificates[0]
        let digest = sha256Digest(leaf.span)
        // mutant verdict-leaf-alone: certificates for `state.withLock { $0.chains[digest] } ?? certificates` by
        //   VerdictJudgeTests
        return state.withLock { $0.chains[digest] } ?? certificates
    }
}

/// Returns the first line of a text.
private func oneLine(_ text: String) -> String { visibleText(String(text.prefix { !$0.isNewline })) }

extension X509Certificate {
    /// The names of the certificate that are those of a server, without wildcards.
    fileprivate var serverNames: [ServerName] {
        subjectAlternativeNames.prefix(100).compactMap { try? ServerName($0.description) }
    }
}

extension PinningRule {
    fileprivate var isOfAddress: Bool { host.addressBytes != nil }
}

extension PinDecision {
    /// Whether the server is accepted without its pins, although they are set.
    fileprivate var isReported: Bool {
        switch self {
        // mutant verdict-reported: false by VerdictJudgeTests/reported
        case .forgiven, .bypassed, .stopped: return true
        default: return false
        }
    }

    /// The first pin that matched, if any.
    fileprivate var matchedPin: String? {
        guard case .matched(_, let matches, _) = self else { return nil }
        return matches.first.map { "\($0.pin.fingerprint)" }
    }
}
