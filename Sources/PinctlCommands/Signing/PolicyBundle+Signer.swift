import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension PolicyBundle {
    /// The longest that a command may take to sign, for people who have to touch a token.
    private static let signerPatience = Duration.seconds(120)

    /// Adds the signatures that a shell command makes, with one of these keys.
    mutating func sign(with command: String, keys: [SubjectPublicKeyInfo], in environment: CommandEnvironment)
        throws(UsageError)
    {
        func unusable(_ reason: String) -> UsageError { .invalidValue(.signer, reason: "the command \(reason)") }
        guard !keys.isEmpty else { throw .missingFlag(.keySets) }
        let variables = environment.variables().map { "\($0.key)=\($0.value)" }
        // Only its signatures show which key the command has. There are at most two documents to sign.
        var messages: [[UInt8]] = []
        for message in keys.flatMap({ unsigned(by: $0) }) where !messages.contains(message) { messages.append(message) }
        guard !messages.isEmpty else { throw unusable("has nothing to sign: all keys have signed") }
        var hasSigned = false
        for message in messages {
            let signature = try Self.output(of: command, for: message, variables)
            guard let key = keys.first(where: { $0.verifies(signature, over: message) }) else {
                throw unusable("made no signature of a key in the key sets: check the command, and --keys")
            }
            hasSigned = add(signature, by: key) || hasSigned
        }
        guard hasSigned else { throw unusable("has nothing to sign: its key has signed") }
    }

    /// Returns the signature that a command prints for a message.
    private static func output(
        of command: String, for message: [UInt8], _ variables: [String]
    ) throws(UsageError) -> [UInt8] {
        let text: [UInt8]
        do throws(ChildProcessError) {
            let process = try ChildProcess(
                "/bin/sh", ["-c", command], environment: variables, patience: signerPatience)
            // A command that doesn't read everything may still print a signature, which is verified.
            do throws(ChildProcessError) { try process.write(message) } catch  where error == .ended {}
            let (output, status) = try process.finish(limit: 4096)
            guard status == 0 else {
                throw .failed(
                    "exit code \(status): " + String(decoding: process.errorOutput.prefix(200), as: UTF8.self))
            }
            text = output
        } catch {
            let reason =
                switch error {
                case .tookTooLong: "took more than \(signerPatience): check whether it waits for input"
                case .tooMuch: "printed more than a signature: print only that, in Base64"
                case .failed, .ended: error.description
                }
            throw .invalidValue(.signer, reason: "the command \(reason)")
        }
        guard !text.isEmpty else {
            throw .invalidValue(.signer, reason: "the command printed no signature: check the command")
        }
        guard let signature = Base64.decodeCanonical(text.filter { !" \n\r\t".utf8.contains($0) }) else {
            throw .invalidValue(.signer, reason: "the command didn't print Base64: pipe its output into base64")
        }
        return signature
    }
}
