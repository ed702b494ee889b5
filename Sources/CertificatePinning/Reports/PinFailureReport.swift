public import CertificateTrust
public import FoundationEssentials

/// What a client tells whoever looks after the pins when they did not match: the host, the chains, the pins. Nothing of
/// the request, its addresses or its logins is in it.
public struct PinFailureReport: Sendable {
    /// When the pins did not match.
    public let time: Date
    /// The host that was asked for.
    public let host: ServerName
    /// The port, 1 to 65535.
    public let port: Int
    /// The rule whose pins did not match; its ``PinningRule/host`` is the noted host of RFC 7469.
    public let rule: PinningRule
    /// What the server sent, DER, leaf first.
    public let servedChain: [[UInt8]]
    /// The path that was verified, DER, leaf first.
    public let validatedChain: [[UInt8]]

    /// Reports a mismatch; `served` is the chain as the server sent it, DER, leaf first.
    public init(_ mismatch: PinMismatch, served: [[UInt8]], at time: Date) {
        self.time = time
        host = mismatch.path.name
        port = mismatch.port
        rule = mismatch.rule
        servedChain = served
        validatedChain = mismatch.path.certificates.map(\.derBytes)
    }
}

/// Takes reports of pin failures and sends them on, or drops them.
///
/// It is called on the way of a request that fails, so it must return at once: keep the report and send it from
/// elsewhere, never to the host that failed and never under the policy that it reports on.
public protocol PinReportSink: Sendable {
    /// Takes one report.
    func take(_ report: PinFailureReport)
}

/// What TrustKit's reports say of the app that sends them.
public struct ReportingApp: Sendable, Hashable {
    /// `app-bundle-id`: `com.example.app`.
    public var identifier: String
    /// `app-version`.
    public var version: String
    /// `app-vendor-id`: tells installations apart, if anything is to; empty by default.
    public var vendorIdentifier = ""
    /// `app-platform`.
    public var platform = "LINUX"
    /// `app-platform-version`.
    public var platformVersion = ""

    /// Names an app.
    public init(identifier: String, version: String) {
        self.identifier = identifier
        self.version = version
    }
}

extension PinFailureReport {
    /// The most bytes of a body. A chain too long for it is left out of the report, first the served one.
    public static let bodyLimit = 64 * 1024

    /// The body of RFC 7469, section 3: JSON, to be posted as `application/json`.
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

    /// The body that TrustKit's collectors read, with the fields of its Android and iOS reports: JSON.
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
                // FailedNoMatchingPin; a chain that is not trusted is no pin failure here.
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
            if bytes.count <= Self.bodyLimit { return bytes }
        }
        return Array(JSON.object(members(.array([]), .array([])).filter { $0.0 != "known-pins" }).text.utf8)
    }

    private var knownPins: JSON {
        .array(
            rule.pins.compactMap { pin in
                guard case .publicKey(let fingerprint) = pin.object else { return nil }
                return .string("pin-sha256=\"\(Base64.encode(fingerprint.bytes.span))\"")
            })
    }

    private var timeText: String { Self.text(Int64(time.timeIntervalSince1970.rounded(.down))) }

    private var expiryText: String? { rule.expiry.map { Self.text(Int64($0.end.timeIntervalSince1970)) } }

    private static func text(_ seconds: Int64) -> String {
        CivilTime(secondsSince1970: seconds)?.description ?? "1970-01-01T00:00:00Z"
    }

    private static func pem(_ chain: [[UInt8]]) -> JSON {
        .array(chain.map { .string(pemText(ofCertificate: $0)) })
    }
}

extension JSON {
    fileprivate var isNull: Bool { if case .null = self { true } else { false } }
}
