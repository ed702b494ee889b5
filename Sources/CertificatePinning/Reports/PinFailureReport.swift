public import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// A report of a pin mismatch from a client to the operator of the pins. It contains the host, the chains and the pins.
/// It contains nothing of the request, its addresses or its credentials.
public struct PinFailureReport: Sendable {
    /// The time of the mismatch.
    public let time: Date
    /// The host that the client connected to.
    public let host: ServerName
    /// The port, 1 to 65535.
    public let port: Int
    /// The rule whose pins didn't match. Its ``PinningRule/host`` is the noted host of RFC 7469.
    public let rule: PinningRule
    /// The chain that the server sent, as DER, leaf first.
    public let servedChain: [[UInt8]]
    /// The path that was verified, as DER, leaf first.
    public let validatedChain: [[UInt8]]

    /// Creates a report of a mismatch. `served` is the chain that the server sent, as DER, leaf first.
    public init(_ mismatch: PinMismatch, served: [[UInt8]], at time: Date) {
        self.time = time
        host = mismatch.path.name
        port = mismatch.port
        rule = mismatch.rule
        servedChain = served
        validatedChain = mismatch.path.certificates.map(\.derBytes)
    }
}

/// A receiver of reports of pin failures, which sends or drops them.
///
/// The receiver is called while a request is failing, so it must return at once. Keep the report and send it from
/// somewhere else. Never send it to the host that failed, or under the policy that the report is about.
public protocol PinReportSink: Sendable {
    /// Receives one report.
    func take(_ report: PinFailureReport)
}

/// The fields of TrustKit's reports that describe the app.
public struct ReportingApp: Sendable, Hashable {
    /// The field `app-bundle-id`, for example `com.example.app`.
    public var identifier: String
    /// The field `app-version`.
    public var version: String
    /// The field `app-vendor-id`, which identifies an installation. Empty by default.
    public var vendorIdentifier = ""
    /// The field `app-platform`.
    public var platform = "LINUX"
    /// The field `app-platform-version`.
    public var platformVersion = ""

    /// Creates the description of an app from its identifier and version.
    public init(identifier: String, version: String) {
        self.identifier = identifier
        self.version = version
    }
}

extension PinFailureReport {
    /// The maximum size of a body in bytes. If a body is larger, the report omits the served chain, then the validated
    /// chain, then the pins.
    public static let bodyLimit = 64 * 1024

    /// Returns the body defined in RFC 7469, section 3: JSON, to be posted as `application/json`.
    public func rfc7469Body() -> [UInt8] {
        body { served, validated in
            [
                ("date-time", .string(timeText)), ("hostname", .string(host.description)), ("port", .integer(port)),
                ("effective-expiration-date", expiryText.map { .string($0) } ?? .null),
                ("include-subdomains", .bool(rule.includesSubdomains)),
                ("noted-hostname", .string(rule.host.description)), ("served-certificate-chain", served),
                ("validated-certificate-chain", validated), ("known-pins", knownPins),
            ]
        }
    }

    /// Returns the JSON body that TrustKit's collectors read, with the fields of its Android and iOS reports.
    public func trustKitBody(for app: ReportingApp) -> [UInt8] {
        body { served, validated in
            [
                ("app-bundle-id", .string(app.identifier)), ("app-version", .string(app.version)),
                ("app-vendor-id", .string(app.vendorIdentifier)), ("app-platform", .string(app.platform)),
                ("app-platform-version", .string(app.platformVersion)), ("trustkit-version", .string("pinctl")),
                ("date-time", .string(timeText)), ("hostname", .string(host.description)), ("port", .integer(port)),
                ("noted-hostname", .string(rule.host.description)),
                ("include-subdomains", .bool(rule.includesSubdomains)),
                ("enforce-pinning", .bool(rule.mode == .enforce)),
                // FailedNoMatchingPin. A chain that isn't trusted doesn't count as a pin failure here.
                ("validation-result", .integer(1)),
                ("served-certificate-chain", served), ("validated-certificate-chain", validated),
                ("known-pins", knownPins),
                ("known-pins-expiration-date", expiryText.map { .string(String($0.prefix(10))) } ?? .null),
            ]
        }
    }

    private func body(_ members: (_ served: JSON, _ validated: JSON) -> [(String, JSON)]) -> [UInt8] {
        let chains = [(servedChain, validatedChain), ([], validatedChain), ([], [])]
        for (served, validated) in chains {
            let json = JSON.object(members(Self.pem(served), Self.pem(validated)).filter { !$0.1.isNull })
            let bytes = Array(json.text.utf8)
            // mutant report-size: true by PinFailureReportTests
            if bytes.count <= Self.bodyLimit { return bytes }
        }
        return Array(JSON.object(members(.array([]), .array([])).filter { $0.0 != "known-pins" }).text.utf8)
    }

    private var knownPins: JSON {
        .array(
            rule.pins.compactMap { pin in
                guard case .publicKey(let fingerprint) = pin.fingerprint else { return nil }
                return .string("pin-sha256=\"\(Base64.encode(fingerprint.bytes.span))\"")
            })
    }

    private var timeText: String { Self.text(time.secondsSince1970()) }

    private var expiryText: String? { rule.expiry.map { Self.text($0.end.secondsSince1970()) } }

    private static func text(_ seconds: Int64) -> String {
        CivilTime(secondsSince1970: seconds)?.description ?? "1970-01-01T00:00:00Z"
    }

    private static func pem(_ chain: [[UInt8]]) -> JSON {
        .array(chain.map { .string(pemText("CERTIFICATE", $0)) })
    }
}

extension JSON {
    fileprivate var isNull: Bool { if case .null = self { true } else { false } }
}

extension PinFailureReport: CustomStringConvertible {
    /// The host and the time.
    public var description: String { "pin failure of \(host) port \(port) at \(time.rfc3339)" }
}
