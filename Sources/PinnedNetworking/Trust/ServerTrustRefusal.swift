/// Why no request goes to a server.
enum ServerTrustRefusal: Error {
    /// A delegate cancelled the request.
    case cancelled
    /// A delegate rejected the protection space.
    case rejected(ServerName)
    /// A delegate answered with no credential, with one of another kind, or with the trust of another challenge.
    case foreignCredential(ServerName)
    /// The chain is not trusted, or the policy refuses it; with what may be behind it.
    case refused(PinningError, ServerName, port: Int, PinDiagnosis? = nil)
}

extension ServerTrustRefusal {
    /// The same with what may be behind pins that do not match: the chain as it was sent is looked at for it.
    func explained(_ trust: ServerTrust, by policy: PinningPolicy?) -> ServerTrustRefusal {
        guard let policy, case .refused(.mismatch(let mismatch), let name, let port, nil) = self else { return self }
        let diagnosis = PinDiagnosis(of: trust, port: port, by: policy, at: Date())
        return .refused(.mismatch(mismatch), name, port: port, diagnosis)
    }
}

extension ServerTrustRefusal: CustomStringConvertible {
    var description: String {
        switch self {
        case .cancelled: "a delegate cancelled the server trust challenge: look in the delegate for why"
        case .rejected(let name): "a delegate rejected \(name): look in the delegate for why"
        case .foreignCredential(let name):
            "a delegate answered the server trust challenge of \(name) with something else than its own trust: answer "
                + ".performDefaultHandling to methods that you do not mean, and URLCredential(trust:) of "
                + "protectionSpace.serverTrust to accept the server"
        case .refused(.untrusted(let finding), let name, let port, _): "\(name) port \(port) is not trusted: \(finding)"
        case .refused(let error, _, _, let diagnosis):
            ([error.description] + (diagnosis?.causes.map(\.description) ?? [])).joined(separator: "\n")
        }
    }
}

/// No request goes to a proxy, and none through it.
struct ProxyTrustRefusal: Error, CustomStringConvertible {
    let name: ServerName
    let port: UInt16
    let refusal: ServerTrustRefusal

    var description: String { "the proxy \(name) port \(port) was refused: \(refusal)" }
}
