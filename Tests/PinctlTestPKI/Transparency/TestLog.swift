/// A log of Certificate Transparency that signs any timestamp.
///
///     let log = try TestLog("Example 2026")
///     let leaf = try intermediate.leaf("api.example.test", loggedBy: [log, other])
package struct TestLog: Sendable {
    package var name: String
    /// The organization that runs it.
    package var owner: String
    package let key: TestKey
    /// Whether its interface is static-ct-api.
    package var isTiled = false
    /// The name of its state in a list, such as `usable`. `nil` for none.
    package var state: String? = "usable"
    package var stateStart = "2025-01-01T00:00:00Z"
    /// The RFC 3339 times between which certificates must expire.
    package var interval: (start: String, end: String)?
    /// The earlier organization with the end of its time.
    package var previous: (owner: String, end: String)?
    /// The `log_type` of a list.
    package var kind: String?

    package init(_ name: String, owner: String? = nil, key: TestKey? = nil) throws(TestPKIError) {
        self.name = name
        self.owner = owner ?? "\(name) Operator"
        self.key = if let key { key } else { try TestKey() }
    }

    package var identifier: [UInt8] { get throws(TestPKIError) { try key.publicKeyDigest } }

    /// The kind of entry that is logged.
    package enum Entry: Sendable {
        /// A certificate in DER.
        case certificate([UInt8])
        /// The TBSCertificate of a certificate without timestamps, and the key of its issuer.
        case precertificate([UInt8], issuer: TestKey)

        /// Returns the entry of a certificate that was minted without timestamps.
        package static func precertificate(of certificate: TestCertificate, issuer: TestKey) -> Entry {
            .precertificate(certificate.signedPartDER, issuer: issuer)
        }
    }

    /// The fields of a timestamp that tests change.
    package struct Fields: Sendable {
        /// 2026-06-01T00:00:00Z in milliseconds.
        package var milliseconds: UInt64 = 1_780_272_000_000
        package var version: UInt8 = 0
        package var extensions: [UInt8] = []
        /// The HashAlgorithm of TLS: SHA-256.
        package var hash: UInt8 = 4
        /// The SignatureAlgorithm of TLS. `nil` for that of the key.
        package var algorithm: UInt8?
        /// Another log's key that signs.
        package var signer: TestKey?
        /// Bytes after the signature.
        package var rest: [UInt8] = []

        package init() {}
    }

    /// Returns a SignedCertificateTimestamp (RFC 6962, section 3.2).
    package func timestamp(
        of entry: Entry, adjusting adjust: (inout Fields) -> Void = { _ in }
    ) throws(TestPKIError) -> [UInt8] {
        var fields = Fields()
        adjust(&fields)
        var data: [UInt8] = [0, 0] + Self.octets(fields.milliseconds, 8)
        switch entry {
        case .certificate(let der): data += [0, 0] + Self.octets(UInt64(der.count), 3) + der
        case .precertificate(let part, let issuer):
            data += try [0, 1] + issuer.publicKeyDigest + Self.octets(UInt64(part.count), 3) + part
        }
        data += Self.vector(fields.extensions)
        let signature = try TestKey.Signer(fields.signer ?? key, .sha256).sign(data)
        let isRSA = if case .rsa = key.kind { true } else { false }
        return try [fields.version] + identifier + Self.octets(fields.milliseconds, 8) + Self.vector(fields.extensions)
            + [fields.hash, fields.algorithm ?? (isRSA ? 1 : 3)] + Self.vector(signature) + fields.rest
    }

    /// Returns a SignedCertificateTimestampList (RFC 6962, section 3.3).
    package static func list(_ timestamps: [[UInt8]]) -> [UInt8] { vector(timestamps.flatMap { vector($0) }) }

    /// Returns the extension of certificates with this list.
    package static func certificateExtension(_ list: [UInt8]) -> TestCertificate.Extension {
        .init("1.3.6.1.4.1.11129.2.4.2", TestDER.octetString(list))
    }

    /// Returns the extension of OCSP responses with this list.
    package static func stapleExtension(_ list: [UInt8]) -> TestCertificate.Extension {
        .init("1.3.6.1.4.1.11129.2.4.5", TestDER.octetString(list))
    }

    private static func vector(_ bytes: [UInt8]) -> [UInt8] { octets(UInt64(bytes.count), 2) + bytes }

    private static func octets(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
    }
}

