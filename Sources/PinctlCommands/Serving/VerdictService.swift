import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// The verdict service: a judge at a Unix socket.
final class VerdictService: Sendable {
    /// Something that happened, for those who watch.
    enum Event: Sendable {
        case judged(VerdictMessage, VerdictAnswer)
        case connected(VerdictMessage)
        case started(VerdictMessage)
        case unused(VerdictMessage)
        case unguarded(VerdictMessage)
        /// A client sent something that isn't a message.
        case malformed(String)
    }

    /// The place at which the service answers.
    enum Place {
        /// A path, and the mode of the file.
        case path(String, mode: UInt32)
        /// A socket that the process inherited, such as systemd's.
        case inherited(Int32)
    }

    private let server: LocalServer

    init(at place: Place, _ judge: VerdictJudge, _ report: @escaping @Sendable (Event) -> Void) throws(SystemError) {
        let handler: LocalServer.Handler = { frame in
            let message: VerdictMessage
            do throws(VerdictMessageError) {
                guard let frame else {
                    throw VerdictMessageError("the message is longer than \(VerdictMessage.maximumSize) bytes")
                }
                message = try VerdictMessage(frame)
            } catch {
                report(.malformed(error.reason))
                let answer = VerdictAnswer(isAccepted: false, reason: "malformed question: \(error.reason)")
                return .lastAnswer(answer.frame)
            }
            switch message.kind {
            case .connected:
                report(.connected(message))
                return .none
            case .started:
                report(.started(message))
                return .none
            case .unused:
                report(.unused(message))
                return .none
            case .unguarded:
                report(.unguarded(message))
                return .none
            case .question:
                judge.refresh()
                let digest = message.digest
                if let answer = judge.knownAnswer(to: digest) {
                    report(.judged(message, answer))
                    return .answer(answer.frame)
                }
                return .work {
                    let answer = judge.answer(to: message, digest: digest)
                    report(.judged(message, answer))
                    return answer.frame
                }
            }
        }
        server =
            switch place {
            case .path(let path, let mode):
                try LocalServer(path: path, mode: mode, frameLimit: VerdictMessage.maximumSize, handler)
            case .inherited(let descriptor):
                try LocalServer(descriptor: descriptor, frameLimit: VerdictMessage.maximumSize, handler)
            }
    }
}

extension VerdictService {
    /// Removes the file of the socket, unless another service's is at its path now.
    func removeSocket() { server.removeFile() }

    /// Handles everything that clients have sent until now.
    func drain() async { await server.drain() }
}

extension Arguments {
    /// Returns the judge of the flags' policy and roots.
    func verdictJudge(
        in environment: CommandEnvironment, note: @escaping @Sendable (String) -> Void
    ) throws(UsageError) -> VerdictJudge {
        guard let path = self[.policy] else { throw .missingFlag(.policy) }
        guard path != "-" else {
            throw .invalidValue(.policy, reason: "the policy is read again when it changes: give a file")
        }
        return try VerdictJudge(files: [path] + all(.caFile), now: environment.now, note: note) {
            () throws(UsageError) in
            guard case .policy(let file) = try pinSource() else { throw .missingFlag(.policy) }
            var store = try trustStore(in: environment)
            if has(.systemRoots) { store = TrustStore(combining: [store, try Self.systemStore(in: environment)]) }
            return VerdictJudge.Settings(policy: file.policy, store: store, trust: try trustPolicy())
        }
    }
}
