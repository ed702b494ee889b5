import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader that parses a document like AOSP's XmlConfigSource.
struct AndroidConfigReader {
    let path: String
    /// The API level of the app, or `nil` if it isn't known.
    let target: AndroidTarget?
    var problems: PolicyProblems
    var rules: [CanonicalRule] = []
    /// The trust in hosts that no domain-config reaches: that of the base-config.
    var unlistedTrust = UnlistedTrust()
    var notes: [ConversionNote] = []
    private var hosts: [String: SourcePosition] = [:]
    private var emptyPinSets: [EmptyPinSet] = []
    /// The attributes that allow requests without TLS to hosts with pins.
    private var cleartextForPins: Set<SourcePosition> = []

    init(path: String, target: AndroidTarget? = nil, problems: PolicyProblems) {
        self.path = path
        self.target = target
        self.problems = problems
    }

    /// The settings that a config passes on to the configs inside it.
    private struct Inheritance {
        var pinSet: PinSet?
        var anchors: [AnchorSet]?
        var transparency: CertificateTransparencyMode?
        var trustKit: TrustKit?
        /// The setting that allows requests without TLS, or `nil` if none is known to do so.
        var cleartext: CleartextSetting?
    }

    /// A setting that allows requests without TLS.
    private struct CleartextSetting {
        /// The part of a message that says what allows them, for configs that inherit the setting.
        let reason: String
        /// The position of the attribute, or `nil` for the default of the app's API level.
        let position: SourcePosition?
    }

    private struct PinSet {
        var pins: [CanonicalPin]
        var expiry: RuleExpiry?
        let position: SourcePosition
    }

    /// A pin-set without pins.
    private struct EmptyPinSet {
        let hosts: [String]
        /// Whether its config would inherit pins if the pin-set weren't there.
        let excludes: Bool
        let position: SourcePosition

        init(hosts: [String], excludes: Bool, at position: SourcePosition) {
            self.hosts = hosts
            self.excludes = excludes
            self.position = position
        }
    }

    private struct TrustKit {
        var reports: [String]
        var usesDefaultReport: Bool
    }

    /// The kind of a config, by the name of its element.
    private enum ConfigKind: String {
        case base = "base-config"
        case domain = "domain-config"
        case debug = "debug-overrides"
    }

    mutating func read(_ root: XMLElement) {
        // mutant android-root: true by AndroidTests
        guard root.localName == "network-security-config" else {
            problems.add("the root element isn't network-security-config: rename it", at: root.position)
            return
        }
        noteExtras(of: root, besides: [])
        let children = distinct(root.elements, once: ["base-config", "debug-overrides"])
        var base = Inheritance()
        if target?.requiresTransparency == true { base.transparency = .require }
        // mutant android-cleartext-level: false for 2 by AndroidTests/cleartext PinctlTests.LintTests
        if let target, target.allowsCleartext {
            base.cleartext = CleartextSetting(
                reason: "apps that target API level \(target.level) may send cleartext requests", position: nil)
        }
        for child in children where child.localName == "base-config" { base = config(child, .base, base) }
        // Naming the system's roots explicitly is the same as the default.
        if base.anchors == [AnchorSet("system")] { base.anchors = nil }
        unlistedTrust = UnlistedTrust(anchors: base.anchors, certificateTransparency: base.transparency)
        for child in children {
            switch child.localName {
            case "base-config": break
            case "domain-config": _ = config(child, .domain, base)
            case "debug-overrides": readDebug(child)
            default: noteUnknown(child, in: root)
            }
        }
        noteUnpinned(root)
    }

    /// Returns the elements without repetitions of those that may appear only once, which are reported as problems.
    private mutating func distinct(_ elements: [XMLElement], once names: Set<String>) -> [XMLElement] {
        var seen: Set<String> = []
        return elements.filter { element in
            guard names.contains(element.localName), !seen.insert(element.localName).inserted else { return true }
            problems.add("duplicate \(element.localName): keep one", at: element.position, rule: .duplicate)
            return false
        }
    }
}

// MARK: - Configs

