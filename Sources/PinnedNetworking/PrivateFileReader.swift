import PinctlBasics

/// A reader of the fields in a ``PrivateFile``. A field is its length in bytes and its value, as in `5:value,`, or `-,`
/// for none.
struct PrivateFileReader {
    var rest: ArraySlice<UInt8>
    var line = 1

    var malformed: CredentialStorageError.Reason { .malformed(line: line) }

    mutating func field() throws(CredentialStorageError.Reason) -> ArraySlice<UInt8>? {
        if rest.starts(with: "-,".utf8) {
            rest = rest.dropFirst(2)
            return nil
        }
        // No field in a file within the size limits needs more than eight digits.
        let digits = rest.prefix(9).prefix { $0 != UInt8(ascii: ":") }
        let text = String(decoding: digits, as: UTF8.self)
        guard let count = Int(text), count >= 0, String(count) == text else { throw malformed }
        let value = rest.dropFirst(digits.count + 1).prefix(count)
        let end = rest.dropFirst(digits.count + 1 + count)
        guard rest.dropFirst(digits.count).first == UInt8(ascii: ":"), value.count == count,
            end.first == UInt8(ascii: ",")
        else { throw malformed }
        rest = end.dropFirst()
        return value
    }

    mutating func optionalText() throws(CredentialStorageError.Reason) -> String? {
        guard let bytes = try field() else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw malformed }
        return text
    }

    mutating func text() throws(CredentialStorageError.Reason) -> String {
        guard let text = try optionalText() else { throw malformed }
        return text
    }

    mutating func flag() throws(CredentialStorageError.Reason) -> Bool {
        switch try text() {
        case "0": return false
        case "1": return true
        default: throw malformed
        }
    }

    mutating func endLine() throws(CredentialStorageError.Reason) {
        guard rest.first == UInt8(ascii: "\n") else { throw malformed }
        rest = rest.dropFirst()
    }
}

extension [UInt8] {
    /// Appends a field as ``PrivateFileReader`` reads it. Growing the array would leave copies of its contents behind,
    /// so reserve the capacity first.
    mutating func appendField(_ value: some Collection<UInt8>) {
        self += "\(value.count):".utf8
        self += value
        self += ",".utf8
    }

    /// Appends a text as a field, or `-,` for nil.
    mutating func appendField(_ text: String?) {
        guard let text else {
            self += "-,".utf8
            return
        }
        appendField(text.utf8)
    }
}
