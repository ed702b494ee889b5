import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

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

extension Arguments {
    /// Returns the host and port of `--host`, which is for files.
    func checkedHost() throws(UsageError) -> Endpoint? {
        guard let host = self[.host] else { return nil }
        guard has(.files) else {
            throw .unusable(["--host applies to --files: give a server as the operand, such as host:443@ADDRESS"])
        }
        do throws(TargetError) {
            return try Target(host).endpoint
        } catch {
            throw .invalidValue(.host, reason: error.description)
        }
    }
}

extension Arguments {
    /// Returns the group of `--require-group`. Throws if no connection offers it.
    func requiredGroup() throws(UsageError) -> String? {
        guard let group = self[.requireGroup] else { return nil }
        guard CheckSettings.keyExchangeGroups.contains(group) else {
            throw .unknownChoice(.requireGroup, group, known: CheckSettings.keyExchangeGroups)
        }
        guard !has(.files) else {
            throw .unusable(["--files and --require-group cannot be used together: files have no key exchange"])
        }
        if let problem = try Self.problem(with: group) { throw .invalidValue(.requireGroup, reason: problem) }
        return group
    }

    /// Returns the reason why no server can be checked for a key exchange group, or `nil` if every connection offers
    /// it.
    static func problem(with group: String) throws(UsageError) -> String? {
        let offered: [String]
        do throws(TransportError) { offered = try Transport.shared.keyExchangeGroups() } catch {
            throw .unusable([error.description])
        }
        guard !offered.contains(group) else { return nil }
        return
            "OpenSSL \(OpenSSLVersion.loaded) doesn't offer the group \(group): run pinctl with OpenSSL 3.5 or later, "
            + "and check its configuration"
    }
}