extension AndroidConfigReader {
    /// Reads a config, and adds its rule and the rules of the configs inside it.
    private mutating func config(_ element: XMLElement, _ kind: ConfigKind, _ parent: Inheritance) -> Inheritance {
        var own = parent
        var patterns: [HostPattern] = []
        var explicit: CertificateTransparencyMode?
        noteExtras(of: element, besides: [Self.cleartextName])
        // Android reads only the trust-anchors of debug-overrides.
        if kind != .debug, let attribute = element[Self.cleartextName] {
            let name = kind == .base ? "the base-config" : "the enclosing domain-config"
            // mutant android-cleartext-unread: false for `true` by AndroidTests/cleartextSpelling
            own.cleartext =
                boolean(Self.cleartextName, of: element, default: true)
                ? CleartextSetting(reason: "\(name) allows cleartext requests", position: attribute.position) : nil
        }
        let children = distinct(
            element.elements,
            once: ["pin-set", "trust-anchors", "trustkit-config", "certificateTransparency", "domainEncryption"])
        for child in children {
            switch child.localName {
            case "domain" where kind == .domain: if let pattern = domain(child) { patterns.append(pattern) }
            case "pin-set" where kind == .domain: own.pinSet = pinSet(child)
            case "domain-config" where kind == .domain: break
            case "domain", "pin-set", "domain-config":
                let place = child.localName == "domain-config" ? "network-security-config" : "a domain-config"
                problems.add(
                    "\(child.localName) isn't allowed in \(kind.rawValue): move it to \(place)",
                    at: child.position, rule: .misplacedSetting)
            case "trust-anchors": own.anchors = anchors(child, overridesByDefault: kind == .debug)
            case "trustkit-config" where kind == .domain: own.trustKit = trustKit(child)
            case "certificateTransparency" where kind != .debug: explicit = transparency(child)
            case "certificateTransparency":
                problems.add(
                    "\(child.localName) isn't allowed in \(kind.rawValue), and Android 16 and later refuse the file: "
                        + "move it to base-config or a domain-config", at: child.position, rule: .misplacedSetting)
            case "domainEncryption" where kind != .debug: encryption(child)
            default: noteUnknown(child, in: element)
            }
        }
        own.transparency = explicit ?? Self.inherited(parent.transparency, under: children, own.anchors)
        guard kind == .domain else {
            // A base-config that allows cleartext affects each domain-config with pins that inherits it.
            if own.cleartext?.position == nil { noteHarmlessCleartext(of: element) }
            return own
        }
        if !element.elements.contains(where: { $0.localName == "domain" }) {
            problems.add("this domain-config has no domain: add one", at: element.position)
        }
        addRule(patterns, own, inherited: parent.pinSet, element)
        noteTrustKitDifferences(children, own)
        for child in children where child.localName == "domain-config" { _ = config(child, .domain, own) }
        noteHarmlessCleartext(of: element)
        return own
    }

    /// Reads the setting for encrypted client hellos (Android 17), which doesn't affect pins.
    private mutating func encryption(_ element: XMLElement) {
        noteExtras(of: element, besides: ["mode"])
        for child in element.elements { noteUnknown(child, in: element) }
    }

    private mutating func transparency(_ element: XMLElement) -> CertificateTransparencyMode {
        noteExtras(of: element, besides: ["enabled"])
        return boolean("enabled", of: element, default: false) ? .require : .ignore
    }

    /// Returns the setting of a config without an element of its own. Android doesn't check transparency if the config
    /// itself names roots that aren't the system's, because private CAs don't publish certificates.
    private static func inherited(
        _ setting: CertificateTransparencyMode?, under children: [XMLElement], _ anchors: [AnchorSet]?
    ) -> CertificateTransparencyMode? {
        let namesOthers =
            children.contains { $0.localName == "trust-anchors" } && anchors?.contains { $0.source != "system" } == true
        return namesOthers ? setting.map { _ in .ignore } : setting
    }

