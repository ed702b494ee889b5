import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A reader of hosts and their pins in the literals of JSON, JavaScript, TypeScript and other programs, and in YAML.
///
/// Libraries and teams give such maps many shapes, so values are recognized by what they are: a hostname or a URL, a
/// digest, a Boolean for subdomains, a date. A note says how each host was understood. A pin without a host is an
/// error, and so is a value in a list of pins that isn't a literal.
struct PinMapReader {
    private let path: String
    private let suffixes: PublicSuffixes
    let literals: SourceLiterals
    private var problems: PolicyProblems
    private var rules: [CanonicalRule] = []
    /// The rules inside a value that is refused as a whole, to be shown beside its problem.
    private var refused: [CanonicalRule] = []
    /// The constants that are part of another literal, whose pins have their hosts there.
    private var used: Set<String> = []
    /// The pins for which no host is known.
    private var stray: [CanonicalPin] = []
    /// Whether a value that should be a pin has the form of one, damaged or not.
    private var hasPins = false
    /// The settings of hosts whose pins are in another object.
    private var settings: [String: Scope] = [:]
    /// The number of constants that were resolved. Constants of constants can multiply.
    private var resolutions = 0
    private static let mostResolutions = 4_000
    /// The names that are being resolved.
    private var resolving: Set<String> = []
    /// The number of pins that were found, with and without a host.
    private var takenPins = 0
    /// The ports after the hosts at these positions.
    private var ports: [PolicyLocation: Int] = [:]
    /// The switches around hosts that are off, and may be of something else.
    private var switches: Set<SourcePosition> = []
    /// The values with hosts of which the program chooses one.
    private var choices: [SourcePosition] = []
    /// The number of times that a pin is one of a host. In YAML, an alias uses it again.
    private var uses: [PolicyLocation: Int] = [:]
    /// The hosts beside others with pins that have none there.
    private var unpinned: [(host: HostPattern, position: SourcePosition)] = []

    static func read(
        _ bytes: [UInt8], path: String, suffixes: PublicSuffixes = .system
    ) throws(PolicyFileError) -> DialectReading {
        // Compilers of TypeScript read UTF-16.
        let bytes = (try? XMLReader.decoded(bytes))?.bytes ?? bytes
        var reader = try PinMapReader(bytes, path, suffixes, withTexts: true)
        reader.checkMerges()
        for (name, position) in reader.literals.changes where !reader.rules.isEmpty && reader.host(name) != nil {
            // mutant map-changed: {} by PinMapTests/unreadable
            reader.problems.add(
                "the program changes the pins of \(quoted(name)) here: write the pins that it ends with", at: position)
        }
        for pin in reader.stray {
            guard let location = pin.location else { continue }
            // mutant map-stray: {} by PinMapTests/unreadable
            reader.problems.add(
                "no host is known for this pin: write the host as the key of its pins",
                at: SourcePosition(line: Int32(clamping: location.line), column: Int32(clamping: location.column)))
        }
        let start = SourcePosition(line: 1, column: 1)
        // mutant map-exhausted: false by PinMapTests
        if reader.literals.isExhausted || reader.resolutions >= mostResolutions {
            reader.problems.add(SourceLiterals.exhaustion, at: start)
        } else if reader.rules.isEmpty, reader.problems.isEmpty {
            reader.problems.add(
                "nothing is pinned here: write an object with hosts as keys and lists of sha256/ pins as values",
                at: start, rule: .pinsNothing)
        }
        guard reader.problems.isEmpty else {
            throw PolicyFileError(problems: reader.problems.sorted, known: reader.rules + reader.refused)
        }
        return DialectReading(
            CanonicalPolicy(rules: reader.rules, combination: .union),
            notes: reader.rules.prefix(TextLimits.notes).map(reader.note) + reader.withoutPins + reader.onPorts
                + reader.chosen + reader.switchedOff + reader.alternatives + reader.unused)
    }

