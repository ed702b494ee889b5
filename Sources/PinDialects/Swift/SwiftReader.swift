import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A reader of the Swift source that ``SwiftWriter`` writes, and of no other: a program can compute its pins, and what
/// it computes isn't known.
struct SwiftReader {
    private var tokens: SwiftTokens
    private let path: String

    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var reader = SwiftReader(tokens: try SwiftTokens(bytes, path: path), path: path)
        return DialectReading(try reader.file())
    }

    /// Whether a program creates rules and pins from literals, or is the beginning of an export.
    static func writesPins(_ bytes: [UInt8]) -> Bool {
        // Kotlin's comments and strings are those of Swift.
        var lexer = SourceLexer(TextCursor(bytes), path: "")
        var (hasRule, hasPin, last) = (false, false, "")
        while let token = lexer.next(), !hasRule || !hasPin {
            defer { last = token.word ?? "" }
            guard let word = token.word, lexer.peek()?.isSign("(") == true else { continue }
            if word == "pinned", last == "func" { hasPin = true }
            if ["PinningRule", "PinningPolicy"].contains(word) { hasRule = true }
            if word == "Pin" {
                _ = lexer.next()
                if case .string? = lexer.peek()?.kind { hasPin = true }
            }
        }
        return hasRule && hasPin
    }

    private mutating func file() throws(PolicyFileError) -> CanonicalPolicy {
        var imports: Set<String> = []
        var start = tokens
        while start.nextWord() == "import" {
            tokens = start
            imports.insert(tokens.nextWord())
            start = tokens
        }
        guard imports.isSubset(of: ["CertificatePinning", "CertificateTrust", "Foundation"]) else {
            throw tokens.unexpected()
        }
        try tokens.expect(words: "extension PinningPolicy")
        try tokens.expect("{")
        try tokens.expect(words: "public static func pinned")
        try tokens.expect("(")
        try tokens.expect(")")
        try tokens.expect(words: "throws")
        try tokens.expect("->")
        try tokens.expect(words: "PinningPolicy")
        try tokens.expect("{")
        try tokens.expect(words: "try")
        let policy = try self.policy()
        try tokens.expect("}")
        try tokens.expect("}")
        tokens.skipBlanks()
        // mutant swift-whole: true by PlanReleaseTests
        guard tokens.isAtEnd else { throw tokens.unexpected() }
        return policy
    }

    private mutating func policy() throws(PolicyFileError) -> CanonicalPolicy {
        tokens.skipBlanks()
        let position = tokens.position
        try tokens.expect(words: "PinningPolicy")
        try tokens.expect("(")
        try tokens.expect(words: "rules")
        try tokens.expect(":")
        try tokens.expect("[")
        var rules: [(rule: PinningRule, anchors: [AnchorSet]?)] = []
        while !tokens.take("]") {
            if !rules.isEmpty {
                try tokens.expect(",")
                if tokens.take("]") { break }
            }
            rules.append(try rule())
        }
        var unlisted = UnlistedHosts.trust
        var denied: [Pin] = []
        for (label, value) in tokens.take(")") ? [] : try rest() {
            switch label {
            case "unlisted":
                guard case .member("refuse") = value.kind else { throw tokens.unexpected(at: value.position) }
                unlisted = .refuse
            case "deny": denied = try pins(value)
            default: throw tokens.unexpected(at: value.position)
            }
        }
        do throws(PolicyError) {
            let policy = try PinningPolicy(rules: rules.map(\.rule), unlisted: unlisted, deny: denied)
            var canonical = CanonicalPolicy(policy)
            for (index, (_, anchors)) in rules.enumerated() { canonical.rules[index].anchors = anchors }
            return canonical
        } catch {
            throw problem("\(error)", position)
        }
    }

    /// Reads the arguments after the rules.
    private mutating func rest() throws(PolicyFileError) -> [(label: String, value: SwiftExpression)] {
        try tokens.expect(",")
        return try tokens.list(until: ")", 0)
    }

    private func problem(_ message: String, _ position: SourcePosition) -> PolicyFileError {
        PolicyFileError(problems: [PolicyProblem(location: PolicyLocation(path: path, position), message: message)])
    }
}