    private mutating func addRule(
        _ patterns: [HostPattern], _ own: Inheritance, inherited: PinSet?, _ element: XMLElement
    ) {
        let pins = own.pinSet?.pins ?? []
        rules.append(
            CanonicalRule(
                patterns: patterns, pins: pins, mode: pins.isEmpty ? .off : .enforce,
                expiry: pins.isEmpty ? nil : own.pinSet?.expiry, anchors: own.anchors,
                certificateTransparency: own.transparency, reports: own.trustKit?.reports ?? [],
                usesDefaultReport: own.trustKit?.usesDefaultReport ?? false,
                location: PolicyLocation(path: path, element.position)))
        if own.anchors?.isEmpty == true {
            note(
                .stricter, "trust-anchors lists no roots, so every chain is rejected: add certificates, or remove it",
                element.position, .refusesEverything)
        }
        // mutant android-cleartext: CleartextSetting?.none for 2 by AndroidTests/cleartext LintQuirkTests
        if !pins.isEmpty, let cleartext = own.cleartext { noteCleartext(cleartext, of: element) }
        let anchors = own.anchors ?? []
        let overriding = anchors.filter(\.bypassesPins)
        if !pins.isEmpty, !overriding.isEmpty {
            let names = overriding.map { quoted($0.source) }.joined(separator: ", ")
            // If the system's roots or all of the anchors override the pins, no chain is left that the pins apply to.
            let isAll = overriding.count == anchors.count || overriding.contains { $0.source == "system" }
            note(
                .weaker, "pins are ignored for chains that end at \(names): remove overridePins", element.position,
                isAll ? .pinsNothing : .bypassedPins)
        }
        if let pinSet = own.pinSet, pinSet.pins.isEmpty, pinSet.position != inherited?.position {
            let hosts = patterns.map(\.host)
            emptyPinSets.append(
                EmptyPinSet(hosts: hosts, excludes: inherited?.pins.isEmpty == false, at: pinSet.position))
        }
    }

    /// Notes a setting that allows requests without TLS to the hosts of a config with pins: at its attribute, or at the
    /// config that inherits it. A setting that has a note isn't noted again for the configs inside.
    private mutating func noteCleartext(_ setting: CleartextSetting, of element: XMLElement) {
        let isOwn = setting.position.map { $0 == element[Self.cleartextName]?.position } ?? false
        if let position = setting.position {
            cleartextForPins.insert(position)
            let location = PolicyLocation(path: path, position)
            guard !notes.contains(where: { $0.location == location && $0.rule == .bypassedPins }) else { return }
        }
        note(
            .weaker,
            isOwn
                ? "\(quoted(Self.cleartextName)) allows cleartext requests, which have no pins: set it to false"
                : "\(setting.reason), which have no pins: set \(Self.cleartextName) to false",
            isOwn ? setting.position : element.position, .bypassedPins)
    }

    /// Notes the attribute of a config if it doesn't allow cleartext requests to any host with pins.
    private mutating func noteHarmlessCleartext(of element: XMLElement) {
        guard let position = element[Self.cleartextName]?.position, !cleartextForPins.contains(position) else { return }
        note(.unchanged, "\(quoted(Self.cleartextName)) doesn't affect pins", position, nil)
    }

    /// Notes settings that were meant to pin a host but don't. An empty pin-set excludes a host from the rule of a
    /// parent.
    private mutating func noteUnpinned(_ root: XMLElement) {
        let pinning = CanonicalPolicy(rules: rules, combination: .closest).pinningRules
        for set in emptyPinSets where !set.excludes && !set.hosts.allSatisfy(pinning.includes(byParent:)) {
            note(
                .weaker, "this pin-set has no pins, so nothing is pinned: add pins, or remove it", set.position,
                .pinsNothing)
        }
        // mutant android-pins-nothing: false for 2 by AndroidTests LintQuirkTests
        guard problems.isEmpty, !rules.contains(where: { $0.mode != .off }) else { return }
        note(
            .unchanged, "no pins: the config doesn't pin any host: add a pin-set to a domain-config", root.position,
            .pinsNothing)
    }

    private mutating func domain(_ element: XMLElement) -> HostPattern? {
        noteExtras(of: element, besides: ["includeSubdomains"])
        guard let text = content(of: element) else { return nil }
        let host = text.lowercased()
        // mutant android-host-twice: nil by AndroidTests
        if let earlier = hosts[host] {
            problems.add(
                "\(quoted(host)) is already listed at \(earlier.line):\(earlier.column), and a host may be listed "
                    + "only once: keep one", at: element.position, rule: .duplicate)
            return nil
        }
        hosts[host] = element.position
        if let message = HostPattern.capitals(in: text) {
            note(.unchanged, message, element.position, .malformedHost, .warning)
        }
        let includes = boolean("includeSubdomains", of: element, default: false)
        return HostPattern(host, includes ? .exactAndBelow : .exact)
    }

