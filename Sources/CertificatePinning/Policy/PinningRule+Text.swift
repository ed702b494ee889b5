import CertificateTrust

extension PinningRule {
    /// Parses a rule from a host and pins such as `sha256/BASE64`. Backup pins are listed separately.
    ///
    ///     let policy = try PinningPolicy(rules: [
    ///         PinningRule("api.example.com", pins: ["sha256/…"], backups: ["sha256/…"]),
    ///         PinningRule("example.com", includesSubdomains: true, pins: ["sha256/…"], mode: .report),
    ///     ])
    ///
    /// Throws ``PolicyError/invalidHost(_:)`` or ``PolicyError/invalidPin(_:)`` if a text isn't a host or pin.
    public init(
        _ host: String, includesSubdomains: Bool = false, ports: Set<Int>? = nil, pins: [String],
        backups: [String] = [], role: PinRole = .any, mode: PinningMode = .enforce, expiry: PinningExpiry? = nil,
        note: String? = nil
    ) throws(PolicyError) {
        let name: ServerName
        do throws(ServerNameError) { name = try ServerName(host) } catch { throw .invalidHost(error) }
        var parsed: [Pin] = []
        do throws(PinTextError) {
            for text in pins { parsed.append(try Pin(text, role: role)) }
            for text in backups { parsed.append(try Pin(text, role: role, isBackup: true)) }
        } catch {
            throw .invalidPin(error)
        }
        self.init(
            host: name, includesSubdomains: includesSubdomains, ports: ports, pins: parsed, mode: mode, expiry: expiry,
            note: note)
    }
}
