import CertificatePinning
import PinctlBasics

/// The owners of DNS records around a pin, and the zones that they are relative to.
extension NearbyHost {
    /// Returns the names with hosts in place of the owners of records. Their zone is the one that another member of the
    /// record names, that of the entries around a line, or that of the file's name.
    mutating func complete(_ names: [HostPattern], _ line: Int) -> [HostPattern] {
        guard names.contains(where: { RecordOwner.isOwner(Array($0.host.utf8)[...]) }) else { return names }
        let zone = zone(aroundLine: line)
        return names.compactMap { name in
            guard RecordOwner.isOwner(Array(name.host.utf8)[...]) else { return name }
            return RecordOwner.host(name.host, inZone: zone, suffixes).map { HostPattern($0, .exact) }
        }
    }

    /// Returns the owner that a line beside an entry names for the record that the entry is part of.
    func owner(beside own: Int, in structure: TextStructure) -> HostPattern? {
        for step in [\TextStructure.Entry.previous, \TextStructure.Entry.next] {
            var next = structure.entries[own][keyPath: step]
            var count = 0
            while let index = next, count < Self.reach {
                let entry = structure.entries[index]
                // What encloses something is another record.
                if entry.hasParts || text.isComment(line: entry.line) || taken.contains(entry.line) { break }
                let place = places(in: text.range(ofLine: entry.line)).first(where: \.isOwner)
                if let place { return pattern(place) }
                (next, count) = (entry[keyPath: step], count + 1)
            }
        }
        return nil
    }

    private mutating func zone(aroundLine line: Int) -> String? {
        let structure = structure(readsComments: text.isComment(line: line))
        var next = structure.index(ofLine: line)
        var isOwn = true
        while let index = next {
            let entry = structure.entries[index]
            if !isOwn, !entry.isItem, let place = places(in: text.range(ofLine: entry.line)).first(where: isZone) {
                return place.host
            }
            if !isOwn, let zone = constant(inLine: entry.line) { return zone }
            for step in [\TextStructure.Entry.previous, \TextStructure.Entry.next] {
                var other = entry[keyPath: step]
                var count = 0
                while let index = other, count < Self.reach {
                    let line = structure.entries[index].line
                    let key = text.bytes[text.range(ofLine: line)].prefix { !":=".utf8.contains($0) }
                    if !Set(PinWords.words(key)).isDisjoint(with: Self.zoneWords),
                        let place = places(in: text.range(ofLine: line)).first(where: isZone)
                    {
                        return place.host
                    }
                    (other, count) = (structure.entries[index][keyPath: step], count + 1)
                }
            }
            (next, isOwn) = (entry.parent, false)
        }
        let file = text.name.split(separator: "/").last ?? ""
        guard ["yaml", "yml", "json", "lua"].contains(SearchedText.fileExtension(text.name)) else { return nil }
        let stem = file.prefix(upTo: file.lastIndex(of: ".") ?? file.endIndex)
        return Self.hostname(String(stem), isURL: true, suffixes)
    }

    /// Returns the host that is the value of a name in a line, as in `D(DOMAIN, …)`.
    private func constant(inLine line: Int) -> String? {
        let words = text.bytes[text.range(ofLine: line)].prefix(2 * Self.lineReach).split { !$0.isWordByte }.prefix(4)
        for word in words where word.count > 1 {
            let name = String(decoding: word, as: UTF8.self)
            for other in text.lines(with: name).prefix(Self.reach) where other != line {
                let range = text.range(ofLine: other)
                guard let equals = text.bytes[range].firstIndex(of: UInt8(ascii: "=")) else { continue }
                let left = text.bytes[range.lowerBound..<equals].split { !$0.isWordByte }.last
                // mutant find-zone-constant: nil for `places(in: equals..<range.upperBound).first(where: isZone)` by
                //   PinSearchTests/records
                if left == word, let place = places(in: equals..<range.upperBound).first(where: isZone) {
                    return place.host
                }
            }
        }
        return nil
    }

    private func isZone(_ place: Place) -> Bool { !place.isOwner && !place.isAddress }

    /// The words of names whose values are those of zones.
    private static let zoneWords: Set<String> = ["zone", "origin", "domain"]
}