    /// Returns whether a text has hosts with pins, or with values that should be pins, whether any of these has the
    /// form of a pin, damaged or not, and the pins without a host.
    static func search(
        _ bytes: [UInt8], path: String = "", suffixes: PublicSuffixes = .system
    ) -> (isMap: Bool, hasPins: Bool, stray: [CanonicalPin]) {
        guard let reader = try? PinMapReader(bytes, path, suffixes, withTexts: false) else { return (false, false, []) }
        return (!reader.rules.isEmpty || !reader.problems.isEmpty, reader.hasPins, reader.stray)
    }

    /// Returns the literals of a map, and the number of times that the pin at a location is one of a host.
    static func literals(
        of bytes: [UInt8], path: String
    ) throws(PolicyFileError) -> (literals: SourceLiterals, uses: [PolicyLocation: Int]) {
        let reader = try PinMapReader(bytes, path, .system, withTexts: true)
        return (reader.literals, reader.uses)
    }

    /// Whether a text is read as YAML.
    static func isYAML(_ bytes: [UInt8]) -> Bool {
        (try? literals(of: bytes, path: ""))?.literals.isYAML ?? false
    }

    /// Takes the literals of a text, as YAML if it is, because other readers would see a part of it.
    private init(
        _ bytes: [UInt8], _ path: String, _ suffixes: PublicSuffixes, withTexts: Bool
    ) throws(PolicyFileError) {
        let cursor = try TextCursor(checking: bytes, path: path)
        let kind = DialectText.Kind(path)
        let isNamedYAML = kind == .yaml
        let isProgram = [.json, .jvm, .swift, .literals].contains(kind)
        // mutant map-yaml: nil by PinMapTests/yaml
        let documents = isProgram ? nil : try? YAMLReader.readAll(bytes, path: path)
        if let documents, isNamedYAML || documents.contains(where: \.isBlock) {
            self.init(SourceLiterals(documents), path, suffixes)
            takeRoots(withTexts: withTexts)
            if isNamedYAML || !rules.isEmpty { return }
        }
        self.init(SourceLiterals(bytes, cursor, path: path), path, suffixes)
        takeRoots(withTexts: withTexts)
    }

    private init(_ literals: SourceLiterals, _ path: String, _ suffixes: PublicSuffixes) {
        self.path = path
        self.suffixes = suffixes
        self.literals = literals
        problems = PolicyProblems(path: path)
    }

    /// Takes the literals of the text. Texts alone don't make it a map.
    private mutating func takeRoots(withTexts: Bool) {
        // A constant that is part of another literal has its hosts there. It is written before that one.
        let own = literals.roots.filter { $0.constant == nil && (withTexts || $0.literal.text == nil) }
        for root in own + literals.roots.filter({ $0.constant != nil }).reversed() {
            if let constant = root.constant, used.contains(constant) { continue }
            var scope = Scope()
            let known = used
            if let argument = root.argument.flatMap({ text(of: $0) }) {
                if let host = host(argument, at: root.literal.position) { scope.hosts = [host] }
            } else {
                // Another object than a host, as in `Object.assign(pins, { … })`, is none that is read here.
                used = known
            }
            let count = rules.count
            take(root.literal, scope)
            // mutant map-merged: false for 1 by PinMapTests/unreadable
            if rules.count > count, let position = root.constant.flatMap({ literals.changed[$0] }) {
                problems.add(Self.change, at: position)
            }
            // mutant map-derived: false for 2 by PinMapTests/changes
            if rules.count > count, root.isDerived { problems.add(Self.change, at: root.literal.position) }
            // mutant map-choice: false for 2 by PinMapTests/choices
            if rules.count > count, root.isChoice || root.constant.map(literals.isReassigned) ?? false {
                choices.append(root.literal.position)
            }
        }
        // An anchor of YAML can be outside of the hosts that have its value.
        let placed = Set(rules.flatMap(\.pins).compactMap(\.location))
        // mutant map-anchor: true for `pin.location.map(placed.contains) ?? false` by PinMapTests/refusedYAML
        stray.removeAll { pin in pin.location.map(placed.contains) ?? false }
        for index in rules.indices {
            // mutant map-sibling: nil by PinMapTests/shapes
            guard let scope = settings[rules[index].patterns[0].host] else { continue }
            for (message, position) in scope.unread { problems.add(message, at: position) }
            if scope.includesSubdomains { rules[index].patterns[0].scope = .exactAndBelow }
            if scope.mode != .enforce { rules[index].mode = scope.mode }
            if let expiry = scope.expiry { rules[index].expiry = expiry }
        }
        rules.sort {
            guard let first = $0.location, let second = $1.location else { return false }
            return (first.line, first.column) < (second.line, second.column)
        }
    }

