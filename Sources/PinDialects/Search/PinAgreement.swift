package import CertificatePinning

/// The pins of a source tree by host, with what each place lacks of the others.
package struct PinAgreement: Sendable {
    /// The hosts: pins without one first, then the hosts whose places agree, then the others, each in order of their
    /// names.
    package private(set) var hosts: [PinnedHost] = []

    package init(_ sightings: [PinSighting]) {
        let byHost = Dictionary(grouping: sightings) { $0.host ?? "" }
        hosts = byHost.map { PinnedHost($0.isEmpty ? nil : $0, $1) }.sorted {
            ($0.disagrees ? 1 : 0, $0.host ?? "") < ($1.disagrees ? 1 : 0, $1.host ?? "")
        }
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

    /// Returns the position of the first pin of the host that is in force in a place.
    package func position(of place: PinPlace) -> PolicyLocation? {
        pins.flatMap(\.sightings).filter { $0.isInForce && PinPlace($0) == place }.map(\.location)
            .min { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    init(_ host: String?, _ sightings: [PinSighting]) {
        self.host = host
        let ordered = sightings.sorted {
            ($0.location.path, $0.location.line, $0.location.column) < (
                $1.location.path, $1.location.line, $1.location.column
            )
        }
        var indices: [CanonicalPin: Int] = [:]
        // Digests of certificates and keys can't be compared, nor can those of different lengths.
        var used: [PinKind: [PinPlace]] = [:]
        for sighting in ordered {
            let place = PinPlace(sighting)
            if !places.contains(place) { places.append(place) }
            let index = indices[sighting.pin] ?? pins.count
            if index == pins.count { pins.append(PinnedKey(pin: sighting.pin)) }
            indices[sighting.pin] = index
            pins[index].sightings.append(sighting)
            let kind = PinKind(sighting.pin)
            if sighting.isInForce, !(used[kind] ?? []).contains(place) { used[kind, default: []].append(place) }
        }
        guard host != nil else { return }
        for index in pins.indices {
            let having = Set(pins[index].sightings.filter(\.isInForce).map(PinPlace.init))
            guard !having.isEmpty else { continue }
            // mutant find-missing: [] by PinAgreementTests FindTests
            pins[index].missing = (used[PinKind(pins[index].pin)] ?? []).filter { !having.contains($0) }
        }
    }
}

/// A pin with all its positions.
package struct PinnedKey: Sendable {
    package let pin: CanonicalPin
    /// The positions, in order of their paths.
    package fileprivate(set) var sightings: [PinSighting] = []
    /// The places that pin the host and lack this pin.
    package fileprivate(set) var missing: [PinPlace] = []
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
