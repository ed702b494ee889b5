import CertificateTrust
import PinctlTLSTransport

/// The reason why there is no chain from a server, with the remedy in the words of pinctl's flags.
struct ProbeFailure: Error, Sendable, CustomStringConvertible {
    var error: TransportError
    let target: Target
    /// The reason why no proxy of the environment is used for the host, if it may matter.
    var proxyHint: String?
    /// The proxy that was used for the host, if any.
    var proxy: CleartextProxy?
    /// The environment variable that set the proxy, if there is one.
    var proxyVariable: String?

    /// The failure in one line: where, what, and what to do. It follows the target, which it doesn't repeat.
    var description: String { located("\(problem): \(remedy)") }

    /// Returns a text after the place of the failure, if that is more than the target.
    func located(_ text: String) -> String {
        guard let peer = error.peer else { return text }
        let place = peer.trimmingPrefix("\(target.endpoint)").trimmingPrefix(" at").trimmingPrefix(" ")
        return place.isEmpty ? text : "\(place): \(text)"
    }

    /// The failure without its place and its remedy.
    var problem: String {
        guard let lostProxy else {
            guard case .unreachable(let peer, let attempts) = error else { return error.problem }
            let isOnly = attempts.count == 1 && peer.hasSuffix("\(attempts[0].address)")
            let reasons = attempts.map { isOnly ? $0.reason : "\($0.address) \($0.reason)" }
            return "could not connect (\(reasons.joined(separator: ", ")))"
        }
        // Its text names the proxy already.
        if case .unreachable = error { return error.problem }
        if case .timedOut(.connect, _, _) = error { return error.problem }
        return "could not connect to the proxy \(lostProxy.place), \(error.problem)"
    }

    /// The failure without the host, for all hosts that fail in the same way.
    var groupTitle: String {
        guard let lostProxy else { return error.groupTitle }
        guard case .unreachable(_, let attempts) = error else { return problem }
        return "could not connect to the proxy \(lostProxy.place) (\(ConnectAttempt.reasons(attempts)))"
    }

    /// The reason as a stable word that doesn't change between versions.
    var reasonWord: String { lostProxy == nil ? error.reasonWord : "proxy" }

    /// The proxy, if it is the one that wasn't reached: the host behind it is then neither resolved nor connected to
    /// on this machine.
    private var lostProxy: CleartextProxy? {
        switch error {
        case .unresolvable, .noAddress, .unreachable, .timedOut(.resolve, _, _), .timedOut(.connect, _, _): proxy
        default: nil
        }
    }

    /// The step to take.
    var remedy: String {
        guard lostProxy == nil else { return proxyRemedy }
        guard let proxyHint, isBeforeTLS else { return ownRemedy }
        return "\(ownRemedy); \(proxyHint)"
    }

    /// The step for several targets that fail alike, which names none of them.
    var sharedRemedy: String { remedy.replacing(plain.operand, with: "HOST:\(target.endpoint.port)") }

    /// Whether a proxy would have made a difference: nothing at the other end has answered.
    private var isBeforeTLS: Bool {
        switch error {
        case .unresolvable, .unreachable, .timedOut(.resolve, _, _), .timedOut(.connect, _, _), .timedOut(.hello, _, _),
            .lostDuringHandshake(_, _, isAnswered: false):
            true
        default: false
        }
    }

    private var ownRemedy: String {
        switch error {
        case .notTLS(_, let answer):
            return answer.otherProtocol == "HTTP"
                ? "use the port of HTTPS, which is often 443"
                : hint(answer.upgradable.sorted { isUsual($0) && !isUsual($1) })
                    ?? (answer.otherProtocol == nil ? cleartextHint : nil) ?? error.remedy
        case .timedOut(.hello, _, _), .lostDuringHandshake(_, _, isAnswered: false):
            return hint(StartTLSProtocol.allCases.filter(isUsual)) ?? cleartextHint
                ?? raising(error.remedy) + " (pinctl help targets shows how to write servers that start in plaintext)"
        case .timedOut(.greeting, _, _), .startTLSNeedless:
            return
                "write \(direct.map { "\($0)://" } ?? "")\(plain.operand), if the port speaks TLS from the first byte"
        case .noAddress(_, let family, _):
            return
                "leave out \(family == .ipv6 ? Flag.ipv6.dashed : Flag.ipv4.dashed), or give a host with such an "
                + "address"
        case .otherKey:
            return "request another kind of key with \(Flag.keys.dashed), or any with \(Flag.keys.dashed) auto"
        case .otherVersion(_, _, ["TLS 1.3"]): return "leave out \(Flag.minimumTLS.dashed), or \(error.remedy)"
        case .otherVersion(_, _, ["TLS 1.2"]): return "leave out \(Flag.maximumTLS.dashed), or \(error.remedy)"
        case .tunnelRefused(_, .status(407, hadLogin: false)), .relayRefused(_, .noMethod(hadLogin: false)):
            return proxyVariable.map { "write USER:PASSWORD@ before the host in \($0)" }
                ?? "give USER:PASSWORD in a file with \(Flag.proxyLogin.dashed) FILE"
        case .tunnelRefused(_, .status(407, hadLogin: true)), .relayRefused(_, .refusedLogin):
            return "correct the login in \(proxyVariable ?? "the file of \(Flag.proxyLogin.dashed)")"
        case .unreachable(_, let attempts) where isBlocked(attempts):
            return error.remedy + "; the name resolves to this machine, so check DNS and /etc/hosts too"
        case _ where error.isUnknownName:
            return error.remedy + "; \(Flag.sni.dashed) sends another name"
        default: return raising(error.remedy)
        }
    }

