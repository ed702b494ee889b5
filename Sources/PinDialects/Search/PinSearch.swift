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
    /// Whether the file belongs to the tests of a project, judged by its path, if it may concern pins.
    package private(set) var isTest = false
    /// The dialects that the file was read as.
    package private(set) var dialects: [PinDialect] = []
    /// The reasons why a file of a known dialect couldn't be read.
    package private(set) var problems: [Problem] = []

    /// The pins of files that were read which their systems can't use or ignore, as notes of the readers.
    package private(set) var unusablePins: [PolicyProblem] = []
    /// Whether the file may have more pins than were read, since a host isn't pinned, or a setting of pins isn't read.
    package private(set) var lacksPins = false
    /// The files of the same project whose constants are pins of this file.
    package private(set) var constantFiles: Set<String> = []
    /// The positions of pins in constants that no program of the project uses.
    package private(set) var unusedConstants: Set<PolicyLocation> = []
    /// Whether the file is among the documentation, where maps of pins are examples.
    private var isExample = false
    /// The lines with pins that the file's reader calls ignored, or `nil` if all that it didn't read are.
    private var ignoredLines: Set<Int>? = []
    /// Whether the file is a list of named pins that policies include, such as `public-roots.jsonc`. It pins nothing by
    /// itself.
    private var isList = false

    /// A failure of a dialect's reader, or pins in another text that are damaged.
    package struct Problem: Sendable {
        package let dialect: PinDialect?
        package let problems: [PolicyProblem]
    }

    /// Searches a file. `path` is its path in locations, and `name` that in the tree, which says what it is for.
    /// `project` has the other files that can declare the constants of a program.
    package init(
        _ bytes: Span<UInt8>, path: String, name: String, at time: Date, suffixes: PublicSuffixes = .system,
        project: @autoclosure () -> SourceProject? = nil
    ) {
        // Most files end here, of which nothing else is looked at.
        guard XMLReader.wideEncoding(of: bytes) != nil || DialectText.mayConcernPins(bytes, inTreeAs: name) else {
            return
        }
        isTest = SearchedText.isTest(name)
        isExample = SearchedText.isBesideDocumentation(name)
        let file = DialectText([UInt8](copying: bytes), inTreeAs: name)
        dialects = PinDialect.allRecognized(in: file)
        for dialect in dialects { read(file, as: dialect, path: path, at: time, project()) }
        // mutant find-empty: false for 1 by PinSearchTests/ignored
        if file.isEmptyPinFile, !isTest {
            add("is empty, although its name is that of a file with pins: restore it or remove it", path: path)
        } else if file.isNamedForPins {
            addBrokenJSON(file, path: path)
            // mutant find-plist: {} by PinSearchTests/ignored
            if file.form == .binary, dialects.isEmpty { addBrokenPropertyList(file, path: path) }
        }
        guard file.form != .binary else { return }
        let marked = DigestShape.marked(in: file.bytes)
        let shapes = (file.digests + marked.whole + DigestShape.grouped(in: file.bytes)).sorted {
            $0.range.lowerBound < $1.range.lowerBound
        }
        lacksPins = lacksPins || sightings.isEmpty && !shapes.isEmpty
        let damaged = dialects.isEmpty && !isTest ? marked.damaged : []
        guard !shapes.isEmpty || !damaged.isEmpty else { return }
        let text = SearchedText(file.bytes, name: name)
        add(damaged, of: text, path: path)
        let locations = text.locations(of: shapes.map(\.range.lowerBound), path: path)
        var hosts = NearbyHost(text: text, suffixes: suffixes, shapes: shapes)
        let read = locate(shapes, of: text, at: locations, &hosts)
        var context = PinContext(text, hosts, shapes)
        // Digests of a literal are pins by their use, although no host is known.
        let stray = dialects.isEmpty ? file.map.stray : []
        var pinned = Dictionary(stray.map { ($0.value, $0.content) }) { first, _ in first }
        if text.language == .zone { pinned = TLSAZone.contents(in: file.bytes) }
        var verdicts = shapes.indices.map { (index: Int) -> PinContext.Verdict in
            if let content = read[index] { return .pin(content) }
            // mutant find-literal: nil for `pinned[shapes[index].value]` by PinSearchTests
            if let content = pinned[shapes[index].value], !context.isOfOtherRecord(shapes[index]) {
                return .pin(content)
            }
            return context.verdict(on: shapes[index])
        }
        // Values that are named as keys, in a file that compares keys.
        let hasPins = verdicts.contains { if case .pin(.publicKey) = $0 { true } else { false } }
        // mutant find-key-names: false by PinSearchTests/settings
        if hasPins || context.comparesKeys {
            for (index, shape) in shapes.enumerated() where verdicts[index] == .unsure(.publicKey) {
                if context.isNamedAsKey(shape) { verdicts[index] = .pin(.publicKey) }
            }
        }
        var empty: [Int] = []
        for list in DigestLists(shapes, in: text).lists {
            let known = verdicts[list].lazy.compactMap { if case .pin(let content) = $0 { content } else { nil } }.first
            guard let known else { continue }
            for index in list {
                switch verdicts[index] {
                // mutant find-list: verdicts[index] for `.pin(known)` by PinSearchTests/lists
                case .unsure, .placeholder: verdicts[index] = .pin(known)
                case .nothing: empty.append(index)
                case .pin, .never: break
                }
            }
        }
        for (index, shape) in shapes.enumerated() where read[index] == nil && !empty.contains(index) {
            // mutant find-empty-pin: false for `context.isEmptyPin(shape)` by PinSearchTests/emptyPins
            if context.isEmptyPin(shape) { empty.append(index) }
        }
        addEmpty(empty.sorted().map { shapes[$0] }, of: text, path: path)
        // A list of checksums has no hosts, and is too long to look for them.
        let mostHosts = context.mayPin ? 1_000 : 100
        // The record of a zone that was read has no host if the reader found none.
        let isZone = dialects == [.tlsa] && problems.isEmpty
        let zonePins = isZone ? Set(sightings.map(\.pin.value)) : []
        let readPins = Dictionary(grouping: problems.isEmpty ? sightings : [], by: \.pin)
        for (index, shape) in shapes.enumerated() where read[index] == nil {
            let content: CanonicalPin.Content
            switch verdicts[index] {
            case .pin(let found), .unsure(let found): content = found
            case .never, .nothing, .placeholder: continue
            }
            // mutant find-pinless-record: true for `!isZone` by PinSearchTests/shapes
            let mayHaveHost = !isZone && unsure.count < mostHosts
            let names = mayHaveHost ? hosts.hosts(ofPinAt: shape.range) : []
            let standing =
                context.mayPin
                ? standing(of: shape, at: locations[index], in: text) : text.standing(at: shape.range.lowerBound)
            // The records of several ports of a host are one rule.
            // mutant find-ports: false for `zonePins.contains(shape.value)` by PinSearchTests/settings
            if standing == .inForce, zonePins.contains(shape.value) { continue }
            for name in names.isEmpty ? [nil] : names.map(Optional.some) {
                var sighting = PinSighting(
                    CanonicalPin(content, shape.digest, shape.value), at: locations[index], host: name?.host, standing)
                sighting.scope = name?.scope ?? .exact
                // mutant find-again: {} by PinSearchTests/again
                sighting.adopt(readPins[sighting.pin] ?? [], isKey: text.isKey(shape.range))
                if case .pin = verdicts[index], !isList { sightings.append(sighting) } else { unsure.append(sighting) }
            }
        }
        if dialects.isEmpty, SourceProject.contains(name), sightings.contains(where: \.isInForce),
            let ranges = project()?.unusedPins(in: file.bytes), !ranges.isEmpty
        {
            for (index, shape) in shapes.enumerated()
            where ranges.contains(where: { $0.contains(shape.range.lowerBound) }) {
                unusedConstants.insert(locations[index])
            }
        }
        let emptyPins = sightings.takeEmpty()
        if !emptyPins.isEmpty {
            unusablePins += emptyPins.without(LintAllowance.all(in: text.bytes)).map(PolicyProblem.init)
        }
        sightings.sort { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
        if !file.isNamedForPins, sightings.contains(where: \.isInForce) { addBrokenJSON(file, path: path) }
    }

    /// Adds a problem for JSON that can't be read, such as the beginning of a file. Its other pins aren't known.
    private mutating func addBrokenJSON(_ file: DialectText, path: String) {
        // mutant find-json: false for 1 by PinSearchTests/ignored
        guard dialects.isEmpty, !isTest, file.isBrokenJSON, let problem = file.document.problems.last else { return }
        add("can't be read as JSON: \(problem.message)", at: problem.position, path: path)
    }

    /// Adds a problem for a binary property list that can't be read.
    private mutating func addBrokenPropertyList(_ file: DialectText, path: String) {
        do throws(PolicyFileError) {
            _ = try PropertyList.read(file.bytes, path: path)
        } catch {
            if !isTest { problems.append(Problem(dialect: nil, problems: error.problems)) }
        }
    }

    /// Whether the name of a file in a tree is the usual one of a file with pins.
    package static func expectsPins(inFileNamed name: String) -> Bool {
        DialectText.isNamedForPins(name) && !SearchedText.isTest(name)
    }

    /// Whether a part of a text that is too large to be read has one of the words without which a text has no pins.
    package static func namesPins(_ part: Span<UInt8>) -> Bool { largeTextWords.isIn(part) }

    private static let largeTextWords = WordSearch([
        "sha256/", "sha1/", "pin-sha256", "<pin", "pinnedpubkey", "nspinned", "tskpinned", "certificatepin",
        "publickeyhash", "publickeypins", "sslpin", "certpin", "spki",
    ])

    private mutating func add(_ message: String, at position: SourcePosition? = nil, path: String) {
        let location = position.map { PolicyLocation(path: path, $0) } ?? PolicyLocation(path: path)
        let problem = PolicyProblem(location: location, message: message)
        problems.append(Problem(dialect: nil, problems: [problem]))
    }

    private mutating func read(
        _ file: DialectText, as dialect: PinDialect, path: String, at time: Date,
        _ project: @autoclosure () -> SourceProject?
    ) {
        do throws(PolicyFileError) {
            let reading: DialectReading
            if dialect == .policy {
                let policy = try PolicyFile.reading(file.original, path: path, allowsNamesAlone: true)
                isList = file.document.root.map { $0["domains"] == nil && $0["pins"] != nil } ?? false
                reading = DialectReading(policy)
            } else {
                // What its own system can't read pins nothing, as UTF-16 in a program.
                // mutant find-original: file.bytes for `file.original` by PinSearchTests/original
                reading = try dialect.read(file.original, path: path, target: nil, project: project())
            }
            add(reading.policy, of: dialect, path: path, isTest: isTest, at: time)
            constantFiles.formUnion(reading.constantFiles)
            // mutant find-strays: [] for `reading.ignoredLines` by PinSearchTests/strays
            ignoredLines?.formUnion(reading.ignoredLines)
            let doubts: [LintRule?] = [.malformedPin, .pinsNothing, .ignoredSetting, .misplacedSetting]
            // Property lists are recognized by keys of pins alone.
            let isEmpty = reading.policy.rules.isEmpty && [.apple, .trustkit].contains(dialect)
            lacksPins =
                lacksPins || isEmpty
                || reading.notes.contains { $0.direction != .unchanged && doubts.contains($0.rule) }
            // A configuration without any pins is none that could lose some.
            // mutant find-ignored: [] by PinSearchTests/ignored
            var errors = reading.findings(path: path).filter {
                $0.severity == .error && ($0.rule != .pinsNothing || !reading.policy.rules.isEmpty)
            }
            // mutant find-host-fault: [] for `reading.policy.hostFaults(path: path)` by PinSearchTests/unusable
            errors += reading.policy.hostFaults(path: path)
            ignoredLines?.formUnion(errors.map(\.location.line))
            // Android ignores all pins outside of its pin-sets.
            // mutant find-outside: {} by PinSearchTests/standings
            if dialect == .android { ignoredLines = nil }
            guard !errors.isEmpty else { return }
            // mutant find-allowed: errors for `errors.without(LintAllowance.all(in: file.bytes))` by
            //   PinSearchTests/ignored
            unusablePins += errors.without(LintAllowance.all(in: file.bytes)).map(PolicyProblem.init)
        } catch {
            // What the reader knows of the hosts is shown beside its problem.
            let known = CanonicalPolicy(rules: error.known, combination: .union)
            // mutant find-known: {} by PinSearchTests/known
            add(known, of: dialect, path: path, isTest: isTest, at: time)
            constantFiles.formUnion(error.knownFiles)
            // mutant find-generator: false by PinSearchTests/generators
            guard !Self.isGenerator(file, of: dialect, isExample: isExample) else { return }
            problems.append(Problem(dialect: dialect, problems: error.problems))
        }
    }

    /// Whether a file that can't be read as one of a dialect has no pins of its own: an example in a directory of
    /// documentation, or a program without any digest that writes the configuration of another one.
    private static func isGenerator(_ file: DialectText, of dialect: PinDialect, isExample: Bool) -> Bool {
        if dialect == .map { return isExample }
        let name = file.name.lowercased()
        return dialect == .trustkit && file.digests.isEmpty && !name.contains(".config.")
            && ["js", "mjs", "cjs", "ts", "py", "rb", "go", "php", "pl"].contains(SearchedText.fileExtension(name))
    }

    /// Adds a problem for damaged pins that are in use.
    private mutating func add(_ damaged: [Range<Int>], of text: SearchedText, path: String) {
        let used = damaged.filter { text.standing(at: $0.lowerBound) == .inForce }
        let locations = text.locations(of: used.map(\.lowerBound), path: path)
        let found = zip(used, locations).map { range, location in
            let pin = String(decoding: text.bytes[range], as: UTF8.self)
            return PolicyProblem(
                location: location, message: "\(quoted(pin)) isn't a pin: hash the key again", rule: .malformedPin)
        }
        // mutant find-damaged: false by PinSearchTests/damaged
        if !found.isEmpty { problems.append(Problem(dialect: nil, problems: found)) }
    }

    /// Adds a problem for digests of nothing in lists of pins.
    private mutating func addEmpty(_ shapes: [DigestShape], of text: SearchedText, path: String) {
        let used = shapes.filter { text.standing(at: $0.range.lowerBound) == .inForce }
        let locations = text.locations(of: used.map(\.range.lowerBound), path: path)
        let found = zip(used, locations).map { shape, location in
            PolicyProblem(
                location: location,
                message: "\(quoted(String(decoding: text.bytes[shape.range], as: UTF8.self))) is the SHA-256 of empty "
                    + "input: hash the key again", rule: .placeholderPin)
        }
        // mutant find-nothing: false by PinSearchTests/lists
        if !found.isEmpty { problems.append(Problem(dialect: nil, problems: found)) }
    }

    /// Returns the standing of a pin that no reader found.
    private func standing(
        of shape: DigestShape, at location: PolicyLocation, in text: SearchedText
    ) -> PinSighting.Standing {
        let standing = text.standing(at: shape.range.lowerBound)
        guard standing == .inForce else { return standing }
        // mutant find-ignored-pin: true for `ignoredLines?.contains(location.line) ?? true` by
        //   PinSearchTests/standings
        if !dialects.isEmpty, problems.isEmpty, ignoredLines?.contains(location.line) ?? true { return .ignored }
        if text.isDenied(at: shape.range.lowerBound) { return .denied }
        if text.isExample(at: shape.range.lowerBound) { return .documentation }
        if text.isReportOnly(at: shape.range.lowerBound) { return .reportOnly }
        return shape.isPlaceholder(in: text.bytes) ? .placeholder : .inForce
    }

    /// Gives the pins that a reader found the positions of their digests, where readers give those of the element or
    /// the rule around it, and the hosts beside them if the dialect names none. Returns the indices of these digests,
    /// with what they are of.
    private mutating func locate(
        _ shapes: [DigestShape], of text: SearchedText, at locations: [PolicyLocation], _ hosts: inout NearbyHost
    ) -> [Int: CanonicalPin.Content] {
        var read: [Int: CanonicalPin.Content] = [:]
        var others: [PinSighting] = []
        defer { sightings += others }
        let namesHosts = sightings.contains { $0.host != nil }
        let indices = Dictionary(grouping: shapes.indices) { shapes[$0].value }
        for sighting in sightings.indices {
            let own = sightings[sighting].location
            var places = indices[sightings[sighting].pin.value] ?? []
            if sightings[sighting].dialect?.hasConstants ?? false {
                // The value of a constant isn't in a comment of the program that uses it.
                // mutant find-comment: true by PinctlTests.SourceProjectsTests/places
                places.removeAll { text.isComment(shapes[$0].range.lowerBound) }
                if !places.isEmpty { sightings[sighting].isOfConstant = false }
            }
            // The one at the position, or the first one that isn't above the rule. A constant may be above the rules
            // that use it.
            let same = places.first { locations[$0].line == own.line && locations[$0].column >= own.column }
            let place = places.firstIndex(notBefore: { locations[$0].line < own.line })
            guard let index = same ?? (place < places.count ? places[place] : places.first) else { continue }
            sightings[sighting].location = locations[index]
            // mutant find-template: false for `shapes[index].isPlaceholder(in: text.bytes)` by PinSearchTests/standings
            if sightings[sighting].isInForce, shapes[index].isPlaceholder(in: text.bytes) {
                sightings[sighting].standing = .placeholder
            }
            // git's pins for all other servers aren't those of a server that the file names.
            // mutant find-git: false by PinctlTests.FindTests
            let isForOthers = sightings[sighting].dialect == .git && namesHosts
            if sightings[sighting].host == nil, sightings[sighting].standing != .denied, !isForOthers {
                let names = hosts.hosts(ofPinAt: shapes[index].range)
                for (number, name) in names.enumerated() {
                    var named = sightings[sighting]
                    (named.host, named.scope) = (name.host, name.scope)
                    if number == 0 { sightings[sighting] = named } else { others.append(named) }
                }
            }
            read[index] = sightings[sighting].pin.content
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
            if isExample, dialect == .map { standing = .documentation }
            if isTest { standing = .test }
            for pattern in rule.patterns {
                let isNever = standing == .inForce && pattern.fault != nil
                for pin in rule.pins {
                    var sighting = PinSighting(
                        pin.digested, at: pin.location ?? rule.location ?? whole, host: pattern.host, dialect: dialect,
                        isNever ? .ignored : standing)
                    sighting.scope = pattern.scope
                    // Zeros in place of a certificate.
                    // mutant find-null-record: false for `Set(pin.value).count == 1` by PinSearchTests/placeholders
                    if sighting.isInForce, Set(pin.value).count == 1 { sighting.standing = .placeholder }
                    sighting.isOfConstant = dialect.hasConstants
                    sightings.append(sighting)
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
