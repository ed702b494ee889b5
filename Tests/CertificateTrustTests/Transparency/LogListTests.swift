import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Lists of Certificate Transparency logs")
struct LogListTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// A part of the error, or `nil` if the list is read.
        let expected: String?
        let json: @Sendable (String) throws -> String

        init(_ sentence: String, _ expected: String?, _ json: @escaping @Sendable (String) throws -> String) {
            testDescription = sentence
            self.expected = expected
            self.json = json
        }

        init(_ sentence: String, _ expected: String?, replacing old: String, by new: String) {
            self.init(sentence, expected) {
                try #require($0.contains(old))
                return $0.replacing(old, with: new, maxReplacements: 1)
            }
        }
    }

    static let rows: [Row] = [
        .init("as it is", nil) { $0 },
        .init("with keys that the format doesn't define", nil, replacing: "\"mmd\"", by: "\"x\": [1, {}], \"mmd\""),
        .init("without a date", "no \"log_list_timestamp\"", replacing: "log_list_timestamp", by: "timestamp"),
        .init("with a day that doesn't exist", "RFC 3339", replacing: "2026-06-15T", by: "2026-02-30T"),
        .init("without operators", "isn't a list of logs", replacing: "\"operators\"", by: "\"owners\""),
        .init("that is an array", "isn't a list of logs") { _ in "[]" },
        .init("that is empty", "no JSON value") { _ in "" },
        .init("without a log", "has no log") { _ in
            "{\"log_list_timestamp\": \"2026-06-15T12:00:00Z\", \"operators\": []}"
        },
        .init("whose operator has no name", "no \"name\"", replacing: "\"name\": \"A\"", by: "\"nom\": \"A\""),
        .init(
            "whose logs aren't an array", "must be an array", replacing: "\"tiled_logs\": []", by: "\"tiled_logs\": 1"),
        .init(
            "whose log has another identifier", "isn't the SHA-256", replacing: "\"log_id\": \"",
            by: "\"log_id\": \"AAAA"),
        .init("whose log has no key", "no \"key\"", replacing: "\"key\"", by: "\"schlüssel\""),
        .init("whose key isn't Base64", "no \"key\" in Base64", replacing: "\"key\": \"", by: "\"key\": \"*"),
        .init(
            "with a key twice, which readers understand differently", "duplicate", replacing: "\"mmd\": 86400",
            by: "\"mmd\": 1, \"mmd\": 2"),
        .init("with a comment", "doesn't allow comments", replacing: "\"mmd\"", by: "/**/ \"mmd\""),
        .init(
            "whose interval ends before it starts", "temporal_interval", replacing: "\"mmd\": 86400",
            by:
                "\"temporal_interval\": {\"start_inclusive\": \"2026-01-02T00:00:00Z\", "
                + "\"end_exclusive\": \"2026-01-01T00:00:00Z\"}"),
        .init(
            "whose interval has no end", "temporal_interval", replacing: "\"mmd\": 86400",
            by: "\"temporal_interval\": {\"start_inclusive\": \"2026-01-02T00:00:00Z\"}"),
        .init(
            "whose state has no time", "no \"timestamp\"", replacing: "{\"timestamp\": \"2025-01-01T00:00:00Z\"}",
            by: "{}"),
        .init("that is cut off", "end of text") { String($0.dropLast()) },
    ]

    @Test("A list is read strictly where it decides, and leniently elsewhere", arguments: rows)
    func read(_ row: Row) throws {
        let text = try row.json(try TestLog.listJSON([try TestLog("A1", owner: "A"), try TestLog("B1", owner: "B")]))
        if let expected = row.expected {
            let error = #expect(throws: TransparencyLogListError.self) {
                try TransparencyLogList(json: Array(text.utf8), path: "logs.json")
            }
            #expect(error?.description.contains(expected) == true, "\(String(describing: error))")
            #expect(error?.description.hasPrefix("logs.json") == true)
        } else {
            #expect(try TransparencyLogList(json: Array(text.utf8)).logCount == 2)
        }
    }

    /// The public keys of Google's two mimic logs, whose private keys it published, in DER and Base64.
    static let mimicKeys = [
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEdO/+dnH/NZSBSLmmN9u2h4HNTnCOLeU+oMBiRynIvQ8zt2ft0IMyO90e5nwSaCdYvA4JVGzCMa"
            + "rfs9DcNxFY1g==",
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEB/VtcL7BSbGP4QY7UjaaXOd4gQ80R1PxLZtfYifk+ZER+mCVJVVjl66uVWUzu5lMbWMb1MWKxj"
            + "kvtd2MyQSKsA==",
    ]

    /// Returns a list with the mimic logs at these positions, and other logs.
    private func list(_ mimics: [Int], and others: [TestLog] = [], state: String = "usable") throws -> [UInt8] {
        var text = try TestLog.listJSON(others)
        for key in mimics.map({ Self.mimicKeys[$0] }) {
            let bytes = try #require(Data(base64Encoded: key))
            let identifier = Base64.encode(sha256Digest([UInt8](bytes).span).span)
            let log = """
                {"name": "Google", "logs": [{"description": "Mimic", "log_id": "\(identifier)", "key": "\(key)",
                 "url": "https://mimic.test/", "state": {"\(state)": {"timestamp": "2026-01-01T00:00:00Z"}}}]}
                """
            text.replace(
                "\"operators\": [", with: "\"operators\": [\(log)\(others.isEmpty ? "" : ", ")", maxReplacements: 1)
            if others.isEmpty, mimics.count > 1 { text.replace("]}{", with: "]},{") }
        }
        return Array(text.utf8)
    }

    @Test("Logs whose private keys are public don't count in a list, and a list of only those is refused")
    func mimics() throws {
        for mimics in [[0], [1], [0, 1]] {
            for state in ["usable", "qualified", "retired"] {
                let error = #expect(throws: TransparencyLogListError.self) {
                    try TransparencyLogList(json: try list(mimics, state: state), path: "logs.json")
                }
                #expect(error?.reason.contains("only mimic logs, whose private keys are public") == true)
            }
            let mixed = try TransparencyLogList(json: try list(mimics, and: [try TestLog("A1", owner: "A")]))
            #expect(mixed.logCount == 1 && mixed.description == "1 logs of 2026-06-15")
        }
        #expect(TransparencyLog.mimics.map { Base64.encode($0.span).prefix(8) }.sorted() == ["9EGV1vAO", "si9+3rWv"])
    }

    @Test("A log is listed once")
    func repeated() throws {
        let log = try TestLog("A1", owner: "A")
        var other = log
        other.owner = "B"
        let text = try TestLog.listJSON([log, other])
        #expect(throws: TransparencyLogListError.self) { try TransparencyLogList(json: Array(text.utf8)) }
    }

    @Test("A list has at most 2,000 logs")
    func tooMany() throws {
        let logs = try (0..<2_001).map { _ in try TestLog("A", owner: "A") }
        let most = try TestLog.listJSON(Array(logs.dropLast()))
        #expect(try TransparencyLogList(json: Array(most.utf8)).logCount == 2_000)
        let text = try TestLog.listJSON(logs)
        let error = #expect(throws: TransparencyLogListError.self) { try TransparencyLogList(json: Array(text.utf8)) }
        #expect(error?.reason.contains("more than 2000 logs") == true)
    }

    @Test("A file that can't be read is an error that names it")
    func missing() {
        let error = #expect(throws: TransparencyLogListError.self) {
            try TransparencyLogList(contentsOfFile: "/nonexistent/log_list.json")
        }
        #expect(error?.description == "/nonexistent/log_list.json: no such file: check the path")
    }

    @Test("The digest of a list is that of its text")
    func digest() throws {
        let text = Array(try TestLog.listJSON([try TestLog("A1")]).utf8)
        #expect(try TransparencyLogList(json: text).digest == sha256Digest(text.span))
    }
}
