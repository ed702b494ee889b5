extension StringProtocol {
    /// The number of columns that the text takes on a terminal, as `wcwidth` counts them: two for East Asian wide
    /// characters and emoji (UAX #11), none for combining marks.
    package var width: Int {
        var width = 0
        for scalar in unicodeScalars { width += scalar.width }
        return width
    }
}

extension Unicode.Scalar {
    fileprivate var width: Int {
        guard value >= 0x300 else { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // The vowels and final consonants of Hangul join the consonant before them.
        if (0x1160...0x11FF).contains(value) { return 0 }
        return Self.wide.contains { $0.contains(value) } || properties.isEmojiPresentation ? 2 : 1
    }

    /// The blocks whose characters are wide or fullwidth, apart from emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18CFF, 0x18D00...0x18D8F, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
