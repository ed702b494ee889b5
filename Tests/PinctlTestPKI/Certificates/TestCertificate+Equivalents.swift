extension TestCertificate {
    /// The certificates with the same signed part that anyone can make from this one and that the issuer's key verifies
    /// too: with NULL parameters next to the signature or without them, and with the ECDSA signature (r, n - s).
    package func equivalents(issuedBy issuer: TestCertificate) -> [[UInt8]] {
        let parts = derBytes.derElements
        let identifier = parts[1].derElements[0]
        let algorithms = [TestDER.sequence(identifier), TestDER.sequence(identifier, [0x05, 0x00])]
        var signatures = [parts[2]]
        if let order = Self.orders[issuer.key.kind] {
            let numbers = Array(parts[2].derContents.dropFirst()).derElements
            let other = TestDER.integer(octets: Self.difference(order, numbers[1].derContents))
            signatures.append(TestDER.bitString(TestDER.sequence(numbers[0], other)))
        }
        return algorithms.flatMap { algorithm in signatures.map { TestDER.sequence(parts[0], algorithm, $0) } }
            .filter { $0 != derBytes }
    }

    /// The orders of the curves (SEC 2).
    private static let orders: [TestKey.Kind: [UInt8]] = [
        .p256: [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ],
        .p384: [UInt8](repeating: 0xFF, count: 24) + [
            0xC7, 0x63, 0x4D, 0x81, 0xF4, 0x37, 0x2D, 0xDF, 0x58, 0x1A, 0x0D, 0xB2, 0x48, 0xB0, 0xA7, 0x7A, 0xEC, 0xEC,
            0x19, 0x6A, 0xCC, 0xC5, 0x29, 0x73,
        ],
    ]

    /// Returns the contents of an INTEGER for the difference of two positive numbers, the first of which is larger.
    private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var (digits, borrow) = (left, 0)
        for place in 1...left.count {
            let subtrahend = place <= right.count ? Int(right[right.count - place]) : 0
            let digit = Int(left[left.count - place]) - subtrahend - borrow
            digits[left.count - place] = UInt8(truncatingIfNeeded: digit)
            borrow = digit < 0 ? 1 : 0
        }
        let shortest = Array(digits.drop { $0 == 0 })
        return shortest[0] < 0x80 ? shortest : [0] + shortest
    }
}
