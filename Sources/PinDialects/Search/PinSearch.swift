package import CertificatePinning
package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// The search for pins in the files of a source tree.
///
/// The dialects' readers read the files that they know. Everything else is searched for texts in the form of a digest,
/// which are pins if their prefix or the words around them say so.
package struct PinSearch: Sendable {
    /// The pins of a file, in its order.
    package private(set) var sightings: [PinSighting] = []
    /// The digests that are pins if the same digest is one elsewhere.
    package private(set) var unsure: [PinSighting] = []
    /// Whether the file belongs to the tests of a project, judged by its path.
    package private(set) var isTest = false
    /// The dialects that the file was read as.
    package private(set) var dialects: [PinDialect] = []
    /// The reasons why a file of a known dialect couldn't be read.
    package private(set) var problems: [Problem] = []

    /// A failure of a dialect's reader.
    package struct Problem: Sendable {
        package let dialect: PinDialect
        package let problems: [PolicyProblem]
        /// Whether the file is a program or belongs to tests, so that the failure isn't a mistake in the file. Its pins
        /// were searched by their form.
        package let isExpected: Bool
    }

    /// Searches a file. `path` is its path in locations, and `name` that in the tree, which says what it is for.
    package init(
        _ bytes: [UInt8], path: String, name: String, at time: Date, suffixes: PublicSuffixes = .system
    ) {
        guard let (bytes, _) = try? XMLReader.decoded(bytes) else { return }
        let shapes = DigestShape.all(in: bytes)
        isTest = SearchedText.isTest(name)
        let searched = SearchedDialects(bytes, name: name, hasDigests: !shapes.isEmpty)
        dialects = searched.all
        for dialect in dialects {
            do throws(PolicyFileError) {
                let reading = try dialect.read(bytes, path: path)
                add(reading.policy, of: dialect, path: path, isTest: isTest, at: time)
            } catch {
                let isProgram =
                    [.okhttp, .swift, .map].contains(dialect)
                    || [.trustkit, .apple].contains(dialect) && SearchedText.language(name) == .code
                problems.append(Problem(dialect: dialect, problems: error.problems, isExpected: isProgram || isTest))
            }
        }
        guard !shapes.isEmpty, !bytes.starts(with: "bplist".utf8) else { return }
        let text = SearchedText(bytes, name: name)
        let locations = shapes.map { text.location(of: $0.range.lowerBound, path: path) }
        let read = locate(shapes, at: locations)
        var context = PinContext(text)
        // A list of checksums has no hosts, and is too long to look for them.
        let mostHosts = 1_000
        let hosts = NearbyHost(text: text, suffixes: suffixes, shapes: shapes)
        for (index, shape) in shapes.enumerated() where !read.contains(index) {
            // mutant find-literal: context.verdict(on: shape) by PinSearchTests
            let verdict = searched.pinned[shape.value].map { .pin($0) } ?? context.verdict(on: shape)
            let content: CanonicalPin.Content
            switch verdict {
            case .pin(let found), .unsure(let found): content = found
            case .never: continue
            }
            let sighting = PinSighting(
                CanonicalPin(content, shape.digest, shape.value), at: locations[index],
                host: unsure.count < mostHosts ? hosts.host(ofPinAt: shape.range) : nil,
                text.standing(at: shape.range.lowerBound))
            if case .pin = verdict, !searched.isList { sightings.append(sighting) } else { unsure.append(sighting) }
        }
        sightings.sort { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
    }

    /// Gives the pins that a reader found the positions of their digests, where readers give those of the element or
    /// the rule around it. Returns the indices of these digests.
    private mutating func locate(_ shapes: [DigestShape], at locations: [PolicyLocation]) -> Set<Int> {
        var read: Set<Int> = []
        let indices = Dictionary(grouping: shapes.indices) { shapes[$0].value }
        for sighting in sightings.indices {
            let first = sightings[sighting].location.line
            // A constant may be above the rules that use it.
            let places = indices[sightings[sighting].pin.value] ?? []
            guard let index = places.first(where: { locations[$0].line >= first }) ?? places.first else { continue }
            sightings[sighting].location = locations[index]
            read.insert(index)
        }
        return read
    }

    private mutating func add(
        _ policy: CanonicalPolicy, of dialect: PinDialect, path: String, isTest: Bool, at time: Date
    ) {
        let whole = PolicyLocation(path: path)
        for rule in policy.rules {
            var standing: PinSighting.Standing =
                switch rule.mode {
                case .enforce: .inForce
                case .report: .reportOnly
                case .off: .off
                }
            let hasEnded = rule.expiry.map {
                $0.effect == .stopPinning && $0.moment.isOver(under: DecisionCircumstances(at: time))
            }
            if hasEnded == true { standing = .expired }
            if isTest { standing = .test }
            for pattern in rule.patterns {
                for pin in rule.pins {
                    sightings.append(
                        PinSighting(
                            pin.digested, at: pin.location ?? rule.location ?? whole, host: pattern.host,
                            dialect: dialect,
                            standing))
                }
            }
        }
        for pin in policy.denied {
            sightings.append(
                PinSighting(
                    pin.digested, at: pin.location ?? whole, host: nil, dialect: dialect, isTest ? .test : .denied))
        }
    }
}

extension CanonicalPin {
    /// The same pin by a digest, if it contains the whole object.
    fileprivate var digested: CanonicalPin {
        digest == .full ? CanonicalPin(content, .sha256, sha256Digest(value.span)) : self
    }
}
