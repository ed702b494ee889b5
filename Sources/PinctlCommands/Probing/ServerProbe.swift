import CertificatePinning
import CertificateTrust
import TLSTransport

/// Asks servers for their chains. Nothing is judged, and no more is sent than a handshake.
struct ServerProbe: Sendable {
    /// What the command line asks for.
    let settings: ProbeSettings
    private let rate: ConnectionRate?

    /// By the flags of ``Flag/probing``; a password that was read already is not read again.
    init(_ arguments: Arguments, password: KeyPassword? = nil) throws(UsageError) {
        settings = try ProbeSettings(arguments, password: password)
        rate = settings.rate.map(ConnectionRate.init)
    }

    /// Shakes hands as often as it takes: for each key, at each address. At least one probe.
    ///
    /// `keys` and `allAddresses` are what a rule asks for; the command line's go before them. A kind of key that a
    /// server does not have is no probe where both were asked for and it has the other.
    func probes(
        of target: Target, keys: CheckSettings.Keys = .auto, allAddresses: Bool = false
    ) async -> [Probe] {
        let asked = (allAddresses || settings.allAddresses) && settings.proxy == nil
        return await ProbeRun(located(target), settings, rate).probes(keys: settings.keys ?? keys, atEach: asked)
    }

    /// The target with what the command line says about the way to it.
    private func located(_ target: Target) -> Target {
        var target = target
        if target.endpoint.route == nil { target.endpoint.route = settings.routes[target.endpoint] }
        if target.startTLS == nil { target.startTLS = settings.startTLS }
        return target
    }
}
