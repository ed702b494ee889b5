/// A reply with a number of three digits in front of each line (RFC 5321, section 4.2; RFC 959, section 4.2).
struct NumberedReply: Sendable {
    let code: Int
    /// Behind the number.
    let lines: [ArraySlice<UInt8>]
    /// The last line, whole: what a person reads.
    let words: ArraySlice<UInt8>

    /// Collects the lines of one.
    struct Reader: Sendable {
        private var code: Int?
        private var lines: [ArraySlice<UInt8>] = []
        /// Whether lines in the middle may have any text (FTP), or the number too.
        private let isLoose: Bool

        init(isLoose: Bool = false) { self.isLoose = isLoose }

        /// A whole reply; nil while there is none.
        mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> NumberedReply? {
            while let line = try input.takeLine() {
                let number = Self.number(line)
                let mark = line.dropFirst(3).first
                let isEnd = mark == nil || mark == 0x20
                if let code, isLoose, number != code || !isEnd {
                    lines.append(line)
                    continue
                }
                guard let number, isEnd || mark == 0x2D, code == nil || code == number else { throw .strange(line) }
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
