import PinctlBasics

/// DER objects as Base64 without BEGIN and END lines, as in some `.cer` files and in the output of `show --base64`.
enum BareBase64 {
    /// The least size of an object. Every key and certificate is larger, and few words that happen to be Base64 are.
    private static let leastSize = 40

    /// Returns the objects of a text that contains nothing else: one object, or one on each line. Returns `nil` for any
    /// other text.
    static func objects(in text: [UInt8]) -> [[UInt8]]? {
        // UTF-8 may begin with a byte order mark.
        let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text.dropFirst(3) : text[...]
        let start = text.first { !isBlank($0) }
        // A SEQUENCE begins with the byte 0x30, whose first six bits are an M.
        guard start == UInt8(ascii: "M") else { return nil }
        if let object = object(text) { return [object] }
        var objects: [[UInt8]] = []
        for line in text.split(separator: 0x0A) where !line.allSatisfy(isBlank) {
            guard let object = object(line) else {
                // mutant wiped-base64-text: () for `wipe(&objects[index])` by WipedKeyTests/bareBase64
                for index in objects.indices { wipe(&objects[index]) }
                return nil
            }
            objects.append(object)
        }
        return objects
    }

    /// Returns the object of a text that contains nothing else. No other copy of it is left in memory, since it may be
    /// a private key.
    private static func object(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits: [UInt8] = []
        digits.reserveCapacity(text.count)
        // mutant wiped-base64-digits: () for `wipe(&digits)` by WipedKeyTests/bareBase64
        defer { wipe(&digits) }
        for character in text where !isBlank(character) { digits.append(character) }
        guard var der = Base64.decodeCanonical(digits) else { return nil }
        var cursor = DERCursor(0..<der.count)
        let isWhole = (try? cursor.next(DERTag.sequence, der.span)) != nil && cursor.isAtEnd
        guard der.count >= leastSize, isWhole || KeyContainer.isPKCS12(der.span) else {
            wipe(&der)
            return nil
        }
        return der
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
