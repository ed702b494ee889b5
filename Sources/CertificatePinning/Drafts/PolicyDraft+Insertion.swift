import PinctlBasics

extension PolicyDraft {
    /// Returns the bytes of a policy file with the draft's pins and rules inserted before the existing ones.
    package func inserted(into bytes: [UInt8], path: String) throws(PolicyInsertionError) -> [UInt8] {
        let isStrict = JSONCReader.Dialect(ofFile: path) == .json
        return try PolicyAdditions(
            pins: newPinLines(isStrict: isStrict), rules: ruleLines(isStrict: isStrict), text: text(isStrict: isStrict)
        ).inserted(into: bytes, path: path)
    }
}
