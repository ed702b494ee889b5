import CertificatePinning
import PinctlBasics

/// The data of a TLSA record (RFC 6698, section 2.1).
struct TLSARecord: Hashable {
    let usage: UInt8
    let selector: UInt8
    let matchingType: UInt8
    let data: [UInt8]

    /// The uppercase mnemonics of the numbers (RFC 7218, section 2), for each field.
    private static let names: [[String: UInt8]] = [
        ["PKIX-TA": 0, "PKIX-EE": 1, "DANE-TA": 2, "DANE-EE": 3, "PRIVCERT": 255],
        ["CERT": 0, "SPKI": 1, "PRIVSEL": 255],
        ["FULL": 0, "SHA2-256": 1, "SHA2-512": 2, "PRIVMATCH": 255],
    ]
    private static let fields = ["usage", "selector", "matching type"]

    init(usage: UInt8, selector: UInt8, matchingType: UInt8, data: [UInt8]) {
        self.usage = usage
        self.selector = selector
        self.matchingType = matchingType
        self.data = data
    }

    /// Parses the words of a record's data, including the generic form of RFC 3597, section 5. Problems are added to
    /// `problems`.
    init?(_ record: ZoneRecord, _ problems: inout PolicyProblems) {
        guard record.data.first?.text != "\\#" else {
            self.init(generic: record, &problems)
            return
        }
        guard record.data.count >= 4 else {
            problems.add("incomplete record: write usage, selector, matching type and data", at: record.position)
            return nil
        }
        var numbers: [UInt8] = []
        for index in 0..<3 {
            let word = record.data[index]
            guard let number = UInt8(word.text) ?? Self.names[index][word.text.uppercased()] else {
                problems.add("\(quoted(word.text)) isn't a \(Self.fields[index]): write its number", at: word.position)
                continue
            }
            numbers.append(number)
        }
        guard let data = Self.hexadecimal(record.data[3...], of: record, &problems), numbers.count == 3 else {
            return nil
        }
        self.init(usage: numbers[0], selector: numbers[1], matchingType: numbers[2], data: data)
    }

    /// Parses the generic form, `\# LENGTH HEX`.
    private init?(generic record: ZoneRecord, _ problems: inout PolicyProblems) {
        guard let bytes = Self.hexadecimal(record.data.dropFirst(2), of: record, &problems) else { return nil }
        guard record.data.count > 1, Int(record.data[1].text) == bytes.count, bytes.count > 3 else {
            problems.add(
                "the record has \(bytes.count) bytes, which doesn't match its length: write \\#, the length and the "
                    + "bytes",
                at: record.data[0].position)
            return nil
        }
        (usage, selector, matchingType, data) = (bytes[0], bytes[1], bytes[2], Array(bytes[3...]))
    }

    private static func hexadecimal(
        _ words: ArraySlice<ZoneRecord.Word>, of record: ZoneRecord, _ problems: inout PolicyProblems
    ) -> [UInt8]? {
        var digits: [UInt8] = []
        for word in words {
            for byte in word.text.utf8 {
                guard let digit = Hexadecimal.value(of: byte) else {
                    problems.add(
                        "\(quoted(word.text)) isn't hexadecimal: write the digits of the data", at: word.position)
                    return nil
                }
                digits.append(digit)
            }
        }
        guard digits.count % 2 == 0, !digits.isEmpty else {
            problems.add(
                digits.isEmpty
                    ? "the record has no data: write its digits"
                    : "the data has an odd number of digits: write all of them",
                at: words.first?.position ?? record.position)
            return nil
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

// MARK: - Pins

extension TLSARecord {
    /// The pin of the record, or `nil` if clients can't use the record (RFC 6698, section 4.1).
    ///
    /// PKIX-TA and DANE-TA become pins with role `ca`, PKIX-EE and DANE-EE pins with role `leaf`. The DANE usages don't
    /// require a trusted chain.
    var pin: CanonicalPin? {
        // mutant tlsa-usage: true for 1 by TLSATests
        guard usage <= 3, selector <= 1, let digest = [CanonicalPin.Digest.full, .sha256, .sha512].at(matchingType)
        else { return nil }
        return CanonicalPin(
            selector == 0 ? .certificate : .publicKey, digest, data, role: usage % 2 == 0 ? .ca : .leaf,
            trust: usage < 2 ? .chain : .pinAlone)
    }

    /// Creates the record of a pin, or returns `nil` if TLSA has no record for the pin's digest or role.
    init?(_ pin: CanonicalPin) {
        guard pin.role == .ca || pin.role == .leaf else { return nil }
        switch pin.digest {
        case .full: matchingType = 0
        case .sha256: matchingType = 1
        case .sha512: matchingType = 2
        case .sha1: return nil
        }
        usage = (pin.trust == .chain ? 0 : 2) + (pin.role == .ca ? 0 : 1)
        selector = pin.content == .certificate ? 0 : 1
        data = pin.value
    }
}

extension Array {
    fileprivate func at(_ index: UInt8) -> Element? { Int(index) < count ? self[Int(index)] : nil }
}

extension TLSARecord: CustomStringConvertible {
    /// The record's text: the numbers, such as `3 1 1`, and the data in hexadecimal.
    var description: String {
        "\(usage) \(selector) \(matchingType) \(Hexadecimal.encode(data))"
    }
}
