/// A converter from U-labels to A-labels (RFC 3492, section 6.3), for names that are already normalized.
package enum Punycode {
    /// Returns `xn--` and the encoded label, or the label itself if it is ASCII. Returns `nil` if a number grows too
    /// large.
    package static func aLabel(_ label: some StringProtocol) -> String? {
        let scalars = label.unicodeScalars.map(\.value)
        let basic = scalars.filter { $0 < 0x80 }
        guard basic.count < scalars.count else { return String(label) }
        var output = basic.compactMap(Unicode.Scalar.init).map(Character.init)
        if !output.isEmpty { output.append("-") }
        var code: UInt32 = 0x80
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        var handled = UInt32(basic.count)
        while handled < scalars.count {
            guard let next = scalars.lazy.filter({ $0 >= code }).min() else { return nil }
            let (step, overflowed) = (next - code).multipliedReportingOverflow(by: handled + 1)
            guard !overflowed, step <= UInt32.max - delta - UInt32(scalars.count) else { return nil }
            delta += step
            code = next
            for scalar in scalars {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                appendVariableLength(delta, bias, to: &output)
                bias = adapted(delta, count: handled + 1, isFirst: handled == basic.count)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return "xn--" + String(output)
    }

    /// Returns a hostname with its U-labels as A-labels, or `nil` if it isn't certain how clients convert it.
    ///
    /// They first map a name to a normal form (UTS #46). Only names are converted that are in this form except for
    /// capitals, and whose characters are letters and digits of one scalar each.
    package static func aLabels(ofHost host: String) -> String? {
        let lowered = host.lowercased()
        // A sign such as that of kelvin has an ASCII letter as its small form.
        guard lowered.count(where: \.isASCII) == host.count(where: \.isASCII) else { return nil }
        for character in lowered where !character.isASCII {
            guard character.unicodeScalars.count == 1, let properties = character.unicodeScalars.first?.properties,
                !properties.changesWhenNFKCCaseFolded,
                properties.isAlphabetic || properties.generalCategory == .decimalNumber
            else { return nil }
        }
        var labels: [String] = []
        for label in lowered.split(separator: ".", omittingEmptySubsequences: false) {
            guard let label = aLabel(label) else { return nil }
            labels.append(label)
        }
        return labels.joined(separator: ".")
    }

    private static func appendVariableLength(_ value: UInt32, _ bias: UInt32, to output: inout [Character]) {
        var rest = value
        var k: UInt32 = 36
        while true {
            let threshold: UInt32 = k <= bias ? 1 : min(k - bias, 26)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            k += 36
        }
        output.append(digit(rest))
    }

    /// Returns the digit for a value: `a` to `z` are 0 to 25, `0` to `9` are 26 to 35.
    private static func digit(_ value: UInt32) -> Character {
        let letter = value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
        return Character(Unicode.Scalar(letter))
    }

    private static func adapted(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var k: UInt32 = 0
        while delta > 455 {
            delta /= 35
            k += 36
        }
        return k + 36 * delta / (delta + 38)
    }
}