    private static let merge = "what is merged into these hosts isn't known in this file: write the hosts themselves"
    private static let change =
        "the program changes these hosts or pins here, in a way that isn't read: write those that it ends with"

    /// Adds problems for objects that aren't known here and are merged into others, as in `Object.assign(pins, more)`.
    private mutating func checkMerges() {
        guard !rules.isEmpty else { return }
        for (target, source, position) in literals.merges {
            let isObject = withValue(of: target) { $1.members != nil } ?? false
            // mutant map-assigned: false for 1 by PinMapTests/unreadable
            if isObject, withValue(of: source, { $1.members != nil }) != true { problems.add(Self.merge, at: position) }
        }
    }

    /// The notes on constants with a pin that no host has.
    private var unused: [ConversionNote] {
        literals.texts.filter { name, literal in
            // mutant map-unused: false by PinMapTests/unused
            !used.contains(name) && literal.text.flatMap { PinText($0, []) }?.isMarked == true
        }.prefix(TextLimits.notes).map { name, literal in
            ConversionNote(
                .quirk, .weaker, "no host has the pin \(quoted(name)) here, so it wasn't read",
                at: PolicyLocation(path: path, literal.position), rule: .pinsNothing, severity: .warning)
        }.sorted { ($0.location?.line ?? 0, $0.message) < ($1.location?.line ?? 0, $1.message) }
    }

    /// The notes on hosts that are listed several times. The program decides which of the lists it uses.
    private var alternatives: [ConversionNote] {
        var known: [String: PolicyLocation] = [:]
        return rules.compactMap { rule in
            guard let host = rule.patterns.first?.host, let location = rule.location else { return nil }
            // mutant map-alternatives: nil by PinMapTests/alternatives
            guard let first = known[host] else {
                known[host] = location
                return nil
            }
            return ConversionNote(
                .combinationChanged, .weaker,
                "\(rule.title) is in line \(first.line) too, and the pins of both count here: if the program uses only "
                    + "one of them, give each a file of its own", at: location, rule: .misreadSetting)
        }
    }

    /// The notes on hosts beside others with pins that have no pins anywhere.
    private var withoutPins: [ConversionNote] {
        var known = Set(rules.flatMap(\.patterns).map(\.host))
        // mutant map-empty: [] by PinMapTests/empty
        return unpinned.filter { known.insert($0.host.host).inserted }.prefix(TextLimits.notes).map { host, position in
            ConversionNote(
                .quirk, .weaker, "\(visibleText(host.host)) has no pins, so it isn't pinned: add pins",
                at: PolicyLocation(path: path, position), rule: .pinsNothing)
        }
    }

    /// The notes on values of which the program chooses one.
    private var chosen: [ConversionNote] {
        choices.prefix(TextLimits.notes).map { position in
            ConversionNote(
                .combinationChanged, .weaker,
                "the program may use another value than this one, but its pins are read as if it always did: give each "
                    + "alternative a file of its own", at: PolicyLocation(path: path, position), rule: .misreadSetting)
        }
    }

