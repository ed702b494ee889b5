import CertificatePinning
import Testing

@testable import PinDialects

@Suite("Code that pins in a way that isn't read")
struct UnreadPinningTests {
    private static func place(_ name: String, _ text: String) -> UnreadPinning? {
        UnreadPinning(Array(text.utf8).span, path: name, name: name)
    }

    /// A delegate of URLSession in Swift with these statements.
    private static func delegate(_ statements: String) -> String {
        """
        import Foundation
        final class Delegate: NSObject, URLSessionDelegate {
            func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async {
                \(statements)
            }
        }
        """
    }

    /// A trust manager in Java with these statements.
    private static func manager(_ statements: String) -> String {
        """
        class Manager implements X509TrustManager {
            public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
                \(statements)
            }
        }
        """
    }

    private static let comparison =
        "if (!stored.equals(hex(chain[0].getPublicKey().getEncoded()))) { throw new CertificateException(\"no\"); }"
    private static let file =
        "let data = SecCertificateCopyData(leaf); let url = Bundle.main.url(forResource: name, withExtension: \"cer\")"

    @Test(
        "A comparison of certificates or keys in an app's own code is a problem at its position",
        arguments: [
            ("ios/Delegate.swift", delegate(file), 4, 20),
            ("ios/Delegate.swift", delegate("let own = SecCertificateCreateWithData(nil, data)"), 4, 19),
            (
                "ios/Delegate.m",
                """
                - (void)URLSession:(NSURLSession *)s didReceiveChallenge:(NSURLAuthenticationChallenge *)c {
                  NSData *remote = CFBridgingRelease(SecCertificateCopyData(leaf));
                  NSString *path = [[NSBundle mainBundle] pathForResource:@"api" ofType:@"cer"];
                }
                """, 2, 38
            ),
            (
                "ios/Evaluators.swift",
                """
                class Disabled: OwnServerTrustEvaluator {}
                final class PinnedLeaf: OwnServerTrustEvaluator {
                    func evaluate(_ trust: SecTrust) { let key = SecTrustCopyKey(trust) }
                }
                """, 2, 1
            ),
            (
                "iOS/Handler.cs",
                """
                void DidReceiveChallenge(NSUrlAuthenticationChallenge challenge) {
                    var own = NSData.FromFile("api.cer");
                    if (!trust[0].DerData.IsEqual(own)) Cancel();
                }
                """, 2, 15
            ),
            ("app/src/main/java/com/test/Manager.java", manager(comparison), 2, 17),
            (
                "app/Manager.kt",
                """
                class Manager : X509TrustManager {
                    override fun checkServerTrusted(chain: Array<X509Certificate>, authType: String) {
                        if (!chain[0].encoded.contentEquals(own)) throw CertificateException()
                    }
                }
                """, 2, 18
            ),
            ("src/http.ts", "await this.http.setServerTrustMode(on ? 'pinned' : 'default');", 1, 17),
        ])
    func found(name: String, text: String, line: Int, column: Int) throws {
        let place = try #require(Self.place(name, text))
        #expect(place.problem.location.line == line && place.problem.location.column == column, "\(place)")
        #expect(!place.comparesValue)
    }

    @Test("A key that is compared with a value of another file is a problem unless that pin was found")
    func value() throws {
        let text = Self.delegate("let key = SecCertificateCopyKey(leaf); accept(hash(key) == Constants.pinnedKeyHash)")
        #expect(try #require(Self.place("Delegate.swift", text)).comparesValue)
    }

    @Test(
        "Other code isn't one that pins",
        arguments: [
            ("Delegate.swift", delegate("// \(file)")),
            ("Delegate.swift", delegate("let words = [\"SecCertificateCreateWithData(\"]")),
            ("Delegate.swift", delegate("show(SecCertificateCopyData(leaf))")),
            ("Delegate.swift", "let own = SecCertificateCreateWithData(nil, data)"),
            (
                "Delegate.swift",
                delegate("SecTrustSetAnchorCertificates(trust, [SecCertificateCreateWithData(nil, data)])")
            ),
            ("Tests/DelegateTests.swift", delegate(file)), ("Pods/Other/Delegate.swift", delegate(file)),
            ("docs/delegate.md", delegate(file)),
            (
                "Source/Evaluation.swift",
                "final class PinnedCertificatesTrustEvaluator: ServerTrustEvaluating { f(SecTrustCopyKey(trust)) }"
            ),
            ("Manager.java", manager("delegate.checkServerTrusted(chain, authType);")),
            ("Manager.java", manager("if (!authType.equals(\"RSA\")) throw x; log(chain[0].getPublicKey());")),
            ("Manager.java", manager("log(chain[0].getEncoded());")),
            ("Client.java", "manager.checkServerTrusted(chain, authType); \(comparison)"),
            ("src/http.ts", "http.setServerTrustMode('nocheck'); log('pinned')"),
            ("src/http.ts", "// http.setServerTrustMode('pinned')"),
        ])
    func others(name: String, text: String) {
        #expect(Self.place(name, text) == nil)
    }

    @Test("A comment with a reason allows the place below it")
    func allowed() {
        let call = "http.setServerTrustMode('pinned')"
        #expect(Self.place("a.ts", "// pinctl-allow unread-pins: www/certificates was checked\n" + call) == nil)
        #expect(Self.place("a.ts", "// pinctl-allow unread-pins\n" + call) != nil)
        #expect(Self.place("a.ts", "// pinctl-allow P011: old\n" + call) != nil)
    }
}