extension TestLog {
    /// Returns a list of logs in Google's format.
    package static func listJSON(
        _ logs: [TestLog], published: String = "2026-06-15T12:00:00Z"
    ) throws(TestPKIError) -> String {
        var owners: [String] = []
        for log in logs where !owners.contains(log.owner) { owners.append(log.owner) }
        var operators: [String] = []
        for owner in owners {
            var (plain, tiled): ([String], [String]) = ([], [])
            for log in logs where log.owner == owner {
                if log.isTiled { tiled.append(try log.json) } else { plain.append(try log.json) }
            }
            operators.append(
                """
                {"name": "\(owner)", "email": ["ops@example.test"], "logs": [\(plain.joined(separator: ", "))],
                 "tiled_logs": [\(tiled.joined(separator: ", "))]}
                """)
        }
        return """
            {"version": "1.0", "log_list_timestamp": "\(published)",
             "operators": [\(operators.joined(separator: ",\n"))]}
            """
    }

    private var json: String {
        get throws(TestPKIError) {
            var members = [
                "\"description\": \"\(name)\"", "\"log_id\": \"\(TestPEM.base64(try identifier))\"",
                "\"key\": \"\(TestPEM.base64(try key.publicKeyDER))\"", "\"mmd\": 86400",
                isTiled
                    ? "\"submission_url\": \"https://log.test/\", \"monitoring_url\": \"https://m.test/\""
                    : "\"url\": \"https://log.test/\"",
            ]
            if let state { members.append("\"state\": {\"\(state)\": {\"timestamp\": \"\(stateStart)\"}}") }
            if let interval {
                members.append(
                    "\"temporal_interval\": {\"start_inclusive\": \"\(interval.start)\", "
                        + "\"end_exclusive\": \"\(interval.end)\"}")
            }
            if let previous {
                members.append(
                    "\"previous_operators\": [{\"name\": \"\(previous.owner)\", \"end_time\": \"\(previous.end)\"}]")
            }
            if let kind { members.append("\"log_type\": \"\(kind)\"") }
            return "{\(members.joined(separator: ", "))}"
        }
    }
}

extension TestCertificate {
    /// Returns the certificate with a list of timestamps that `timestamps` makes of its precertificate.
    package func issue(
        _ settings: Settings, key: TestKey? = nil, embedding timestamps: (TestLog.Entry) throws -> [[UInt8]]
    ) throws -> TestCertificate {
        let key = if let key { key } else { try TestKey() }
        let entry = TestLog.Entry.precertificate(of: try issue(settings, key: key), issuer: self.key)
        var settings = settings
        settings.extensions.append(TestLog.certificateExtension(TestLog.list(try timestamps(entry))))
        return try issue(settings, key: key)
    }

    /// Returns a server certificate with a timestamp of each log.
    package func leaf(
        _ dnsName: String, loggedBy logs: [TestLog], key: TestKey? = nil,
        adjusting adjust: (inout Settings) -> Void = { _ in }, fields: (inout TestLog.Fields) -> Void = { _ in }
    ) throws -> TestCertificate {
        var settings = Settings.server([dnsName])
        adjust(&settings)
        return try issue(settings, key: key) { entry in
            try logs.map { try $0.timestamp(of: entry, adjusting: fields) }
        }
    }

    /// The TBSCertificate.
    package var signedPartDER: [UInt8] {
        // The header of the certificate, and then an element with at least two octets of length.
        let start = derBytes[1] < 0x80 ? 2 : 2 + Int(derBytes[1] & 0x7F)
        let first = Int(derBytes[start + 1])
        let octets = first < 0x80 ? 0 : first & 0x7F
        let count = first < 0x80 ? first : derBytes[(start + 2)...].prefix(octets).reduce(0) { $0 << 8 | Int($1) }
        return Array(derBytes[start...].prefix(2 + octets + count))
    }
}
