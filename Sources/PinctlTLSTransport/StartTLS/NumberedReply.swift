/// A reply in which lines begin with a three-digit code (RFC 5321, section 4.2; RFC 959, section 4.2).
package struct NumberedReply: Sendable {
    package let code: Int
    /// The texts of the lines, after the code.
    package let lines: [ArraySlice<UInt8>]
    /// The whole last line, for messages.
    package let words: ArraySlice<UInt8>

    /// A reader that collects the lines of one reply.
    package struct Reader: Sendable {
        private var code: Int?
        private var lines: [ArraySlice<UInt8>] = []
        /// Whether the lines between the first and the last may be any text (FTP). Otherwise each must begin with the
        /// code.
        private let isLoose: Bool

        package init(isLoose: Bool = false) { self.isLoose = isLoose }

        /// Returns a whole reply, or nil while it is incomplete.
        package mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> NumberedReply? {
            while let line = try input.takeLine() {
                let number = Self.number(line)
                let mark = line.dropFirst(3).first
                let isEnd = mark == nil || mark == 0x20
                if let code, isLoose, number != code || !isEnd {
                    lines.append(line)
                    continue
                }
                guard let number, isEnd || mark == 0x2D, code == nil || code == number else { throw .unexpected(line) }
                code = number
                lines.append(line.dropFirst(4))
                guard isEnd else { continue }
                defer { (code, lines) = (nil, []) }
                return NumberedReply(code: number, lines: lines, words: line)
            }
            return nil
        }

        private static func number(_ line: ArraySlice<UInt8>) -> Int? {
            let digits = line.prefix(3)
            guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
    }
}