// MARK: - Rules

extension SwiftReader {
    /// Reads a rule, in which an address of a report may be followed by a closure.
    private mutating func rule() throws(PolicyFileError) -> (rule: PinningRule, anchors: [AnchorSet]?) {
        tokens.skipBlanks()
        let position = tokens.position
        try tokens.expect(words: "PinningRule")
        try tokens.expect("(")
        var arguments: [String: SwiftExpression] = [:]
        while !tokens.take(")") {
            if !arguments.isEmpty { try tokens.expect(",") }
            let label = tokens.nextWord()
            try tokens.expect(":")
            let value = try tokens.expression()
            guard Self.labels.contains(label), arguments.updateValue(value, forKey: label) == nil else {
                throw tokens.unexpected(at: value.position)
            }
            if label == "reports" {
                try tokens.expect(".")
                try tokens.expect(words: "compactMap")
                try tokens.expect("{")
                try tokens.expect(words: "URL")
                try tokens.expect("(")
                try tokens.expect(words: "string")
                try tokens.expect(":")
                try tokens.expect("$0")
                try tokens.expect(")")
                try tokens.expect("}")
            }
        }
        guard case .call("ServerName", let host)? = arguments["host"]?.kind, let pins = arguments["pins"] else {
            throw tokens.unexpected(at: position)
        }
        let name: ServerName
        let text = try string(host, position)
        do throws(ServerNameError) { name = try ServerName(text) } catch {
            throw problem("\(error)", position)
        }
        var anchors = try arguments["anchors"].map { value throws(PolicyFileError) in try self.anchors(value) }
        let bypasses = arguments["pinsApplyOnlyUnder"] != nil
        if let value = arguments["pinsApplyOnlyUnder"] {
            guard try self.anchors(value) == [AnchorSet("system")] else { throw tokens.unexpected(at: value.position) }
            for index in anchors?.indices ?? 0..<0 where anchors?[index].source != "system" {
                anchors?[index].bypassesPins = true
            }
        }
        let rule = PinningRule(
            host: name, includesSubdomains: try isTrue(arguments["includesSubdomains"]),
            ownsPublicSuffix: try isTrue(arguments["ownsPublicSuffix"]), ports: try ports(arguments["ports"]),
            pins: try self.pins(pins), requirement: try requirement(arguments["requirement"]),
            mode: try choice(arguments["mode"]) ?? .enforce, expiry: try expiry(arguments["expiry"]),
            certificateTransparency: try choice(arguments["certificateTransparency"]),
            pinsApplyOnlyUnder: bypasses ? try? TrustStore.system() : nil, reports: try reports(arguments["reports"]),
            note: try arguments["note"].map { value throws(PolicyFileError) in try string(value) },
            location: PolicyLocation(path: path, position))
        return (rule, anchors)
    }

    private static let labels: Set = [
        "host", "includesSubdomains", "ownsPublicSuffix", "ports", "pins", "requirement", "mode", "expiry", "anchors",
        "certificateTransparency", "pinsApplyOnlyUnder", "reports", "note",
    ]

    private func ports(_ value: SwiftExpression?) throws(PolicyFileError) -> Set<Int>? {
        guard let value else { return nil }
        var ports: Set<Int> = []
        for element in try elements(value) {
            guard case .number(let port) = element.kind else { throw tokens.unexpected(at: element.position) }
            ports.insert(port)
        }
        return ports
    }

    private func requirement(_ value: SwiftExpression?) throws(PolicyFileError) -> PinRequirement {
        guard let value else { return .any }
        guard case .call(".eachOf", let arguments) = value.kind, arguments.count == 1 else {
            throw tokens.unexpected(at: value.position)
        }
        var roles: Set<PinRole> = []
        for element in try elements(arguments[0].value) {
            guard let role: PinRole = try choice(element) else { throw tokens.unexpected(at: element.position) }
            roles.insert(role)
        }
        return .eachOf(roles)
    }

