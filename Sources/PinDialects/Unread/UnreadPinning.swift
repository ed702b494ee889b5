package import CertificatePinning
import PinctlBasics

/// A place in a program that pins in a way that no reader knows: by comparing certificates or keys in its own code.
///
/// Only strong marks count, and none in a comment, in tests or in the sources of libraries that an app has copied. What
/// such code accepts isn't known, so a result without it would be wrong.
package struct UnreadPinning: Sendable {
    package let problem: PolicyProblem
    /// Whether the code compares a value that another file may have as a pin that was found.
    package let comparesValue: Bool

    /// Returns `nil` for a file without such a place, and for one that a comment allows. `name` is the path in the
    /// tree.
    package init?(_ bytes: Span<UInt8>, path: String, name: String) {
        guard let family = Family(name), family.words.isIn(bytes), !SearchedText.isTest(name), !Self.isCopied(name)
        else { return nil }
        let text = SearchedText([UInt8](copying: bytes), name: name)
        guard text.language == .code,
            let found = family.find(ProgramText(text.withoutComments, lineStarts: text.lineStarts))
        else { return nil }
        let location = text.locations(of: [found.offset], path: path)[0]
        let allowances = LintAllowance.all(in: text.bytes)
        // mutant unread-allowed: false by UnreadPinningTests/allowed
        if allowances.contains(where: { $0.allowsUnreadPins && [location.line, location.line - 1].contains($0.line) }) {
            return nil
        }
        problem = PolicyProblem(
            location: location,
            message: "\(found.what), in a way that isn't read: check its pins by hand, and then allow this place with "
                + "the comment pinctl-allow \(LintAllowance.unreadPins): REASON")
        comparesValue = found.comparesValue
    }

    /// The directories that package managers and people copy libraries into.
    private static let copies: Set = [
        "pods", "carthage", "checkouts", "node_modules", "bower_components", "vendor", "thirdparty", "third_party",
        "third-party", "external",
    ]

    private static func isCopied(_ name: String) -> Bool {
        // mutant unread-copied: false by UnreadPinningTests/others
        name.split(separator: "/").dropLast().contains { copies.contains($0.lowercased()) }
    }
}

/// A place with the description of what its code does.
private typealias Found = (offset: Int, what: String, comparesValue: Bool)

/// The languages that have the same way of pinning in code.
private enum Family {
    /// A delegate of URLSession in Swift or Objective-C, or an evaluator for Alamofire.
    case apple
    /// The same delegate in C#.
    case xamarin
    /// A trust manager in Java or Kotlin.
    case jvm
    /// An app that configures cordova-plugin-advanced-http.
    case cordova

    init?(_ name: String) {
        switch SearchedText.fileExtension(name) {
        case "swift", "m", "mm": self = .apple
        case "cs": self = .xamarin
        case "java", "kt": self = .jvm
        case "js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte": self = .cordova
        default: return nil
        }
    }

    /// The words of which a file with such a place has one.
    var words: WordSearch {
        switch self {
        case .apple: Self.appleWords
        case .xamarin: Self.xamarinWords
        case .jvm: Self.jvmWords
        case .cordova: Self.cordovaWords
        }
    }

    private static let extractions = [
        "SecCertificateCopyData(", "SecCertificateCopyKey(", "SecTrustCopyKey(", "SecTrustCopyPublicKey(",
        "SecCertificateCopyPublicKey(",
    ]
    private static let creation = "SecCertificateCreateWithData("
    private static let appleWords = WordSearch(extractions + [creation])
    private static let xamarinWords = WordSearch(["NSData.FromFile("])
    private static let jvmWords = WordSearch(["checkServerTrusted("])
    private static let cordovaCalls = ["setServerTrustMode(", "setSSLCertMode("]
    private static let cordovaWords = WordSearch(cordovaCalls)

    func find(_ program: ProgramText) -> Found? {
        switch self {
        // mutant unread-strings: program for `program.withoutStrings` by UnreadPinningTests/others
        case .apple: Self.delegate(program.withoutStrings)
        case .xamarin: Self.delegateInCSharp(program)
        case .jvm: Self.trustManager(program.withoutStrings)
        case .cordova: Self.trustMode(program)
        }
    }

    // MARK: Places

    private static func delegate(_ program: ProgramText) -> Found? {
        let takesChallenge =
            program.has("URLAuthenticationChallenge") && program.has("didReceive challenge", "didReceiveChallenge")
        let extraction = program.first(of: extractions)
        // Alamofire's own evaluators.
        // mutant unread-library: false by UnreadPinningTests/others
        let isLibrary = program.has("class PinnedCertificatesTrustEvaluator", "enum ServerTrustPolicy")
        if !isLibrary, extraction != nil, let offset = program.evaluator {
            return (offset, "this evaluator compares the server's certificate or key", false)
        }
        guard takesChallenge else { return nil }
        // Anchors alone decide which CAs are trusted.
        // mutant unread-anchors: false by UnreadPinningTests/others
        let hasOwnAnchors = program.has("SecTrustSetAnchorCertificates(")
        if let offset = program.first(of: [creation]), extraction != nil || !hasOwnAnchors {
            return (offset, "this delegate compares the server's certificate with one of the app", false)
        }
        guard let extraction else { return nil }
        if program.has("forResource", "ForResource:") {
            return (extraction, "this delegate compares the server's certificate or key with a file of the app", false)
        }
        // mutant unread-value: false by UnreadPinningTests/value
        guard program.has("pinned", "Pinned") else { return nil }
        return (extraction, "this delegate compares the server's key with a value from elsewhere", true)
    }

    private static func delegateInCSharp(_ program: ProgramText) -> Found? {
        guard program.has("DidReceiveChallenge"), program.has("DerData", "IsEqual("),
            program.has(".cer\"", ".der\"", ".crt\""), let offset = program.first(of: ["NSData.FromFile("])
        else { return nil }
        return (offset, "this delegate compares the server's certificate with a file of the app", false)
    }

    private static func trustManager(_ program: ProgramText) -> Found? {
        for (offset, body) in program.bodies(ofFunction: "checkServerTrusted") {
            // The name of the key exchange is no part of the certificate.
            let code = body.without(["authType.equalsIgnoreCase(", "authType.equals(", ".equals(authType)"])
            let takesKey = code.has("getEncoded()", "getPublicKey()", ".publicKey", ".encoded")
            let compares = code.has("equals(", "equalsIgnoreCase(", "isEqual(", "contentEquals(")
            // mutant unread-manager: true for 2 by UnreadPinningTests/others
            guard takesKey, compares, code.has("throw ") else { continue }
            return (offset, "this trust manager compares the server's certificate or key itself", false)
        }
        return nil
    }

    private static func trustMode(_ program: ProgramText) -> Found? {
        for call in cordovaCalls {
            for (offset, arguments) in program.arguments(of: call) where arguments.has("'pinned'", "\"pinned\"") {
                return (offset, "this call pins the certificates in the app's directory www/certificates", false)
            }
        }
        return nil
    }
}
