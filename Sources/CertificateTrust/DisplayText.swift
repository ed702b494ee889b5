extension StringProtocol {
    /// The text with every character that shows as nothing, moves the cursor or turns the direction of what follows
    /// written as `\u{202E}`: controls (C0, C1), line separators, bidi and zero-width characters, unassigned ones.
    ///
    /// Names in certificates and files come from strangers; this is how they reach a screen, a log or an error's text.
    package var escapedForDisplay: String {
        // Plain ASCII is the rule, and needs no copy by scalars.
        if utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.misleadsOnDisplay {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var misleadsOnDisplay: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
