import CertificatePinning
import CertificateTrust
import TLSTransport

/// A client that fetches chains from servers. It evaluates nothing, and sends only a handshake.
struct ServerProbe: Sendable {
    /// The settings of the command line.
    let settings: ProbeSettings
    private let rate: ConnectionRate?

    /// Creates a probe from the flags in ``Flag/probing``. A password that was already read isn't read again.
    init(_ arguments: Arguments, password: KeyPassword? = nil) throws(UsageError) {
        settings = try ProbeSettings(arguments, password: password)
        rate = settings.rate.map(ConnectionRate.init)
    }

    /// Runs a handshake for each key at each address, and returns at least one probe.
    ///
    /// `keys` and `allAddresses` are the settings of a rule, which the command line overrides. If both kinds of key are
    /// requested and the server has only one, there is no probe for the other.
    func probes(
        of target: Target, keys: CheckSettings.Keys = .auto, allAddresses: Bool = false
    ) async -> [Probe] {
        let asked = (allAddresses || settings.allAddresses) && settings.proxy == nil
        return await ProbeRun(located(target), settings, rate).probes(keys: settings.keys ?? keys, atEach: asked)
    }

    /// Returns the target with the address and STARTTLS protocol of the command line, if it has none of its own.
    private func located(_ target: Target) -> Target {
        var target = target
        if target.endpoint.route == nil { target.endpoint.route = settings.routes[target.endpoint] }
        if target.startTLS == nil { target.startTLS = settings.startTLS }
        return target
    }
}