    /// Returns the text of an element that contains only text, trimmed as Java does.
    private mutating func content(of element: XMLElement) -> String? {
        guard let text = element.text else {
            problems.add(
                "a \(element.localName) may contain only text: remove the elements in it", at: element.position,
                rule: element.elements.contains { Self.parents[$0.localName] != nil } ? .misplacedSetting : nil)
            return nil
        }
        let trimmed = Self.trimmed(text)
        guard !trimmed.isEmpty else {
            let rules: [String: LintRule] = ["pin": .malformedPin, "domain": .malformedHost]
            problems.add(
                "this \(element.localName) is empty: fill it or remove it", at: element.position,
                rule: rules[element.localName])
            return nil
        }
        return trimmed
    }

    /// Returns the text without the white space around it, which Java and aapt2 ignore.
    private static func trimmed(_ text: String) -> String {
        let rest = text.unicodeScalars.drop { $0.value <= 0x20 }
        return rest.lastIndex { $0.value > 0x20 }.map { String(Substring(rest[...$0])) } ?? ""
    }

    /// Parses a Boolean as aapt2 and XmlBlock do: numbers count too, and anything else is the default.
    private mutating func boolean(_ name: String, of element: XMLElement, default usual: Bool) -> Bool {
        guard let attribute = element[name] else { return usual }
        // mutant android-boolean-blanks: attribute.value by AndroidTests/cleartextSpelling
        let text = Self.trimmed(attribute.value)
        if ["true", "TRUE", "True"].contains(text) { return true }
        if ["false", "FALSE", "False"].contains(text) { return false }
        let number = Self.number(text)
        let value = number.map { $0 != 0 } ?? usual
        note(
            number == nil && ["includeSubdomains", Self.cleartextName].contains(name) ? .weaker : .either,
            "\(name)=\(quoted(attribute.value)) is read as \(value): write true or false", attribute.position,
            number == nil ? .ignoredSetting : .misreadSetting)
        return value
    }

    /// Parses 32 bits as aapt2 does: a decimal number, which may be negative, or hexadecimal digits.
    private static func number(_ text: String) -> Int64? {
        guard !text.contains("+"), !text.hasPrefix("0x-") else { return nil }
        return text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16).map(Int64.init) : Int32(text).map(Int64.init)
    }
}

// MARK: - Pins

extension AndroidConfigReader {
    private mutating func pinSet(_ element: XMLElement) -> PinSet {
        noteExtras(of: element, besides: ["expiration"])
        var set = PinSet(
            pins: [], expiry: element["expiration"].flatMap { expiry($0) }, position: element.position)
        var seen: Set<CanonicalPin> = []
        for child in element.elements {
            guard child.localName == "pin" else {
                noteUnknown(child, in: element)
                continue
            }
            noteExtras(of: child, besides: ["digest"])
            guard var pin = pin(child), seen.insert(pin).inserted else { continue }
            pin.name = child.comment.flatMap(CanonicalPin.name(in:))
            set.pins.append(pin)
        }
        return set
    }

    private mutating func pin(_ element: XMLElement) -> CanonicalPin? {
        guard let digest = element["digest"] else {
            problems.add(
                "this pin has no digest: add digest=\"SHA-256\"", at: element.position, rule: .malformedPin)
            return nil
        }
        // mutant android-digest: true by AndroidTests
        guard digest.value.uppercased() == "SHA-256" else {
            problems.add(
                "Android doesn't support the digest \(quoted(digest.value)) for pins: write SHA-256, and hash the "
                    + "key with it",
                at: digest.position,
                rule: digest.value.uppercased().filter { $0 != "-" } == "SHA1" ? .sha1 : .malformedPin)
            return nil
        }
        guard let text = content(of: element) else { return nil }
        // Android ignores white space and accepts missing padding.
        guard let value = LenientBase64.decode(text.utf8.filter { !isXMLSpace($0) }, needsPadding: false) else {
            problems.add(
                "\(quoted(text)) isn't base64: write the 44 characters of a SHA-256", at: element.position,
                rule: .malformedPin)
            return nil
        }
        // mutant android-length: true by AndroidTests
        guard value.count == 32 else {
            problems.add(
                "\(quoted(text)) has \(value.count) bytes, but SHA-256 has 32: hash the key again",
                at: element.position, rule: .malformedPin)
            return nil
        }
        var pin = CanonicalPin(.publicKey, .sha256, value)
        pin.location = PolicyLocation(path: path, element.position)
        return pin
    }

