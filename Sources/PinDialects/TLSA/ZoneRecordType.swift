/// A type of the records in zone files, by its name or as `TYPE52` (RFC 3597, section 5).
struct ZoneRecordType {
    /// The types that are read.
    enum Kind {
        case tlsa
        /// CNAME: another name of the same host or service.
        case alias
    }

    /// The kind of the records, or `nil` if they are irrelevant.
    let kind: Kind?

    /// Creates the type with a name. Returns `nil` for a name that isn't a type.
    init?(_ text: String) {
        let name = text.uppercased()
        switch name.hasPrefix("TYPE") ? Self.number(name.dropFirst("TYPE".count)) : nil {
        case 5: kind = .alias
        case 52: kind = .tlsa
        case .some: kind = nil
        case nil:
            // mutant tlsa-type: true by TLSATests/rejected
            guard Self.names.contains(name) else { return nil }
            kind = name == "TLSA" ? .tlsa : name == "CNAME" ? .alias : nil
        }
    }

    /// Returns the number of a type or class, from 1 to 65535.
    static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let number = Int(text) else { return nil }
        return (1...65_535).contains(number) ? number : nil
    }

    /// The names that zone files may have: IANA's "Resource Record (RR) TYPEs" without the types of questions and
    /// messages, and those that only name servers know and answer with other types.
    static let names: Set<String> = [
        "A", "A6", "AAAA", "AFSDB", "ALIAS", "AMTRELAY", "ANAME", "APL", "ATMA", "AVC", "BRID", "CAA", "CDNSKEY", "CDS",
        "CERT", "CLA", "CNAME", "CSYNC", "DHCID", "DLV", "DNAME", "DNSKEY", "DOA", "DS", "DSYNC", "EID", "EUI48",
        "EUI64", "GID", "GPOS", "HHIT", "HINFO", "HIP", "HTTPS", "IPN", "IPSECKEY", "ISDN", "KEY", "KX", "L32", "L64",
        "LOC", "LP", "LUA", "MB", "MD", "MF", "MG", "MINFO", "MR", "MX", "NAPTR", "NID", "NIMLOC", "NINFO", "NS",
        "NSAP",
        "NSAP-PTR", "NSEC", "NSEC3", "NSEC3PARAM", "NULL", "NXT", "OPENPGPKEY", "PTR", "PX", "RESINFO", "RKEY", "RP",
        "RRSIG", "RT", "SIG", "SINK", "SMIMEA", "SOA", "SPF", "SRV", "SSHFP", "SVCB", "TA", "TALINK", "TLSA", "TXT",
        "UID", "UINFO", "UNSPEC", "URI", "WALLET", "WKS", "X25", "ZONEMD",
    ]
}
