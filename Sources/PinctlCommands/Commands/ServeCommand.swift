import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

extension CommandDefinition {
    static let serve = CommandDefinition(
        name: "serve", summary: "answer whether programs may talk to a server", operands: "", operandCount: 0...0,
        flags: Flag.judging + [.socket, .socketMode, .counters],
        notes: [
            "The service answers questions of the guard (see pinctl run), and of programs that send the same",
            "messages. It refuses what it can't judge. Refusals are printed on standard error.",
            "",
            "A host without a rule is judged as \"unlisted\" says. Under \"trust\", its chain still has to be valid",
            "for the roots of the service. If a rule is for other ports than that of the connection, which may be",
            "a proxy's, the rule counts.",
            "",
            "If the policy can't be read after a change, the last one stays in force, and the reason is printed.",
        ],
        examples: [
            (
                "Answer the questions of programs of the same user",
                "pinctl serve --policy pins.jsonc --socket /run/user/1000/pinctl.sock"
            )
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let messages = Locked<[String]>([])
            @Sendable func note(_ message: String) {
                // Only so many are kept until they are printed.
                messages.withLock { if $0.count < 10_000 { $0.append(message) } }
            }
            let judge = try arguments.verdictJudge(in: environment, note: note)
            let counters = Locked(ServiceCounters())
            var counterFile = try arguments.counterFile()
            // Before there is a socket to remove.
            Interruption.includeTermination()
            let place = try arguments.servicePlace(in: environment)
            let service: VerdictService
            do throws(SystemError) {
                service = try VerdictService(at: place, judge) { event in
                    counters.withLock { $0.note(event) }
                    switch event {
                    case .judged(let question, let answer) where !answer.isAccepted || answer.isReported:
                        let word = answer.isAccepted ? "reported" : "refused"
                        note("\(word) \(question.server) for \(question.source): \(answer.reason)")
                    case .malformed(let reason): note("refused a malformed question: \(reason)")
                    case .judged, .connected, .started, .unused, .unguarded: break
                    }
                }
            } catch {
                throw .unusable(["\(arguments[.socket] ?? "the socket"): cannot listen: \(error)"])
            }
            console.note("ready")
            while !environment.isInterrupted() {
                for message in messages.withLock({ messages in
                    defer { messages = [] }
                    return messages
                }) {
                    console.note(message)
                }
                counterFile?.writeIfDue(&console) { counters.withLock { $0 }.text(of: judge) }
                await Transport.shared.pause(for: .milliseconds(100))
            }
            service.removeSocket()
            counterFile?.write(counters.withLock { $0 }.text(of: judge), &console)
            console.problem("interrupted", .interrupted)
        })
}

extension Arguments {
    /// Returns the place of `--socket`, or else that which systemd gives (`sd_listen_fds(3)`).
    fileprivate func servicePlace(in environment: CommandEnvironment) throws(UsageError) -> VerdictService.Place {
        let variables = environment.variables()
        guard let path = self[.socket] else {
            guard variables["LISTEN_FDS"] == "1", variables["LISTEN_PID"] == "\(processNumber)" else {
                throw .missingFlag(.socket)
            }
            return .inherited(3)
        }
        let text = self[.socketMode] ?? "0600"
        guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
            throw .invalidValue(.socketMode, reason: "\(quoted(text)) isn't a mode: give one such as 0660")
        }
        return .path(path, mode: mode)
    }
}
