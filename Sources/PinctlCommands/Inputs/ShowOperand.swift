import CertificateTrust

/// An operand of `show`: a file or a server.
enum ShowOperand: Sendable {
    case file(String)
    case target(Target)

    /// The extensions of key and certificate files that aren't top-level domains.
    private static let fileEndings: Set<Substring> = [
        "pem", "crt", "cer", "der", "key", "csr", "p8", "p12", "pfx", "p7b", "p7c", "jwk",
        "txt",
    ]

    /// Classifies an operand.
    ///
    /// `-`, a word with a slash and no scheme, and a word with a usual file extension are files. A word with a scheme
    /// is a server. Any other word that could be both is rejected, because nothing would indicate that the wrong one
    /// was shown.
    init(_ word: String) throws(UsageError) {
        guard word != "-" else {
            self = .file(word)
            return
        }
        guard !word.contains("://") else {
            self = .target(try Target(argument: word))
            return
        }
        if case .missing = FileKind(word) {
            let isPath = word.contains("/") || word.split(separator: ".").last.map(Self.fileEndings.contains) == true
            guard !isPath else {
                self = .file(word)
                return
            }
            do throws(TargetError) {
                self = .target(try Target(word))
            } catch {
                throw .invalidOperand(word, reason: "isn't a file, and as a server: \(error)")
            }
        } else {
            let isFile = word.contains("/") || word.split(separator: ".").last.map(Self.fileEndings.contains) == true
            guard isFile || (try? Target(word)) == nil else {
                throw .invalidOperand(
                    word, reason: "is a file, but could also be a server: write ./\(word) or https://\(word)")
            }
            self = .file(word)
        }
    }
}
