/// LDAP (RFC 4511, section 4.14): the extended operation StartTLS, in BER.
struct LDAPStartTLS: StartTLSMachine {
    /// LDAPMessage { 1, ExtendedRequest { requestName 1.3.6.1.4.1.1466.20037 } }
    var opening: StartTLSAction {
        .send([0x30, 0x1D, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16] + Array("1.3.6.1.4.1.1466.20037".utf8))
    }

    /// The largest response that is read, in bytes. Real ones have a few dozen.
    private static let limit = 4096

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        guard input.bytes.first ?? 0x30 == 0x30 else { throw .unexpected(input.bytes) }
        guard let whole = try Element.length(input.bytes) else { return .needMore }
        guard whole <= Self.limit else { throw .unreadable("an answer of \(whole) bytes") }
        guard let bytes = input.take(whole) else { return .needMore }

        var message = try Element(bytes, 0x30).content
        let identifier = try Element(taking: 0x02, &message)
        let response = try Element(taking: 0x78, &message)
        var fields = response.content
        let code = try Element(taking: 0x0A, &fields).content
        _ = try Element(taking: 0x04, &fields)
        let words = try Element(taking: 0x04, &fields).content
        guard code.count == 1, let result = code.first else { throw .unexpected(bytes) }
        // Message ID 0 is a notice of disconnection (section 4.4).
        guard identifier.content.elementsEqual([1]) else { throw .refused(Self.words(result, words)) }
        switch result {
        case 0: return .upgrade
        // protocolError: the server doesn't support the operation.
        case 2: throw .notOffered
        default: throw .refused(Self.words(result, words))
        }
    }

    private static func words(_ result: UInt8, _ words: ArraySlice<UInt8>) -> [UInt8] {
        Array("result code \(result)\(words.isEmpty ? "" : ": ")".utf8) + words
    }

    /// A BER element: tag, length, contents. Lengths are definite (section 5.1) and may be longer than necessary.
    private struct Element {
        let content: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>, _ tag: UInt8) throws(StartTLSFailure) {
            guard bytes.first == tag, let head = try Self.head(bytes), head.count + head.length == bytes.count else {
                throw .unexpected(bytes)
            }
            content = bytes.dropFirst(head.count)
        }

        /// Removes an element from the front of `bytes`.
        init(taking tag: UInt8, _ bytes: inout ArraySlice<UInt8>) throws(StartTLSFailure) {
            guard let count = try Self.length(bytes), count <= bytes.count else { throw .unexpected(bytes) }
            try self.init(bytes.prefix(count), tag)
            bytes = bytes.dropFirst(count)
        }

        /// Returns the length of the element at the front, including its head, or nil while the head is incomplete.
        static func length(_ bytes: ArraySlice<UInt8>) throws(StartTLSFailure) -> Int? {
            try head(bytes).map { $0.count + $0.length }
        }

        private static func head(_ bytes: ArraySlice<UInt8>) throws(StartTLSFailure) -> (count: Int, length: Int)? {
            guard let first = bytes.dropFirst().first else { return nil }
            guard first >= 0x80 else { return (2, Int(first)) }
            let count = Int(first & 0x7F)
            guard (1...4).contains(count) else { throw .unexpected(bytes) }
            let digits = bytes.dropFirst(2).prefix(count)
            guard digits.count == count else { return nil }
            return (2 + count, digits.reduce(0) { $0 << 8 | Int($1) })
        }
    }
}
