import CertificatePinning
import PinctlBasics

extension PinDialect {
    /// Returns every dialect that has pins in the file.
    ///
    /// This is the dialect returned by ``recognized(in:)``, or two for a property list that contains both TrustKit's
    /// configuration and NSPinnedDomains. Each of them is a separate policy, and an app enforces both. A key that is
    /// misspelled or misplaced counts too, and the reader of its dialect notes it.
    public static func allRecognized(in bytes: [UInt8]) -> [PinDialect] {
        guard let first = recognized(in: bytes) else { return [] }
        guard [.trustkit, .apple].contains(first), let list = try? PropertyList.read(bytes, path: "") else {
            return [first]
        }
        let found = [PinDialect.trustkit, .apple].filter { $0.isMeant(by: list) }
        return found.isEmpty ? [first] : found
    }

    private static let trustKitKeys = [TrustKitReader.rootKey, TrustKitReader.domainsKey]
    private static let rootKeys = trustKitKeys + [ApplePinReader.path[1]]

    private func isMeant(by list: PropertyList) -> Bool {
        func has(_ list: PropertyList?, _ keys: [String]) -> Bool {
            (list?.members ?? []).contains { member in
                // TSKPinnedDomains isn't a misspelled NSPinnedDomains.
                keys.contains(member.key)
                    || !Self.rootKeys.contains(member.key) && suggestion(for: member.key, among: keys) != nil
            }
        }
        guard self == .apple else { return has(list, Self.trustKitKeys) }
        let security = list[ApplePinReader.path[0]]
        let exceptions = security?[ApplePinReader.exceptionsKey]?.members ?? []
        return list["SecTrustPinningRequired"] != nil || has(list, [ApplePinReader.path[1]])
            || has(security, [ApplePinReader.path[1]])
            || exceptions.contains { has($0.value, [ApplePinReader.leafKey, ApplePinReader.authorityKey]) }
    }
}
