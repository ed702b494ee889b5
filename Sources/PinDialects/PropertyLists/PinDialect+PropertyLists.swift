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

    /// Returns whether the list has a key of the dialect's pins, wherever it is. A key in the wrong place counts too,
    /// and so does a misspelled one with pins inside.
    private func isMeant(by list: PropertyList) -> Bool {
        let places = self == .apple ? ApplePinReader.places : TrustKitReader.places(isAlone: false)
        return places.holdsPins(list) || self == .apple && list[ApplePinReader.requiredKey] != nil
            || (list.members ?? []).contains { places.meant(by: $0, in: []) != nil }
    }
}
