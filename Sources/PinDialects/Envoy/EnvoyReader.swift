import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of the pins in Envoy's configuration, which checks them as Envoy does (`DefaultCertValidator`).
struct EnvoyReader {
    private let path: String
    private let host: String?
    private var problems: PolicyProblems
    private var notes: [ConversionNote] = []
    private var rules: [CanonicalRule] = []
    /// The indices of the rules by host.
    private var indices: [HostPattern: Int] = [:]
    /// The pins of each rule.
    private var pinSets: [Set<CanonicalPin>] = []

    /// Creates a reader. `host` is the name of servers for which the configuration names none.
    init(path: String, host: String?) {
        self.path = path
        self.host = host
        problems = PolicyProblems(path: path)
    }

    /// Reads the pins of every context that verifies servers.
    mutating func read(_ root: YAMLNode) throws(PolicyFileError) -> DialectReading {
        let contexts = EnvoyContexts(of: root)
        for context in contexts.all { add(context) }
        for position in contexts.strays {
            note(
                .weaker,
                "this isn't in a validation_context of a common_tls_context, so it pins nothing: move it into "
                    + "one", position, .misplacedSetting)
        }
        for position in contexts.secrets {
            note(
                .unchanged, "this validation context comes from a secret, whose pins aren't read: read its file too",
                position, nil)
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted, known: rules) }
        if rules.isEmpty {
            note(
                .unchanged,
                "no pins: no cluster's validation_context has verify_certificate_spki or verify_certificate_hash: add "
                    + "one", root.position, .pinsNothing)
        }
        let kept = notes.prefix(TextLimits.notes)
        return DialectReading(CanonicalPolicy(rules: rules, combination: .closest), notes: Array(kept))
    }

    private mutating func note(
        _ direction: SecurityDirection, _ message: String, _ position: SourcePosition, _ rule: LintRule?,
        _ change: ConversionChange = .quirk
    ) {
        notes.append(
            ConversionNote(change, direction, message, at: PolicyLocation(path: path, position), rule: rule))
    }

    private mutating func add(_ context: EnvoyContext) {
        var pins = self.pins(context, EnvoyContext.keyHashes, .publicKey, Self.base64, "the base64 of 32 bytes")
        pins += self.pins(
            context, EnvoyContext.certificateHashes, .certificate, Self.hexadecimal,
            "64 hexadecimal digits, or 32 pairs of them with colons")
        guard let place = context.member(EnvoyContext.keyHashes) ?? context.member(EnvoyContext.certificateHashes),
            !pins.isEmpty
        else { return }
        if context.isForClients {
            return note(
                .unchanged,
                "these pins are for the certificates of clients that connect to the listener, and are left out: pins "
                    + "of servers are in the UpstreamTlsContext of a cluster", place.position, nil)
        }
        noteSettings(of: context, at: place.position)
        if !context.hasAnchors { for index in pins.indices { pins[index].trust = .pinAlone } }
        let name = context.host ?? host
        let rule = CanonicalRule(
            patterns: [name.map { HostPattern($0.lowercased(), .exact) } ?? HostPattern("", .every)], pins: pins,
            mode: context.acceptsEverything ? .off : .enforce,
            location: PolicyLocation(path: path, place.position))
        add(rule, at: place.position)
    }

    /// Adds a rule, or its pins to the rule that the same host already has.
    private mutating func add(_ rule: CanonicalRule, at position: SourcePosition) {
        guard let existing = indices[rule.patterns[0]] else {
            guard rules.count < TextLimits.rules else {
                return problems.add("more than \(TextLimits.rules) hosts have pins: split the file", at: position)
            }
            indices[rule.patterns[0]] = rules.count
            pinSets.append(Set(rule.pins))
            return rules.append(rule)
        }
        let new = rule.pins.filter { !pinSets[existing].contains($0) }
        guard !new.isEmpty || rule.pins.count != rules[existing].pins.count || rule.mode != rules[existing].mode else {
            return
        }
        note(
            .weaker,
            "another cluster has other pins for \(rule.title), and they are read as one rule that accepts the pins of "
                + "both: give both the same pins, or each a file of its own", position, nil, .combinationChanged)
        guard rules[existing].pins.count + new.count <= TextLimits.pins else {
            return problems.add("more than \(TextLimits.pins) pins for \(rule.title): remove some", at: position)
        }
        rules[existing].pins += new
        pinSets[existing].formUnion(new)
        if rule.mode == .off { rules[existing].mode = .off }
    }

    private mutating func noteSettings(of context: EnvoyContext, at position: SourcePosition) {
        if context.acceptsEverything {
            note(
                .weaker,
                "trust_chain_verification is ACCEPT_UNTRUSTED, so Envoy accepts certificates that no pin matches: "
                    + "remove it", position, .bypassedPins)
        } else if !context.hasAnchors {
            note(
                .weaker,
                "without trusted_ca, Envoy accepts every certificate with a pinned key, also one that isn't trusted or "
                    + "has expired: add trusted_ca", position, .misreadSetting)
        }
        if let validator = context.customValidator {
            note(
                .weaker, "custom_validator_config replaces the check that these pins are for: remove one of the two",
                validator.position, .misreadSetting)
        }
        if context.hasSecret {
            note(
                .weaker, "the secret that is merged into this context may have more pins, which aren't read",
                position, .misreadSetting)
        }
    }

    /// Reads one of the lists of a context. Values that Envoy doesn't accept are problems, because it then refuses the
    /// whole configuration.
    private mutating func pins(
        _ context: EnvoyContext, _ keys: [String], _ content: CanonicalPin.Content, _ decode: (String) -> [UInt8]?,
        _ form: String
    ) -> [CanonicalPin] {
        guard let member = context.member(keys), !member.value.isNull else { return [] }
        guard let elements = member.value.elements else {
            problems.add(
                "\(member.key) is \(member.value.kindName): make it a list", at: member.value.position)
            return []
        }
        guard elements.count <= TextLimits.pins else {
            problems.add("more than \(TextLimits.pins) hashes: remove some", at: member.value.position)
            return []
        }
        var pins: [CanonicalPin] = []
        for element in elements {
            guard let text = element.text else {
                problems.add("a hash is \(element.kindName): write \(form)", at: element.position)
                continue
            }
            guard let digest = decode(text), digest.count == 32 else {
                problems.add(
                    "\(quoted(text)) isn't a SHA-256 digest, so Envoy refuses the configuration: write \(form)",
                    at: element.position, rule: .malformedPin)
                continue
            }
            var pin = CanonicalPin(content, .sha256, digest, role: .leaf)
            pin.location = PolicyLocation(path: path, element.position)
            if !pins.contains(pin) { pins.append(pin) }
        }
        return pins
    }

    static func base64(_ text: String) -> [UInt8]? { Base64.decodeCanonical(Array(text.utf8)) }

    /// Decodes hexadecimal digits. Only a text with exactly the length of 32 pairs with colons may have colons.
    static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = text.utf8.count == 95 ? text.utf8.filter { $0 != UInt8(ascii: ":") } : Array(text.utf8)
        return Hexadecimal.decode(digits)
    }
}