    /// The notes on switches around hosts that aren't read, because they may be of something else.
    private var switchedOff: [ConversionNote] {
        // mutant map-switch: [] by PinMapTests/choices
        switches.sorted().prefix(TextLimits.notes).map { position in
            ConversionNote(
                .quirk, .weaker,
                "this switch is off, but the pins below are read as if they were in force: if it is one "
                    + "of pinning, put it beside the hosts",
                at: PolicyLocation(path: path, position), rule: .misreadSetting)
        }
    }

    /// The notes on hosts with a port.
    private var onPorts: [ConversionNote] {
        rules.prefix(TextLimits.notes).compactMap { rule in
            // mutant map-port: nil by PinMapTests/ports
            rule.location.flatMap { ports[$0] }.map { port in
                ConversionNote(
                    .quirk, .either, "the pins of \(rule.title) count for every port, not only \(port)",
                    at: rule.location, rule: .misreadSetting)
            }
        }
    }

    /// Returns the note on how a rule was understood.
    private func note(_ rule: CanonicalRule) -> ConversionNote {
        let pins = rule.pins.count == 1 ? "1 pin" : "\(rule.pins.count) pins"
        let below = rule.patterns.contains { $0.scope != .exact } ? "with" : "without"
        let mode = rule.mode == .enforce ? "" : rule.mode == .off ? ", switched off" : ", reported only"
        return ConversionNote(
            .quirk, .unchanged,
            "\(rule.title) was understood as a host with \(pins), \(below) subdomains\(mode)", at: rule.location)
    }
}

// MARK: - Objects

extension PinMapReader {
    private mutating func take(_ literal: SourceLiteral, _ scope: Scope) {
        switch literal.kind {
        case .object(let members): take(members, scope)
        case .list(let elements, _):
            if elements.isEmpty, let host = scope.hosts.first, isNamed(scope) {
                unpinned.append((host.pattern, host.position))
            } else if isList(elements, scope) {
                addRule(elements, scope)
            } else {
                for element in elements { take(element, scope) }
            }
        case .text(let text):
            // Any name will do for a pin beside others of its host, such as `primary`.
            if let pin = PinText(text, scope.words) {
                let isOfHost = !scope.hosts.isEmpty && (text.utf8.count == 44 || pin.isSeparated)
                // mutant map-separated: pin.isMarked for `pin.hasPrefix` by PinSearchTests/notFound
                if pin.hasPrefix || isNamed(scope) || isOfHost { addRule([literal], scope) }
            } else if !scope.hosts.isEmpty, Self.isMeant(text, by: ["sha256/", "sha1/"]) || isDamaged(text, scope) {
                addRule([literal], scope)
            }
        case .word(let name):
            withValue(of: name) { $0.take($1, scope) }
        case .expression:
            guard !scope.hosts.isEmpty, isNamed(scope) else { return }
            problems.add("these pins aren't literals: write them themselves", at: literal.position)
        }
    }

