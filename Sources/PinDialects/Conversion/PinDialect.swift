import CertificatePinning

/// A format for pins that some system reads. The raw value is the format's name on the command line.
@nonexhaustive
public enum PinDialect: String, Sendable, Hashable, CaseIterable {
    /// This project's policy file.
    case policy
    /// Android's network security config, with TrustKit-Android's elements.
    case android
    /// Apple's NSPinnedDomains in an Info.plist.
    case apple
    /// TrustKit's configuration in a property list.
    case trustkit
    /// OkHttp's CertificatePinner: Kotlin, Java, or the text of its exception.
    case okhttp
    /// Pins of Cronet and Android's HttpEngine: calls of `addPublicKeyPins` in Kotlin or Java.
    case cronet
    /// Alamofire's trust evaluators in Swift, with the certificates of the app's bundle. It can only be read.
    case alamofire
    /// Public-Key-Pins (RFC 7469).
    case hpkp
    /// curl's `--pinnedpubkey`.
    case curl
    /// The values of `http.pinnedPubkey` in git's configuration.
    case git
    /// Envoy's validation contexts, in YAML or JSON.
    case envoy
    /// DANE's TLSA records (RFC 6698).
    case tlsa
    /// The authorized keys of Cert Spotter, a monitor of Certificate Transparency logs.
    case certspotter
    /// Hosts and their pins in the literals of JSON, JavaScript, TypeScript, Dart and other programs.
    case map
    /// Swift source with this project's types, as this package writes it. Other Swift can't be read.
    case swift
}

extension PinDialect {
    /// Returns the comments of a file that pins can be replaced in, with one space in place of each white space.
    package func comments(in bytes: [UInt8]) -> [String] {
        let comments =
            switch self {
            case .android: CommentReader.texts(in: bytes)
            case .map: SourceLiterals.comments(in: bytes, isYAML: PinMapReader.isYAML(bytes))
            case .apple, .trustkit:
                PropertyList.areLiterals(bytes)
                    ? SourceLiterals.comments(in: bytes, isYAML: false) : CommentReader.texts(in: bytes)
            case .envoy: SourceLiterals.comments(in: bytes, isYAML: true)
            // A string of Kotlin may contain //, as a pin does whose Base64 has two slashes, and comments nest.
            case .okhttp, .cronet: SourceLexer.comments(in: bytes)
            default: [String]()
            }
        return comments.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }
}

extension PinDialect {
    /// Checks that a changed file has the same meaning as the text of the policy alone, since other parts of the file
    /// can affect it.
    ///
    /// `rules` selects the rules of the file that belong to the policy.
    func check(
        _ bytes: [UInt8], path: String, says text: String,
        choosing rules: ([CanonicalRule]) -> [CanonicalRule] = { $0 }
    ) throws(DialectWriteError) {
        let expected: CanonicalPolicy
        do throws(PolicyFileError) { expected = try read(Array(text.utf8), path: path).policy } catch {
            throw DialectWriteError(error)
        }
        try check(bytes, path: path, says: expected, choosing: rules)
    }

    /// Checks that a changed file has the meaning of a policy. `host` is the one of a file that names none.
    func check(
        _ bytes: [UInt8], path: String, says expected: CanonicalPolicy, host: String? = nil,
        choosing rules: ([CanonicalRule]) -> [CanonicalRule] = { $0 }
    ) throws(DialectWriteError) {
        do throws(PolicyFileError) {
            var found = try read(bytes, path: path, host: host).policy
            found.rules = rules(found.rules)
            // mutant replaced-meaning: nil by ReplacingTests
            guard let difference = expected.differences(in: found).first else { return }
            throw PolicyFileError(problems: [
                PolicyProblem(
                    location: PolicyLocation(path: path),
                    message:
                        "other settings of the file change the meaning of the pins (\(difference)): fix those first")
            ])
        } catch {
            throw DialectWriteError(error)
        }
    }
}
