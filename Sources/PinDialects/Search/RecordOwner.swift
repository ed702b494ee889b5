import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The owner of a DNS record for a service in a program or a configuration, such as `_443._tcp.www`.
enum RecordOwner {
    /// Whether a word is such an owner: a port and a protocol, or `*` for all ports, with or without a host.
    static func isOwner(_ word: ArraySlice<UInt8>) -> Bool {
        guard word.first == UInt8(ascii: "_") || word.first == UInt8(ascii: "*") else { return false }
        let labels = word.split(separator: UInt8(ascii: "."), maxSplits: 2)
        guard labels.count > 1, labels[0] == [UInt8(ascii: "*")] || labels[0].count > 1 else { return false }
        let isPort = labels[0].first == UInt8(ascii: "*") || labels[0].dropFirst().allSatisfy(\.isDigit)
        return isPort && ["_tcp", "_udp", "_sctp"].contains { labels[1].elementsEqual($0.utf8) }
    }

    /// Returns the host of an owner, or `nil` if the owner is relative and its zone isn't known.
    ///
    /// A name that ends with a dot is complete, and one that ends with the zone's name, too. The others are below the
    /// zone. Without a zone, a name is complete if it is a hostname.
    static func host(_ owner: String, inZone zone: String?, _ suffixes: PublicSuffixes) -> String? {
        var name = owner.lowercased().split(separator: ".", maxSplits: 2).dropFirst(2).first ?? ""
        let isComplete = name.hasSuffix(".")
        if isComplete { name = name.dropLast() }
        let host = NearbyHost.hostname(String(name), isURL: true, suffixes)
        guard let zone, !isComplete, name != zone, !name.hasSuffix("." + zone) else { return host }
        // mutant find-owner-zone: zone for `name.isEmpty || name == "@" ? zone : "\(name).\(zone)"` by
        //   PinSearchTests/records
        return name.isEmpty || name == "@" ? zone : "\(name).\(zone)"
    }
}
