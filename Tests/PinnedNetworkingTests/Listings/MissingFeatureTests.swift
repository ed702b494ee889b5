import PinctlTestPKI
import Testing

/// The features of URLSession that are missing: code that uses one gets an error of the compiler, which names it or
/// gives the reason.
@Suite(.timeLimit(.minutes(10)))
struct MissingFeatureTests {
    /// A declaration on a line of its own, and text of its error.
    private static let rows = [
        (
            "func a(_ session: URLSession) { _ = session.streamTask(withHostName: \"a.test\", port: 1) }",
            "no stream tasks"
        ),
        ("func b() { _ = URLSession.ResponseDisposition.becomeStream }", "no stream tasks"),
        ("func c() { _ = URLSessionConfiguration.background(withIdentifier: \"a\") }", "no background sessions"),
        ("func d() { _ = tls_protocol_version_t.TLSv10 }", "TLS 1.0 is not supported"),
        ("func e() { _ = tls_protocol_version_t.TLSv11 }", "TLS 1.1 is not supported"),
        ("func f(_ bytes: URLSession.AsyncBytes) { _ = bytes.characters }", "no member 'characters'"),
        (
            "func g(_ metrics: URLSessionTaskTransactionMetrics) { _ = metrics.localAddress }",
            "local address isn't recorded"
        ),
        ("func h(_ response: HTTPURLResponse) { let _: any NSCoding = response }", "NSCoding"),
        ("func i(_ credential: URLCredential) { let _: any NSCoding = credential }", "NSCoding"),
        (
            "func j(_ trust: SecTrust) { _ = SecTrustCopyCertificateChain(trust) }",
            "cannot find 'SecTrustCopyCertificateChain'"
        ),
        ("func k() { _ = SecItemCopyMatching }", "cannot find 'SecItemCopyMatching'"),
        ("final class ConfigurationMock: URLSessionConfiguration {}", "final class 'URLSessionConfiguration'"),
        ("final class UploadMock: URLSessionUploadTask, @unchecked Sendable {}", "final class 'URLSessionUploadTask'"),
        ("final class StorageMock: HTTPCookieStorage {}", "final class 'HTTPCookieStorage'"),
        ("final class SpaceMock: URLProtectionSpace {}", "final class 'URLProtectionSpace'"),
    ]

    @Test("Code that uses a missing feature doesn't compile, and the error says what is missing")
    func errors() async throws {
        let directory = try TestDirectory()
        let program = try directory.add(
            (["import PinnedNetworking"] + Self.rows.map(\.0)).joined(separator: "\n"), name: "a.swift")
        let result = try await TestBuild.compile(
            [program], with: ["PinnedNetworking"], options: ["-parse-as-library"], to: directory.path + "/program")
        let errors = result.text.split(separator: "\n").filter { $0.contains(": error: ") }
        for (index, (code, text)) in Self.rows.enumerated() {
            let found = errors.filter { $0.contains("a.swift:\(index + 2):") }
            #expect(found.contains { $0.contains(text) }, "\(code): \(found)")
        }
        #expect(errors.count == Self.rows.count, "\(result.text)")
    }
}