    private mutating func take(_ members: [SourceLiteral.Member], _ outer: Scope) {
        // A report of a mismatch, as of RFC 7469 and TrustKit, has the pins of an app and doesn't pin.
        // mutant map-report: true by PinMapTests/others
        guard !members.contains(where: { Self.chainKeys.contains($0.key) }) else { return }
        var scope = outer
        scope.hasOwnHosts = false
        var unresolved: [SourceLiteral.Member] = []
        var empty: [(HostPattern, SourcePosition)] = []
        /// The keys, with whether their values have pins.
        var keys: [String: Bool] = [:]
        var hasHosts = false
        // The hashes of certificates beside the name of a package are those that sign an app.
        let isOfApp = members.contains { PinWords(Array($0.key.utf8)[...]).contains(.app) }
        let count = rules.count
        for member in members { takeSetting(member, &scope) }
        for member in members where !isHostSetting(member) {
            let pinsBefore = takenPins
            defer {
                let hasPins = takenPins > pinsBefore
                // mutant map-repeated: false for 1 by PinMapTests/unreadable
                if !member.isComputed, let first = keys[member.key], first || hasPins {
                    problems.add(
                        "\(quoted(member.key)) is a key of this object twice, and programs use only the last value: "
                            + "write all pins in one list", at: member.position)
                }
                keys[member.key] = hasPins || keys[member.key] ?? false
            }
            var inner = scope
            let found = member.isComputed ? nil : host(member.key, at: member.position)
            let words = found == nil ? PinWords(Array(member.key.utf8)[...]) : []
            // An object of packages, images or files, or something else that has the form of a pin.
            let isSecret = PinWords.isSecret(Array(member.key.utf8)[...])
            // mutant map-secret: false for `isSecret` by PinMapTests/others
            guard !words.contains(.other) && !isSecret || words.contains(.pin) || found != nil else { continue }
            // mutant map-app: false for `isOfApp` by PinSearchTests/notFound
            if isOfApp, words.contains(.certificate) { continue }
            // mutant map-key: false by PinMapTests/others
            if isKeyItself(member.value, words, scope) { continue }
            inner.words.formUnion(words)
            // mutant map-electron: false by PinMapTests/electron
            inner.isOfCertificate = member.key == "fingerprint" && Self.isOfElectron(members)
            // mutant map-refused: false by PinMapTests/refusedPins
            if Self.isOfRefused(member.key) {
                report(
                    "these pins may be ones that the program refuses: give a file with only those that it accepts",
                    at: member.position, ifPinsIn: member.value, inner, isOfHost: !inner.hosts.isEmpty)
                continue
            }
            // mutant map-ascii: {} by PinMapTests/unreadable
            if found == nil, !member.isComputed, let error = Self.problem(ofHost: member.key) {
                report(error, at: member.position, ifPinsIn: member.value, inner, isOfHost: true)
            } else if member.isComputed, member.key != "..." {
                guard let host = withValue(of: member.key, { $1.text })?.flatMap({ host($0, at: member.position) })
                else {
                    report(
                        "\(quoted(member.key)) isn't set to a host in this file: write the host itself as the key",
                        at: member.position, ifPinsIn: member.value, inner,
                        isOfHost: members.contains { !$0.isComputed && self.host($0.key) != nil })
                    continue
                }
                inner.hosts = [host]
            } else if let (host, position) = found {
                inner.hosts = [(host, position)]
                hasHosts = true
                if isUnresolved(member.value) { unresolved.append(member) }
                if Self.isEmpty(member.value) { empty.append((host, position)) }
                if case .object(let members) = member.value.kind { takeSettings(of: host, members) }
            }
            // Subdomains are included by default in what react-native-ssl-manager reads.
            if member.key == "sha256Keys" { inner.includesSubdomains = true }
            take(member.value, inner)
        }
        // mutant map-spread: false for 1 by PinMapTests/unreadable
        if hasHosts, rules.count > count {
            for member in members where member.isComputed && member.key == "..." && isUnresolved(member.value) {
                problems.add(Self.merge, at: member.position)
            }
        }
        // Among hosts with pins, one with another value has pins, too.
        // mutant map-unresolved: false by PinMapTests/unreadable
        guard rules.count > count || isNamed(scope) else { return }
        unpinned += empty
        for member in unresolved {
            problems.add(
                "the pins of \(quoted(member.key)) aren't literals: write them themselves", at: member.value.position)
        }
    }

    /// Whether a value is a public key itself, as one of WireGuard, and not its digest: 32 bytes whose names say
    /// nothing of pins.
    private func isKeyItself(_ value: SourceLiteral, _ words: PinWords, _ scope: Scope) -> Bool {
        guard words.contains(.key), scope.words.union(words).isDisjoint(with: [.pin, .fingerprint]) else {
            return false
        }
        return value.text.flatMap { PinText($0, words) }.map { !$0.isMarked } ?? false
    }

