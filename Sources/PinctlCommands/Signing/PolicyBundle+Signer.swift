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
        func unusable(_ reason: String) -> UsageError { .invalidValue(.signer, reason: "\(quoted(command)) \(reason)") }
        guard !keys.isEmpty else { throw .missingFlag(.keySets) }
        let variables = environment.variables().map { "\($0.key)=\($0.value)" }
        var found: SubjectPublicKeyInfo?
        // Which key the command has shows only in its first signature.
        let messages = keys.lazy.map { (key: $0, messages: unsigned(by: $0)) }.first { !$0.messages.isEmpty }
        guard let messages else { throw unusable("has nothing to sign: all keys have signed") }
        let signature = try Self.output(of: command, for: messages.messages[0], variables)
        for key in Set(keys) where found == nil && add(signature, by: key) { found = key }
        guard let key = found else {
            throw unusable("made no signature of a key in the key sets: check that it prints Base64")
        }
        for message in unsigned(by: key) {
            guard add(try Self.output(of: command, for: message, variables), by: key) else {
                throw unusable("made a signature of another key")
            }
        }
    }

    /// Returns the signature that a command prints for a message.
    private static func output(
        of command: String, for message: [UInt8], _ variables: [String]
    ) throws(UsageError) -> [UInt8] {
        let text: [UInt8]
        do throws(ChildProcessError) {
            let process = try ChildProcess(
                "/bin/sh", ["-c", command], environment: variables, patience: signerPatience)
            try process.write(message)
            let (output, status) = try process.finish(limit: 4096)
            guard status == 0 else {
                throw .failed(
                    "exit code \(status): " + String(decoding: process.complaint.prefix(200), as: UTF8.self))
            }
            text = output
        } catch {
            throw .invalidValue(.signer, reason: "\(quoted(command)): \(error)")
        }
        guard let signature = Base64.decodeCanonical(text.filter { !" \n\r\t".utf8.contains($0) }) else {
            throw .invalidValue(.signer, reason: "\(quoted(command)) didn't print Base64: pipe its output into base64")
        }
        return signature
    }
}
