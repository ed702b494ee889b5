import CertificateTrust

extension Arguments {
    /// Returns the trust stores of `--store`, which are checked in addition to the one that decides.
    func clientStores() throws(UsageError) -> [(name: String, store: TrustStore)] {
        var stores: [(name: String, store: TrustStore)] = []
        for (name, files) in try namedFiles(.store) { stores.append((name, try Self.trustStore(files))) }
        return stores
    }

    /// Returns a gate with the failures that the flags excuse.
    func gate() throws(UsageError) -> Gate {
        var gate = Gate()
        if let word = self[.failOn] {
            let known = ["error", "warning"]
            guard known.contains(word) else { throw .unknownChoice(.failOn, word, known: known) }
            gate.failsOnWarning = word == "warning"
        }
        gate.exitsZero = has(.exitZero)
        if let file = self[.baseline] { gate.baseline = try Baseline(file: file) }
        if let text = self[.maxUnreachable] {
            let isShare = text.hasSuffix("%")
            guard let number = Self.number(text.dropLast(isShare ? 1 : 0)), !isShare || number <= 100 else {
                throw .invalidValue(
                    .maxUnreachable, reason: "\"\(text)\" isn't a number or a percentage: give a number, or 0% to 100%")
            }
            gate.maximumUnreachable = isShare ? .percent(number) : .number(number)
        }
        return gate
    }

    /// Parses at most nine decimal digits.
    private static func number(_ text: Substring) -> Int? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