    /// Whether an object is a certificate of Electron, whose fingerprint has the prefix that keys have elsewhere.
    private static func isOfElectron(_ members: [SourceLiteral.Member]) -> Bool {
        Set(members.map(\.key)).isSuperset(of: ["serialNumber", "validStart", "validExpiry"])
    }

    /// Returns the problem of a key that would be a host if it were in ASCII.
    private static func problem(ofHost key: String) -> String? {
        guard key.contains("."), !key.contains(" "), !key.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        do throws(ServerNameError) {
            _ = try ServerName(key)
            return nil
        } catch {
            return error.description
        }
    }

    /// Whether the value of a host has no pins, and none will be there when the program runs: an empty list or object,
    /// settings alone, `null`, or a text such as `TODO`.
    private static func isEmpty(_ value: SourceLiteral) -> Bool {
        switch value.kind {
        case .list(let elements, _): elements.allSatisfy(isEmpty)
        case .object(let members): members.allSatisfy { !$0.isComputed && isEmpty($0.value) }
        case .text(let text): PinText(text, [.pin]) == nil && !DigestShape.isDamaged(Array(text.utf8)[...])
        case .word(let name): value.bool != nil || ["null", "nil", "undefined"].contains(name) || Double(name) != nil
        case .expression: false
        }
    }

    /// Whether a value is known only when the program runs.
    private mutating func isUnresolved(_ value: SourceLiteral) -> Bool {
        switch value.kind {
        case .expression: return true
        case .word(let name):
            guard value.bool == nil, !["null", "nil", "undefined"].contains(name), Double(name) == nil else {
                return false
            }
            return withValue(of: name) { _, _ in true } == nil
        case .object, .list, .text: return false
        }
    }

    /// Keeps the settings of a host whose pins are in another object.
    private mutating func takeSettings(of host: HostPattern, _ members: [SourceLiteral.Member]) {
        var scope = Scope(hosts: [(host, members.first?.position ?? SourcePosition(line: 1, column: 1))])
        for member in members where !isHostSetting(member) { takeSetting(member, &scope) }
        let isAlone = members.allSatisfy {
            switch $0.value.kind {
            case .object, .list: false
            case .text(let text): PinText(text, []) == nil
            case .word, .expression: true
            }
        }
        if scope.isSet, isAlone { settings[host.host] = scope }
    }

    /// Adds a problem if a value has pins, whatever their host is. The values beside those of hosts need no name to be
    /// pins.
    private mutating func report(
        _ message: String, at position: SourcePosition, ifPinsIn value: SourceLiteral, _ scope: Scope, isOfHost: Bool
    ) {
        let (rulesBefore, problemsBefore, strayBefore, unpinnedBefore) = (rules, problems, stray, unpinned)
        var scope = scope
        let unknown = HostPattern("any", .exact)
        scope.hosts = isOfHost ? [(unknown, position)] : []
        take(value, scope)
        let own = rules.dropFirst(rulesBefore.count).filter { $0.patterns[0].host != unknown.host }
        refused += own.prefix(max(0, TextLimits.rules - refused.count))
        let hasPins = stray.count > strayBefore.count || rules.count > rulesBefore.count
        (rules, problems, stray, unpinned) = (rulesBefore, problemsBefore, strayBefore, unpinnedBefore)
        // mutant map-computed: false by PinMapTests/unreadable
        guard hasPins else { return }
        problems.add(message, at: position)
    }

    /// The keys of the certificates in a report.
    private static let chainKeys: Set = [
        "served-certificate-chain", "validated-certificate-chain", "servedCertificateChain",
        "validatedCertificateChain",
    ]

    /// Whether a key is the name of a list of what isn't accepted.
    private static func isOfRefused(_ key: String) -> Bool {
        let key = plain(key)
        return refusals.contains { key.hasPrefix($0) || key.hasSuffix($0) }
    }

