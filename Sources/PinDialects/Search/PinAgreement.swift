package import CertificatePinning

/// The pins of a source tree by host, with what each place lacks of the others.
package struct PinAgreement: Sendable {
    /// The hosts: pins without one first, then the hosts whose places agree, then the others, each in order of their
    /// names.
    package private(set) var hosts: [PinnedHost] = []

    package init(_ sightings: [PinSighting]) {
        var byHost = Dictionary(grouping: sightings) { $0.host ?? "" }
        for (host, own) in byHost where !host.isEmpty && own.contains(where: \.isInForce) {
            byHost[host] = own + Self.inherited(by: host, besides: Set(own.map(PinPlace.init)), in: byHost)
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
        // Digests of certificates and keys can't be compared, nor can those of different lengths.
        var used: [PinKind: [PinPlace]] = [:]
        var positions: [PinKind: [PinPlace: PolicyLocation]] = [:]
        for sighting in sightings {
            let (place, kind) = (PinPlace(sighting), PinKind(sighting.pin))
            guard positions[kind]?[place] == nil else { continue }
            used[kind, default: []].append(place)
            positions[kind, default: [:]][place] = sighting.location
        }
        let having = pins.map { Set($0.sightings.filter(\.isInForce).map(PinPlace.init)) }
        for kind in used.keys {
            let all = pins.indices.filter { PinKind(pins[$0].pin) == kind && !having[$0].isEmpty }
            var counts: [PinPlace: Int] = [:]
            for index in all {
                for place in having[index] { counts[place, default: 0] += 1 }
                let count = (used[kind]?.count ?? 0) - having[index].count
                let most = min(count, PinnedKey.mostMissing)
                // mutant find-missing: [] by PinAgreementTests FindTests
                pins[index].missing = Array((used[kind] ?? []).lazy.filter { !having[index].contains($0) }.prefix(most))
                pins[index].moreMissing = count - most
            }
            for place in used[kind] ?? [] where (counts[place] ?? 0) < all.count {
                guard let first = all.first(where: { !having[$0].contains(place) }) else { continue }
                lacking.append((place, positions[kind]?[place], pins[first], all.count - (counts[place] ?? 0)))
            }
        }
        lacking.sort { $0.place.title < $1.place.title }
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
