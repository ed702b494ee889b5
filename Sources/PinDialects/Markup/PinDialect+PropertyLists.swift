import CertificatePinning

extension PinDialect {
    /// Every dialect in which a file holds pins: the one of ``recognized(in:)``, or both of a property list that holds
    /// TrustKit's configuration and NSPinnedDomains. Each of them is a policy of its own, and an app enforces both.
    ///
    /// A key that is misspelled or misplaced counts too: the reader of its dialect notes it.
    public static func allRecognized(in bytes: [UInt8]) -> [PinDialect] {
        guard let first = recognized(in: bytes) else { return [] }
        guard [.trustkit, .apple].contains(first), let list = try? PropertyList.read(bytes, path: "") else {
            return [first]
        }
        let found = [PinDialect.trustkit, .apple].filter { $0.isMeant(by: list) }
        return found.isEmpty ? [first] : found
    }

    private func isMeant(by list: PropertyList) -> Bool {
        func has(_ list: PropertyList?, _ keys: [String]) -> Bool {
            (list?.members ?? []).contains { keys.contains($0.key) || suggestion(for: $0.key, among: keys) != nil }
        }
        guard self == .apple else { return has(list, [TrustKitReader.rootKey, TrustKitReader.domainsKey]) }
        let security = list[ApplePinReader.path[0]]
        let exceptions = security?[ApplePinReader.exceptionsKey]?.members ?? []
        return list["SecTrustPinningRequired"] != nil || has(list, [ApplePinReader.path[1]])
            || has(security, [ApplePinReader.path[1]])
            || exceptions.contains { has($0.value, [ApplePinReader.leafKey, ApplePinReader.authorityKey]) }
    }
}