    /// The step if the proxy wasn't reached.
    private var proxyRemedy: String {
        let setting = proxyVariable ?? Flag.proxy.dashed
        switch error {
        case .unresolvable: return "check the proxy's name in \(setting), and this machine's DNS"
        case .noAddress(_, let family, _):
            return "leave out \(family == .ipv6 ? Flag.ipv6.dashed : Flag.ipv4.dashed), or give a proxy with such an "
                + "address in \(setting)"
        case .unreachable(_, let attempts) where attempts.contains(where: \.error.isRefusal):
            return "check the proxy: its host and port in \(setting), and that it is running"
        default: return "check the proxy's host and port in \(setting), or \(raising(error.remedy))"
        }
    }

    /// The step of a time limit with the flag that raises it.
    private func raising(_ text: String) -> String {
        guard case .timedOut(let phase, _, _) = error else { return text }
        return text.replacing(
            "raise the limit", with: "raise \(phase == .connect ? Flag.connectTimeout.dashed : Flag.timeout.dashed)")
    }

    /// Returns the way to write the target for these protocols, or `nil` if there are none or it has one already.
    private func hint(_ protocols: [StartTLSProtocol]) -> String? {
        guard target.startTLS == nil, !protocols.isEmpty else { return nil }
        let ways = protocols.prefix(2).map { Target(target.endpoint, startTLS: $0).operand }
        return "try \(ways.joined(separator: " or "))"
    }

    /// Whether the target's port is the usual one of a protocol that starts in cleartext.
    private func isUsual(_ spoken: StartTLSProtocol) -> Bool {
        let ports = [target.endpoint.port, target.endpoint.route?.port]
        return ports.contains(spoken.defaultPort) || spoken == .smtp && ports.contains(587)
    }

    /// The usual ports of protocols that don't begin with TLS, and their ports with TLS. `nil` stands for a start of
    /// TLS that isn't supported.
    private static let cleartext: [UInt16: (name: String, secure: UInt16?)] = [
        1433: ("SQL Server", nil), 1883: ("MQTT", 8883), 3389: ("RDP", nil), 5672: ("AMQP", 5671),
    ]

    /// The step for a port that usually has another protocol than TLS.
    private var cleartextHint: String? {
        let port = target.endpoint.port
        guard let usual = Self.cleartext[port] else { return nil }
        return usual.secure.map {
            "use the port with TLS, often \($0), because \(port) is usually \(usual.name) without TLS"
        }
            ?? "check its certificate file with \(Flag.files.dashed), because port \(port) is usually \(usual.name), "
            + "which starts TLS in a way that isn't supported"
    }

    /// Whether a DNS name led only to this machine, as DNS filters do that block a name.
    private func isBlocked(_ attempts: [ConnectAttempt]) -> Bool {
        guard target.endpoint.route == nil, !target.endpoint.name.isIPAddress,
            target.endpoint.name.description != "localhost"
        else { return false }
        return !attempts.isEmpty
            && attempts.allSatisfy { attempt in
                ["127.", "0.0.0.0:", "[::1]:", "[::]:"].contains { attempt.address.hasPrefix($0) }
            }
    }

    /// The target without its protocol.
    private var plain: Target { Target(target.endpoint) }

    /// The scheme with TLS from the first byte whose port the target has.
    private var direct: String? {
        Target.implicit.first { $0.key != "https" && $0.value == target.endpoint.port }?.key
    }
}
