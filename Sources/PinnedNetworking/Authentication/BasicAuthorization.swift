import CertificateTrust
import PinctlBasics

/// The answer to a Basic challenge (RFC 7617).
enum BasicAuthorization {
    /// Returns the value of the field: user and password in UTF-8 and Unicode normalization form C. Servers that
    /// specify a charset require this form, and browsers send it to the others.
    static func value(user: String, password: String) throws(CredentialProblem) -> String {
        // mutant basic-injection: true by BasicTests
        guard !user.utf8.contains(UInt8(ascii: ":")) else { throw .colonInUserName }
        // mutant basic-control: true by BasicTests
        guard !CredentialProblem.hasControlCharacter(user + password) else { throw .controlCharacter }
        let text = "\(user):\(password)".precomposedStringWithCanonicalMapping
        let bytes = Array(text.utf8)
        return "Basic " + Base64.encode(bytes.span)
    }
}

/// The reason why a scheme can't send a credential. The text contains nothing of the credential.
enum CredentialProblem: Error, Hashable {
    /// The user name contains a colon. Basic ends the user name at the first colon (RFC 7617, section 2).
    case colonInUserName
    case controlCharacter

    static func hasControlCharacter(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

extension CredentialProblem: CustomStringConvertible {
    var description: String {
        switch self {
        case .colonInUserName: "a user name with a colon cannot be sent by Basic: use another name, or Digest"
        case .controlCharacter: "a user name or password has a control character: remove it"
        }
    }
}