    private func expiry(_ value: SwiftExpression?) throws(PolicyFileError) -> PinningExpiry? {
        guard let value else { return nil }
        guard case .call("PinningExpiry", let arguments) = value.kind, arguments.map(\.label) == ["", "then"] else {
            throw tokens.unexpected(at: value.position)
        }
        let action: PinningExpiry.Action
        if case .member("stopPinning") = arguments[1].value.kind {
            action = .stopPinning
        } else {
            guard let named: PinningExpiry.Action = try choice(arguments[1].value) else {
                throw tokens.unexpected(at: value.position)
            }
            action = named
        }
        let end = try string(arguments[0].value)
        do throws(PinningExpiryError) {
            return try PinningExpiry(end, then: action)
        } catch {
            throw problem("\(error)", value.position)
        }
    }

    /// Returns the sources of a trust store, which is the system's, one of files, or both.
    private func anchors(_ value: SwiftExpression) throws(PolicyFileError) -> [AnchorSet] {
        guard case .call(let name, let arguments) = value.kind else { throw tokens.unexpected(at: value.position) }
        switch (name, arguments.first?.label) {
        case ("TrustStore.system", nil): return [AnchorSet("system")]
        case ("TrustStore", "files") where arguments.count == 1:
            return try elements(arguments[0].value).map { element throws(PolicyFileError) in
                AnchorSet(try string(element))
            }
        case ("TrustStore", "combining") where arguments.count == 1:
            var all: [AnchorSet] = []
            for element in try elements(arguments[0].value) { all += try anchors(element) }
            return all
        default: throw tokens.unexpected(at: value.position)
        }
    }

    private func reports(_ value: SwiftExpression?) throws(PolicyFileError) -> [URL] {
        guard let value else { return [] }
        var reports: [URL] = []
        for element in try elements(value) {
            guard let url = URL(string: try string(element)) else { throw tokens.unexpected(at: element.position) }
            reports.append(url)
        }
        return reports
    }
}

// MARK: - Pins and values

extension SwiftReader {
    private func pins(_ value: SwiftExpression) throws(PolicyFileError) -> [Pin] {
        try elements(value).map { element throws(PolicyFileError) in try pin(element) }
    }

    private func pin(_ value: SwiftExpression) throws(PolicyFileError) -> Pin {
        guard case .call("Pin", let arguments) = value.kind, let first = arguments.first, first.label.isEmpty else {
            throw tokens.unexpected(at: value.position)
        }
        let pin: Pin
        let text = try string(first.value)
        do throws(PinTextError) { pin = try Pin(text) } catch {
            throw problem("\(error)", value.position)
        }
        var (role, isBackup, name) = (PinRole.any, false, String?.none)
        for (label, value) in arguments.dropFirst() {
            switch label {
            case "role": role = try choice(value) ?? .any
            case "isBackup": isBackup = try isTrue(value)
            case "name": name = try string(value)
            default: throw tokens.unexpected(at: value.position)
            }
        }
        return Pin(pin.fingerprint, role: role, isBackup: isBackup, name: name)
    }

    private func elements(_ value: SwiftExpression) throws(PolicyFileError) -> [SwiftExpression] {
        guard case .array(let elements) = value.kind else { throw tokens.unexpected(at: value.position) }
        return elements
    }

    private func string(_ value: SwiftExpression) throws(PolicyFileError) -> String {
        guard case .string(let text) = value.kind else { throw tokens.unexpected(at: value.position) }
        return text
    }

    /// Returns the only argument, which has no label.
    private func string(
        _ arguments: [(label: String, value: SwiftExpression)], _ position: SourcePosition
    ) throws(PolicyFileError) -> String {
        guard arguments.count == 1, arguments[0].label.isEmpty else { throw tokens.unexpected(at: position) }
        return try string(arguments[0].value)
    }

    private func isTrue(_ value: SwiftExpression?) throws(PolicyFileError) -> Bool {
        guard let value else { return false }
        guard case .bool(let bool) = value.kind else { throw tokens.unexpected(at: value.position) }
        return bool
    }

    private func choice<Choice: RawRepresentable<String>>(
        _ value: SwiftExpression?
    ) throws(PolicyFileError) -> Choice? {
        guard let value else { return nil }
        guard case .member(let name) = value.kind, let choice = Choice(rawValue: name) else {
            throw tokens.unexpected(at: value.position)
        }
        return choice
    }
}
