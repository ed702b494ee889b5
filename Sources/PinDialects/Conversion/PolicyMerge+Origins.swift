import CertificatePinning

extension PolicyMerge {
    /// Writes the files and lines that each pin comes from into its note.
    package mutating func noteOrigins() {
        let all = merged.map(\.origins)
        // A named pin is written once for all rules.
        var byName: [String: [String]] = [:]
        for (index, rule) in policy.rules.enumerated() {
            for pin in rule.pins {
                if let name = pin.name { byName[name, default: []] += all[index][pin.anywhere] ?? [] }
            }
        }
        let notes = byName.compactMapValues(Self.note(on:))
        for index in policy.rules.indices {
            for pin in policy.rules[index].pins.indices {
                let there = policy.rules[index].pins[pin]
                policy.rules[index].pins[pin].note =
                    there.name.map { notes[$0] } ?? all[index][there.anywhere].flatMap(Self.note(on:))
            }
        }
    }

    private static func note(on places: [String]) -> String? {
        var seen: Set<String> = []
        let distinct = places.filter { seen.insert($0).inserted }
        guard !distinct.isEmpty else { return nil }
        let rest = distinct.count > mostOrigins ? " and \(distinct.count - mostOrigins) more" : ""
        return "from " + distinct.prefix(mostOrigins).joined(separator: ", ") + rest
    }

    /// The maximum number of origins in a note.
    private static let mostOrigins = 8
}

extension PolicyMerge.Merged {
    /// The files and lines of each pin, whatever its role.
    fileprivate var origins: [CanonicalPin: [String]] {
        var origins: [CanonicalPin: [String]] = [:]
        for source in sources {
            for pin in source.pins {
                guard let place = pin.origin(in: source) else { continue }
                origins[pin.anywhere, default: []].append("\(place.path):\(place.line)")
            }
        }
        return origins
    }
}
