import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("Pin failure reports")
struct PinFailureReportTests {
    private let server: TestSite

    init() throws { server = try TestSite() }

    private func report(
        _ expiry: PinningExpiry? = nil, served: [[UInt8]]? = nil, isEnforced: Bool = true
    ) throws -> PinFailureReport {
        let unrelated = try TestSite(authority: "Unrelated")
        let policy = try PinningPolicy(
            pins: [unrelated.leaf.pin(.leaf)], mode: isEnforced ? .enforce : .report, expiry: expiry)
        let mismatch = policy.outcome(try server.path, port: 8443, at: TestSite.time).mismatch
        return PinFailureReport(
            try #require(mismatch), served: served ?? [server.leaf.derBytes, server.intermediate.derBytes],
            at: TestSite.time)
    }

    private func members(_ body: [UInt8]) throws -> [String: JSONValue] {
        let document = JSONCReader.read(body, dialect: .json)
        #expect(document.problems.isEmpty)
        let members = try #require(document.root?.members)
        return Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
    }

    @Test("The RFC 7469 body has all of its fields, with the values of the failure")
    func rfc7469() throws {
        let expiry = try PinningExpiry("2030-01-01T00:00:00Z", then: .fail)
        let report = try report(expiry)
        let fields = try members(report.rfc7469Body())
        #expect(
            Set(fields.keys) == [
                "date-time", "hostname", "port", "effective-expiration-date", "include-subdomains", "noted-hostname",
                "served-certificate-chain", "validated-certificate-chain", "known-pins",
            ])
        #expect(fields["date-time"]?.string == "2027-01-15T08:00:00Z")
        #expect(fields["hostname"]?.string == TestSite.host)
        #expect(fields["noted-hostname"]?.string == TestSite.host)
        #expect(fields["port"]?.integer == 8443)
        #expect(fields["include-subdomains"]?.bool == false)
        #expect(fields["effective-expiration-date"]?.string == "2030-01-01T00:00:00Z")
        #expect(
            fields["served-certificate-chain"]?.elements?.map(\.string)
                == [server.leaf.pemText, server.intermediate.pemText])
        #expect(fields["validated-certificate-chain"]?.elements?.count == 3)
        let pins = fields["known-pins"]?.elements?.compactMap(\.string) ?? []
        #expect(pins.count == 1)
        #expect(pins[0].hasPrefix("pin-sha256=\"") && pins[0].hasSuffix("=\""))
    }

    @Test("The TrustKit body has the fields of both TrustKit clients", arguments: [true, false])
    func trustKit(isEnforced: Bool) throws {
        var app = ReportingApp(identifier: "com.example.app", version: "5.1")
        app.platformVersion = "12"
        let fields = try members(try report(isEnforced: isEnforced).trustKitBody(for: app))
        #expect(
            Set(fields.keys) == [
                "app-bundle-id", "app-version", "app-vendor-id", "app-platform", "app-platform-version",
                "trustkit-version", "date-time", "hostname", "port", "noted-hostname", "include-subdomains",
                "enforce-pinning", "validation-result", "served-certificate-chain", "validated-certificate-chain",
                "known-pins",
            ])
        #expect(fields["enforce-pinning"]?.bool == isEnforced)
        #expect(fields["validation-result"]?.integer == 1)
        #expect(fields["app-bundle-id"]?.string == "com.example.app")
    }

    @Test("RP2: a report body has at most 64 KiB, however long the served chain is")
    func limit() throws {
        let report = try report(served: Array(repeating: server.leaf.derBytes, count: 300))
        let body = report.rfc7469Body()
        #expect(body.count <= PinFailureReport.bodyLimit)
        let fields = try members(body)
        #expect(fields["served-certificate-chain"]?.elements?.isEmpty == true)
        #expect(fields["validated-certificate-chain"]?.elements?.count == 3)
    }
}
