package import CertificatePinning

/// The pins of a source tree by host, with what each place lacks of the others.
///
/// Places are compared for each name at and below a host: a place that pins only the names below it says nothing of the
/// host, so it neither lacks a pin that another place has for the host, nor has one in its place. Which names to pin is
/// a choice that places may make differently, so a difference in that alone isn't a disagreement.
package struct PinAgreement: Sendable {
    /// The hosts: pins without one first, then the hosts whose places agree, then the others, each in order of their
    /// names.
    package private(set) var hosts: [PinnedHost] = []

    package init(_ sightings: [PinSighting]) {
        var byHost = Dictionary(grouping: sightings) { $0.host ?? "" }
        let named = byHost
        for (host, own) in named where !host.isEmpty && own.contains(where: \.isInForce) {
            // A place that pins only names below the host has the pins of a host above it for the host itself.
            // mutant find-parent-scope: own for `own.filter…}` by PinAgreementTests/scopes
            let places = own.filter { !$0.isInForce || $0.scope.includes(depth: 0) }
            byHost[host] = own + Self.inherited(by: host, besides: Set(places.map(PinPlace.init)), in: named)
        }
        hosts = byHost.map { PinnedHost($0.isEmpty ? nil : $0, $1) }.sorted {
            ($0.disagrees ? 1 : 0, $0.host ?? "") < ($1.disagrees ? 1 : 0, $1.host ?? "")
        }
    }

    /// Returns the pins of hosts above a host that include it, in places that don't name the host itself.
    private static func inherited(
        by host: String, besides places: Set<PinPlace>, in sightings: [String: [PinSighting]]
    ) -> [PinSighting] {
        var (places, inherited) = (places, [PinSighting]())
        var (rest, depth) = (host[...], 0)
        while let dot = rest.firstIndex(of: ".") {
            (rest, depth) = (rest[rest.index(after: dot)...], depth + 1)
            let above = (sightings[String(rest)] ?? []).filter {
                // mutant find-parent: false by PinAgreementTests/parent
                $0.isInForce && $0.host == String(rest) && $0.scope.includes(depth: depth)
                    && !places.contains(PinPlace($0))
            }
            // The closest one of a place counts.
            places.formUnion(above.map(PinPlace.init))
            inherited += above
        }
        return inherited
    }

    /// The number of files that have pins, where a file with the configurations of two systems counts twice.
    package var placeCount: Int { Set(hosts.flatMap(\.places)).count }
    /// The number of different pins.
    package var pinCount: Int { Set(hosts.flatMap(\.pins).map(\.pin)).count }
}