    private static let refusals = SearchedText.refusals.union(["blocked", "forbidden", "rejected"])

    private func isNamed(_ scope: Scope) -> Bool { !scope.words.isDisjoint(with: [.pin, .fingerprint]) }

    /// Whether a list is one of pins: a value in it is one, or its name says so and it belongs to a host.
    private mutating func isList(_ elements: [SourceLiteral], _ scope: Scope) -> Bool {
        let isPlain = elements.allSatisfy {
            switch $0.kind {
            case .text, .word, .expression: true
            case .object, .list: false
            }
        }
        guard isPlain, !elements.isEmpty else { return false }
        let pins = elements.compactMap { text(of: $0).flatMap { PinText($0, scope.words) } }
        if pins.contains(where: \.hasPrefix) { return true }
        let texts = elements.compactMap(\.text)
        let isMeant = texts.contains { Self.isMeant($0, by: ["sha256", "sha-256", "sha1"]) }
        if !scope.hosts.isEmpty, isMeant || texts.contains(where: { isDamaged($0, scope) }) { return true }
        return scope.hosts.isEmpty ? isNamed(scope) && !pins.isEmpty : isNamed(scope) || !pins.isEmpty
    }

    /// Whether a text that isn't a pin has nearly the form of one. Without a name for pins or padding it may be a
    /// token.
    private func isDamaged(_ text: String, _ scope: Scope) -> Bool {
        (isNamed(scope) || text.hasSuffix("=")) && DigestShape.isDamaged(Array(text.utf8)[...])
    }

    private static func isMeant(_ text: String, by prefixes: [String]) -> Bool {
        prefixes.contains { text.lowercased().hasPrefix($0) }
    }

    // MARK: Rules

    private mutating func addRule(_ elements: [SourceLiteral], _ scope: Scope) {
        var pins: [CanonicalPin] = []
        for element in elements { addPins(element, scope, &pins) }
        // Each element without a pin is a problem of its own.
        guard !pins.isEmpty else { return }
        takenPins += pins.count
        guard !scope.hosts.isEmpty else {
            if stray.count < TextLimits.notes { stray += pins }
            return
        }
        for (message, position) in scope.unread { problems.add(message, at: position) }
        switches.formUnion(scope.switches)
        for location in pins.compactMap(\.location) { uses[location, default: 0] += 1 }
        for (pattern, position) in scope.hosts {
            var pattern = pattern
            if scope.includesSubdomains, pattern.scope == .exact { pattern.scope = .exactAndBelow }
            guard rules.count < TextLimits.rules, pins.count <= TextLimits.pins else {
                problems.add(
                    "there are more than \(TextLimits.rules) hosts, or \(TextLimits.pins) pins for one: split the text",
                    at: position)
                return
            }
            let rule = CanonicalRule(
                patterns: [pattern], pins: pins.without([]), mode: scope.mode, expiry: scope.expiry,
                location: PolicyLocation(path: path, position))
            // One object may have several lists of pins.
            if let last = rules.indices.last, rules[last].location == rule.location,
                rules[last].patterns == rule.patterns, rules[last].mode == rule.mode, rules[last].expiry == rule.expiry
            {
                rules[last].pins += rule.pins.without(rules[last].pins)
            } else {
                rules.append(rule)
            }
        }
    }

