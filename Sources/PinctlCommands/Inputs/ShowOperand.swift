import CertificateTrust

/// What an operand of `show` means: a file, or a server.
enum ShowOperand: Sendable {
    case file(String)
    case target(Target)

    /// Endings of files that no top-level domain has.
    private static let fileEndings: Set<Substring> = [
        "pem", "crt", "cer", "der", "key", "csr", "p8", "p12", "pfx", "p7b", "p7c", "jwk",
        "txt",
    ]

    /// `-`, a word with a slash and no scheme, and a file of a usual name are files; a word with a scheme is a server. Of
    /// the others, what is both is refused: to show the wrong one would be told by nothing.
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
                throw .invalidOperand(word, reason: "is no file, and as a server: \(error)")
            }
        } else {
            let isFile = word.contains("/") || word.split(separator: ".").last.map(Self.fileEndings.contains) == true
            guard isFile || (try? Target(word)) == nil else {
                throw .invalidOperand(
                    word, reason: "is a file, and could be a server: write ./\(word) or https://\(word)")
            }
            self = .file(word)
        }
    }
}