/// The pins of a host.
package struct PinnedHost: Sendable {
    /// The host, or `nil` for pins for which none is known.
    package let host: String?
    /// The pins, in the order of the places.
    package private(set) var pins: [PinnedKey] = []
    /// The places that name the host.
    package private(set) var places: [PinPlace] = []

    /// Whether a place lacks a pin that another one has.
    package var disagrees: Bool { pins.contains { !$0.missing.isEmpty } }

    /// The places that lack pins, in order, each with a pin that it lacks and the number of these.
    package private(set) var lacking: [(place: PinPlace, position: PolicyLocation?, pin: PinnedKey, count: Int)] = []

    init(_ host: String?, _ sightings: [PinSighting]) {
        self.host = host
        let ordered = sightings.sorted {
            ($0.location.path, $0.location.line, $0.location.column) < (
                $1.location.path, $1.location.line, $1.location.column
            )
        }
        var indices: [CanonicalPin: Int] = [:]
        var known: Set<PinPlace> = []
        for sighting in ordered {
            let place = PinPlace(sighting)
            if known.insert(place).inserted { places.append(place) }
            let index = indices[sighting.pin] ?? pins.count
            if index == pins.count { pins.append(PinnedKey(pin: sighting.pin)) }
            indices[sighting.pin] = index
            pins[index].sightings.append(sighting)
        }
        if host != nil { compare(ordered.filter(\.isInForce)) }
    }

    /// Finds what each place lacks of the others. With many places, these are too many to be listed.
    private mutating func compare(_ sightings: [PinSighting]) {
        var compared: [[PinSighting]] = []
        for depth in 0...Self.deepest {
            let own = Self.applied(sightings, to: host ?? "", depth: depth)
            // mutant find-depth: true by PinAgreementTests/scopes
            if !compared.contains(own) { compared.append(own) }
        }
        var (lacks, positions) = ([PinPlace: (first: Int, count: Int)](), [PinPlace: PolicyLocation]())
        let indices = Dictionary(uniqueKeysWithValues: pins.indices.map { (pins[$0].pin, $0) })
        for sightings in compared { compare(sightings, indices, &lacks, &positions) }
        lacking = lacks.map { ($0.key, positions[$0.key], pins[$0.value.first], $0.value.count) }
        lacking.sort { $0.place.title < $1.place.title }
    }

    /// The number of labels below a host from which all names have the same pins.
    private static let deepest = 2

    /// Returns the pins that count for names a number of labels below a host: those of the closest host of each place.
    private static func applied(_ sightings: [PinSighting], to host: String, depth: Int) -> [PinSighting] {
        func distance(_ sighting: PinSighting) -> Int {
            host.utf8.dropLast(sighting.host?.utf8.count ?? 0).count { $0 == UInt8(ascii: ".") }
        }
        let included = sightings.filter { $0.scope.includes(depth: distance($0) + depth) }
        var closest: [PinPlace: Int] = [:]
        for sighting in included {
            closest[PinPlace(sighting)] = min(closest[PinPlace(sighting)] ?? .max, distance(sighting))
        }
        return included.filter { distance($0) == closest[PinPlace($0)] }
    }

    /// Adds the places that lack pins which others have for the same names.
    private mutating func compare(
        _ sightings: [PinSighting], _ indices: [CanonicalPin: Int],
        _ lacks: inout [PinPlace: (first: Int, count: Int)], _ positions: inout [PinPlace: PolicyLocation]
    ) {
        // Digests of certificates and keys can't be compared, nor can those of different lengths.
        var used: [PinKind: [PinPlace]] = [:]
        var known: [PinKind: Set<PinPlace>] = [:]
        var having: [CanonicalPin: Set<PinPlace>] = [:]
        for sighting in sightings {
            let (place, kind) = (PinPlace(sighting), PinKind(sighting.pin))
            having[sighting.pin, default: []].insert(place)
            guard known[kind, default: []].insert(place).inserted else { continue }
            used[kind, default: []].append(place)
            if positions[place] == nil { positions[place] = sighting.location }
        }
        for (kind, places) in used {
            let all = having.keys.filter { PinKind($0) == kind }.compactMap { indices[$0] }.sorted()
            var counts: [PinPlace: Int] = [:]
            for index in all {
                let own = having[pins[index].pin] ?? []
                for place in own { counts[place, default: 0] += 1 }
                // mutant find-missing: [] by PinAgreementTests FindTests
                let missing = places.lazy.filter { !own.contains($0) }.prefix(PinnedKey.mostMissing)
                pins[index].addMissing(Array(missing), of: places.count - own.count)
            }
            for place in places where (counts[place] ?? 0) < all.count {
                guard let first = all.first(where: { !(having[pins[$0].pin]?.contains(place) ?? false) }) else {
                    continue
                }
                let count = max(lacks[place]?.count ?? 0, all.count - (counts[place] ?? 0))
                lacks[place] = (lacks[place]?.first ?? first, count)
            }
        }
    }
}

/// A pin with all its positions.
package struct PinnedKey: Sendable {
    package let pin: CanonicalPin
    /// The positions, in order of their paths.
    package fileprivate(set) var sightings: [PinSighting] = []
    /// The first places that pin the host and lack this pin.
    package fileprivate(set) var missing: [PinPlace] = []
    /// The number of other places that lack it.
    package fileprivate(set) var moreMissing = 0

    fileprivate static let mostMissing = 100

    /// Adds the first places that lack the pin for some names, of a number of them.
    fileprivate mutating func addMissing(_ places: [PinPlace], of count: Int) {
        let known = missing.count + moreMissing
        missing = Array((missing + places.filter { !missing.contains($0) }).prefix(Self.mostMissing))
        moreMissing = max(0, max(known, count) - missing.count)
    }
}

/// A file that pins, or one of the two configurations that an Info.plist may have.
package struct PinPlace: Sendable, Hashable {
    package let path: String
    private let isApple: Bool

    init(_ sighting: PinSighting) {
        path = sighting.location.path
        isApple = sighting.dialect == .apple
    }

    /// The path, with the part of the file that is for Apple's own implementation.
    package var title: String { isApple ? "\(path) (NSPinnedDomains)" : path }
}

private struct PinKind: Hashable {
    let content: CanonicalPin.Content
    let digest: CanonicalPin.Digest

    init(_ pin: CanonicalPin) { (content, digest) = (pin.content, pin.digest) }
}