    /// Parses a day like a non-lenient SimpleDateFormat of "yyyy-MM-dd": numbers may be shorter, and trailing text is
    /// ignored.
    private mutating func expiry(_ attribute: XMLElement.Attribute) -> RuleExpiry? {
        let parts = attribute.value.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        let digits = parts.map { $0.prefix { ("0"..."9").contains($0) } }
        let numbers = digits.compactMap { $0.utf8.count <= 4 ? Int($0) : nil }
        guard numbers.count == 3, digits[0] == parts[0], digits[1] == parts[1],
            let day = CivilTime(year: numbers[0], month: numbers[1], day: numbers[2], hour: 0, minute: 0, second: 0)
        else {
            problems.add(
                "\(quoted(attribute.value)) isn't a valid date: write it as 2026-12-31", at: attribute.position)
            return nil
        }
        let text = String(day.description.prefix(10))
        if text != attribute.value {
            note(
                .weaker, "\(quoted(attribute.value)) is read as \(text): write the full date", attribute.position,
                .misreadSetting)
        }
        return RuleExpiry(.localDay(text), .stopPinning)
    }
}

// MARK: - Roots

extension AndroidConfigReader {
    private mutating func anchors(_ element: XMLElement, overridesByDefault: Bool) -> [AnchorSet] {
        noteExtras(of: element, besides: [])
        var anchors: [AnchorSet] = []
        for child in element.elements {
            guard child.localName == "certificates" else {
                noteUnknown(child, in: element)
                continue
            }
            noteExtras(of: child, besides: ["src", "overridePins"])
            guard let source = child["src"] else {
                problems.add("certificates lists no roots: add src", at: child.position)
                continue
            }
            guard AnchorSet.isName(source.value) else {
                problems.add(
                    "\(quoted(source.value)) isn't a source of roots: write system, user or @raw/NAME",
                    at: source.position)
                continue
            }
            let bypasses = boolean("overridePins", of: child, default: overridesByDefault)
            anchors.append(AnchorSet(source.value, bypassesPins: bypasses))
        }
        return anchors
    }

    private mutating func readDebug(_ element: XMLElement) {
        let overrides = config(element, .debug, Inheritance())
        let bypasses = (overrides.anchors ?? []).filter(\.bypassesPins).map { quoted($0.source) }
        if bypasses.isEmpty {
            note(.unchanged, "debug-overrides applies only to debuggable builds", element.position, nil)
        } else {
            note(
                .weaker,
                "in debuggable builds, pins are ignored for chains that end at "
                    + bypasses.joined(separator: ", "), element.position, .bypassedPins)
        }
    }
}

// MARK: - TrustKit-Android

extension AndroidConfigReader {
    private mutating func trustKit(_ element: XMLElement) -> TrustKit {
        noteExtras(of: element, besides: ["enforcePinning", "disableDefaultReportUri"])
        if !boolean("enforcePinning", of: element, default: false) {
            note(
                .stricter,
                "Android 7 and later reject a mismatch regardless of trustkit-config: set enforcePinning to true",
                element.position, .misreadSetting)
        }
        var reports: [String] = []
        for child in element.elements {
            if child.localName == "report-uri" {
                if let address = content(of: child) { reports.append(address) }
            } else {
                noteUnknown(child, in: element)
            }
        }
        return TrustKit(
            reports: reports,
            usesDefaultReport: !boolean("disableDefaultReportUri", of: element, default: false))
    }

    /// Notes where TrustKit-Android, which has its own parser, reads the same file differently.
    private mutating func noteTrustKitDifferences(_ children: [XMLElement], _ own: Inheritance) {
        guard own.trustKit != nil else { return }
        let domains = children.filter { $0.localName == "domain" }
        for domain in domains.dropLast() {
            note(
                .weaker,
                "TrustKit-Android reads only the last domain of a domain-config and ignores this one: give it a "
                    + "domain-config of its own", domain.position, .ignoredSetting)
        }
        let pinSets = children.filter { $0.localName == "pin-set" }
        if own.pinSet == nil {
            note(.unchanged, "TrustKit-Android ignores a config without pins", domains.last?.position, nil)
        }
        let pins = pinSets.flatMap(\.elements).filter { $0.localName == "pin" }
        for element in domains + pins where element.text.map({ $0.utf8.contains(where: isXMLSpace) }) == true {
            note(
                .either, "TrustKit-Android keeps the white space in this \(element.localName): remove it",
                element.position, .misreadSetting)
        }
        for pin in pins where pin["digest"].map({ $0.value != "SHA-256" }) == true {
            note(
                .either,
                "TrustKit-Android supports only the digest SHA-256, in capitals: write it that way", pin.position,
                .misreadSetting)
        }
    }
}
