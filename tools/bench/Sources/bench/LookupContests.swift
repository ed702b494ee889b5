import CertificatePinning
import CertificateTrust

/// Rules of a policy with 100,000 hosts, found for names that have one, for names below them and for unrelated.
func lookups(_ report: inout Report) throws {
    let hosts = 100_000
    let pin = Pin(.publicKey(SPKIFingerprint(bytes: [32 of UInt8](repeating: 7))))
    var rules: [PinningRule] = []
    for number in 0..<hosts {
        rules.append(
            PinningRule(
                host: try ServerName("h\(number).example.com"), includesSubdomains: number.isMultiple(of: 2),
                pins: [pin]))
    }
    let long = [String](repeating: "a", count: 120).joined(separator: ".")
    rules.append(PinningRule(host: try ServerName("x.\(long)"), includesSubdomains: true, pins: [pin]))
    let policy = try PinningPolicy(rules: rules)

    report.heading("The rule of a host, among \(hosts)")
    for (title, spelling) in [
        ("a host with a rule", { "h\($0).example.com" }),
        ("five labels below a host", { "a.b.c.d.e.h\($0).example.com" }),
        ("a host without one", { "www.h\($0).example.org" }),
        ("a host without one, of 124 labels", { "y\($0).\(long).zz.z" }),
        ("an address", { "192.0.2.\($0 % 256)" }),
    ] as [(String, (Int) -> String)] {
        let names = try (0..<1000).map { try ServerName(spelling($0 * 97)) }
        let times = try contest(
            [Contender(title) { names.count { policy.rule(for: $0, port: 443) != nil } }], pieces: names.count)
        report.row(
            title, time(times[0].median),
            Target(measured: times[0].median / 1000, unit: "us", bound: .atMost, limit: 10))
    }
}
