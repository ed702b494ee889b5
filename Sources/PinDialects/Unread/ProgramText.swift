import PinctlBasics

/// The text of a program without its comments.
struct ProgramText {
    private let bytes: [UInt8]
    private let lineStarts: [Int]

    init(_ bytes: [UInt8], lineStarts: [Int]) { (self.bytes, self.lineStarts) = (bytes, lineStarts) }

    func has(_ words: String...) -> Bool { bytes.hasAny(of: words) }

    /// The same text with blanks in place of what is in double quotes.
    var withoutStrings: ProgramText {
        var text = bytes
        var isString = false
        for index in text.indices {
            let byte = text[index]
            let isEscaped = index > 0 && bytes[index - 1] == UInt8(ascii: "\\")
            if byte == UInt8(ascii: "\""), !isEscaped {
                isString.toggle()
            } else if byte.isLineEnd {
                isString = false
            } else if isString {
                text[index] = UInt8(ascii: " ")
            }
        }
        return ProgramText(text, lineStarts: lineStarts)
    }

    func without(_ words: [String]) -> ProgramText {
        var text = String(decoding: bytes, as: UTF8.self)
        for word in words { text = text.split(separator: word, omittingEmptySubsequences: false).joined() }
        return ProgramText(Array(text.utf8), lineStarts: [])
    }

    /// Returns the offset at which the first of some words begins.
    func first(of words: [String]) -> Int? {
        words.compactMap { bytes.firstRange(of: $0, from: 0)?.lowerBound }.min()
    }

    /// The offset of a type that evaluates the server's trust for Alamofire or for a copy of it, by preference one
    /// whose name says that it pins.
    var evaluator: Int? {
        var first: Int?
        for (line, start) in lineStarts.enumerated() {
            let end = line + 1 < lineStarts.count ? lineStarts[line + 1] : bytes.count
            let words = bytes[start..<end].split { !$0.isWordByte && $0 != UInt8(ascii: ":") }
                .map { String(decoding: $0, as: UTF8.self) }
            guard let type = words.firstIndex(where: { ["class", "struct"].contains($0) }), type + 2 < words.count,
                words[(type + 1)...].contains(where: { $0.hasSuffix(":") }),
                words[(type + 2)...].contains(where: { word in Self.evaluators.contains(where: word.hasSuffix) })
            else { continue }
            let offset = bytes[start..<end].firstIndex { !$0.isBlank } ?? start
            if words[type + 1].contains("Pin") { return offset }
            first = first ?? offset
        }
        return first
    }

    private static let evaluators = ["ServerTrustEvaluating", "ServerTrustEvaluator"]

    /// Returns the offsets of the calls of a function, whose name ends with the parenthesis, with their arguments.
    func arguments(of call: String) -> [(offset: Int, text: ProgramText)] {
        var all: [(offset: Int, text: ProgramText)] = []
        var index = 0
        while let found = bytes.firstRange(of: call, from: index) {
            let end = self.end(ofBracketAt: found.upperBound - 1)
            all.append((found.lowerBound, part(found.upperBound..<max(found.upperBound, end))))
            index = found.upperBound
        }
        return all
    }

    /// Returns the offsets of the declarations of a function with a body, and the bodies.
    func bodies(ofFunction name: String) -> [(offset: Int, text: ProgramText)] {
        var all: [(offset: Int, text: ProgramText)] = []
        var index = 0
        while let found = bytes.firstRange(of: name + "(", from: index) {
            index = found.upperBound
            // A call has an object before its dot.
            if bytes[..<found.lowerBound].last == UInt8(ascii: ".") { continue }
            let close = end(ofBracketAt: found.upperBound - 1)
            let header = bytes[close...].dropFirst().prefix {
                $0.isWordByte || $0.isBlank || $0.isLineEnd || $0 == UInt8(ascii: ",")
            }
            guard header.endIndex < bytes.count, bytes[header.endIndex] == UInt8(ascii: "{") else { continue }
            let end = end(ofBracketAt: header.endIndex)
            all.append((found.lowerBound, part(header.endIndex..<end)))
        }
        return all
    }

    /// Returns the offset of the bracket that closes another one, or that of the end. Strings count as code.
    private func end(ofBracketAt start: Int) -> Int {
        var depth = 0
        for index in start..<bytes.count {
            if "([{".utf8.contains(bytes[index]) { depth += 1 }
            if ")]}".utf8.contains(bytes[index]) {
                depth -= 1
                if depth <= 0 { return index }
            }
        }
        return bytes.count
    }

    private func part(_ range: Range<Int>) -> ProgramText { ProgramText(Array(bytes[range]), lineStarts: []) }
}
