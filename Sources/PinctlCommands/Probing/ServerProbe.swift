import CertificatePinning
import CertificateTrust
import TLSTransport

/// Asks servers for their chains. Nothing is judged, and no more is sent than a handshake.
struct ServerProbe: Sendable {
    private let options: DialOptions

    /// By the flags for time limits.
    init(_ arguments: Arguments) throws(UsageError) {
        var options = DialOptions()
        options.totalTimeout = try arguments.seconds(.timeout, default: 10)
        options.connectTimeout = try arguments.seconds(.connectTimeout, default: 5)
        // The whole is what is limited.
        options.resolveTimeout = options.totalTimeout
        options.handshakeTimeout = options.totalTimeout
        self.options = options
    }

    /// Shakes hands as often as the settings ask for: for each key, at each address. At least one probe.
    func probes(of target: Target, keys: CheckSettings.Keys = .auto, allAddresses: Bool = false) async -> [Probe] {
        let start = ContinuousClock.now
        let outcome: Result<ServedChain, TransportError>
        var address: String?
        do throws(TransportError) {
            let connection = try await Transport.shared.dial(target.endpoint, options: options)
            outcome = .success(ServedChain(presented: connection.presented, version: ""))
            address = connection.remoteAddress
            await connection.refuse()
        } catch {
            outcome = .failure(error)
        }
        return [Probe(target: target, address: address, key: nil, outcome: outcome, duration: .now - start)]
    }
}