    /// Adds the pins of an element: a text, a constant, or a list that is spread into this one.
    private mutating func addPins(_ element: SourceLiteral, _ scope: Scope, _ pins: inout [CanonicalPin]) {
        switch element.kind {
        case .text(let text):
            // The pins in a report of RFC 7469 are those that a client has compared, and configure nothing.
            // mutant map-known-pins: false by PinSearchTests/standings
            if text.hasPrefix("pin-sha256=\"") { return }
            let found = PinText(text, scope.words)
            hasPins = hasPins || found != nil || DigestShape.isDamaged(Array(text.utf8)[...])
            guard var pin = found?.pin else {
                problems.add(
                    "\(quoted(text)) isn't a pin: write sha256/ and Base64", at: element.position, rule: .malformedPin)
                return
            }
            if scope.isOfCertificate { pin = CanonicalPin(.certificate, pin.digest, pin.value) }
            pin.location = PolicyLocation(path: path, element.position)
            pins.append(pin)
        case .word(let name):
            guard withValue(of: name, { $0.addPins($1, scope, &pins) }) == nil else { return }
            problems.add(
                "\(quoted(name)) isn't set to one value in this file: write the pin itself", at: element.position)
        case .list(let elements, _): for element in elements { addPins(element, scope, &pins) }
        case .object, .expression:
            if case .expression(let expression) = element.kind { hasPins = hasPins || expression.isOpenText }
            problems.add("this pin isn't a literal: write the pin itself", at: element.position)
        }
    }

    // MARK: Values

    /// Calls `body` with the value of a constant, in which the name isn't resolved again. Returns `nil` for a name that
    /// isn't set to one value.
    @discardableResult
    mutating func withValue<Result>(
        of name: String, _ body: (inout PinMapReader, SourceLiteral) -> Result
    ) -> Result? {
        // mutant map-changed-list: true by PinMapTests/unreadable
        guard literals.changed[name] == nil else { return nil }
        guard resolving.count < 16, resolutions < Self.mostResolutions, !resolving.contains(name),
            let value = literals.value(of: name, used: &used)
        else { return nil }
        resolutions += 1
        resolving.insert(name)
        defer { resolving.remove(name) }
        return body(&self, value)
    }

    mutating func text(of literal: SourceLiteral) -> String? {
        guard case .word(let name) = literal.kind else { return literal.text }
        return withValue(of: name) { $1.text } ?? nil
    }

    /// Returns the pattern of a hostname or a URL at a position, whose port is kept for the note on the host.
    mutating func host(
        _ text: String, at position: SourcePosition
    ) -> (pattern: HostPattern, position: SourcePosition)? {
        guard let (name, port, isURL) = Self.authority(text), let pattern = pattern(name, isURL: isURL) else {
            return nil
        }
        ports[PolicyLocation(path: path, position)] = port
        return (pattern, position)
    }

    /// Returns the pattern of a hostname or a URL.
    func host(_ text: String) -> HostPattern? {
        Self.authority(text).flatMap { pattern($0.name, isURL: $0.isURL) }
    }

    /// Returns the name and the port in a hostname or a URL.
    private static func authority(_ text: String) -> (name: Substring, port: Int?, isURL: Bool)? {
        guard text.utf8.count <= 300 else { return nil }
        var name = text[...]
        let start = text.firstRange(of: "://")
        if let start {
            guard ["https", "wss", "http"].contains(text[..<start.lowerBound].lowercased()) else { return nil }
            name = text[start.upperBound...].prefix { !"/?#".contains($0) }
            name = name.split(separator: "@").last ?? ""
        }
        var port: Int?
        if let colon = name.lastIndex(of: ":"), let number = UInt16(name[name.index(after: colon)...]) {
            port = Int(number)
            name = name[..<colon]
        }
        return (name, port, start != nil)
    }

    private func pattern(_ name: Substring, isURL: Bool) -> HostPattern? {
        let scope: HostPattern.Scope =
            name.hasPrefix("**.") ? .exactAndBelow : name.hasPrefix("*.") ? .oneLabelBelow : .exact
        if let address = try? ServerName(String(name)), address.isIPAddress {
            return HostPattern(address.description, .exact)
        }
        // Names of packages are hosts in reverse, but have no pins. Names of files with two labels may have digests.
        let isHost = isURL || name.split(separator: ".").count > 2
        return NearbyHost.hostname(String(name), isURL: isHost, suffixes).map { HostPattern($0, scope) }
    }
}
