import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A reader that makes rules from a file. The shape of the file has already been checked, so values of the wrong shape
/// were already reported and are ignored here.
struct PolicyReader {
    let path: String
    let directory: PolicyDirectory
    let publicSuffixes: PublicSuffixes
    var problems: PolicyProblems
    /// The named pins and their locations. The pin is `nil` if it couldn't be read.
    var named: [String: (pin: Pin?, location: PolicyLocation)] = [:]
    /// The files whose inclusion is in progress, with this one last. None of them can be included again.
    var ancestors: [String]
    var budget = PolicyReadingBudget()
    /// The files that this one includes, at any depth.
    var included: [(path: String, root: JSONValue)] = []
    /// Whether names are missing because an included file couldn't be read. That problem was already reported.
    var lacksNames = false
    private var stores: [[String]: TrustStore] = [:]

    init(path: String, directory: PolicyDirectory, publicSuffixes: PublicSuffixes, problems: PolicyProblems) {
        self.path = path
        self.directory = directory
        self.publicSuffixes = publicSuffixes
        self.problems = problems
        ancestors = [path]
    }

    /// Returns the policy. It has no meaning if there are problems.
    mutating func policy(_ root: JSONValue) -> PinningPolicy {
        readNames(root)
        let deny = (root["deny"]?.elements ?? []).compactMap { pinOrName($0) }
        var rules: [PinningRule] = []
        var values: [JSONValue] = []
        for value in root["domains"]?.elements ?? [] {
            guard let rule = rule(value) else { continue }
            rules.append(rule)
            values.append(value)
        }
        let table = RuleTable(rules, combination: .closest)
        for (earlier, later) in table.overlaps() {
            let error = PolicyError.overlap(host: rules[later].host, earlier: rules[earlier].location)
            // Rules for different ports of a host aren't duplicates, even if some of the ports are the same.
            report(error, in: values[later], as: rules[earlier].ports == rules[later].ports ? .duplicate : nil)
        }
        let unlisted = root["unlisted"]?.string.flatMap(UnlistedHosts.init) ?? .trust
        return PinningPolicy(checked: table, unlisted, deny: deny)
    }

    /// Reads the named pins, starting with those of included files.
    mutating func readNames(_ root: JSONValue) {
        for value in root["include"]?.elements ?? [] { include(value) }
        for member in root["pins"]?.members ?? [] where !PolicyKey.isFree(member.key) {
            if member.key.isEmpty || member.key.contains("/") {
                problems.add("a pin's name must not be empty or contain \"/\": rename it", at: member.keyPosition)
            } else if let known = named[member.key], known.location.path != path {
                problems.add(Self.taken(member.key, at: known.location), at: member.keyPosition)
            } else {
                let location = PolicyLocation(path: path, member.keyPosition)
                named[member.key] = (pin(member.value, name: member.key), location)
            }
        }
    }

    static func taken(_ name: String, at location: PolicyLocation) -> String {
        "a pin named \(quoted(name)) is also defined at \(location): rename one of them"
    }
}

// MARK: - Rules

extension PolicyReader {
    private mutating func rule(_ value: JSONValue) -> PinningRule? {
        let elements = value["pins"]?.elements ?? []
        let pins = elements.compactMap { pinOrName($0) }
        let anchors = value["anchors"].flatMap { store($0) }
        let bypass = value["localAnchorsBypassPins"].flatMap { $0.bool == true ? systemStore(for: $0) : nil }
        let expiry = expiry(value)
        let reports = reports(value)
        guard let host = value["host"].flatMap({ host($0) }) else { return nil }
        var rule = PinningRule(
            host: host,
            includesSubdomains: value["subdomains"]?.bool ?? false,
            ownsPublicSuffix: value["ownsPublicSuffix"]?.bool ?? false,
            ports: value["ports"]?.elements.map { Set($0.compactMap(\.integer)) },
            pins: pins,
            requirement: value["require"]?.elements.map {
                .eachOf(Set($0.compactMap { $0.string.flatMap(PinRole.init) }))
            } ?? .any,
            mode: value["mode"]?.string.flatMap(PinningMode.init) ?? .enforce,
            expiry: expiry,
            anchors: anchors,
            certificateTransparency: value["certificateTransparency"]?.string
                .flatMap(CertificateTransparencyMode.init),
            pinsApplyOnlyUnder: bypass,
            reports: reports.map(\.url),
            note: value["note"]?.string,
            location: PolicyLocation(path: path, value.position))
        if let settings = value["check"] { rule.check = CheckSettings(settings) }
        for error in rule.problems(publicSuffixes: publicSuffixes) {
            // Unmatchable roles can only be determined if every pin could be read.
            if case .unmatchableRole = error, pins.count < elements.count { continue }
            report(error, in: value)
        }
        for (url, position) in reports {
            if let error = rule.problem(reportingTo: url) { problems.add(error.description, at: position) }
        }
        return rule
    }

    private mutating func expiry(_ rule: JSONValue) -> PinningExpiry? {
        switch (rule["expires"], rule["onExpiry"]) {
        case (nil, nil): return nil
        case (let expires?, nil):
            let actions = alternatives(PinningExpiry.Action.allCases.map(\.rawValue))
            // mutant expires-alone: {} by PolicyProblemTests
            problems.add("\"expires\" requires \"onExpiry\": add it, with \(actions)", at: expires.position)
            return nil
        case (nil, let action?):
            problems.add("\"onExpiry\" requires \"expires\": add a date, or remove it", at: action.position)
            return nil
        case (let expires?, let action?):
            guard let text = expires.string, let action = action.string.flatMap(PinningExpiry.Action.init) else {
                return nil
            }
            do throws(PinningExpiryError) {
                return try PinningExpiry(text, then: action)
            } catch {
                problems.add(error.description, at: expires.position)
                return nil
            }
        }
    }

    private mutating func reports(_ rule: JSONValue) -> [(url: URL, position: SourcePosition)] {
        var reports: [(url: URL, position: SourcePosition)] = []
        for value in rule["reports"]?.elements ?? [] {
            guard let text = value.string else { continue }
            if let url = URL(string: text) {
                reports.append((url, value.position))
            } else {
                problems.add("\(quoted(text)) isn't a URL: write https://host/path", at: value.position)
            }
        }
        return reports
    }

    /// Reports an error at the key that it concerns. Errors that the shape check covers were already reported there.
    private mutating func report(_ error: PolicyError, in rule: JSONValue, as lintRule: LintRule? = nil) {
        let key: String
        switch error {
        case .noRules, .noPins, .noPorts, .invalidPort, .noRequiredRoles: return
        case .subdomainsOfAddress, .subdomainsOfPublicSuffix, .subdomainsOfPrivateSuffix: key = "subdomains"
        case .unmatchableRole: key = "require"
        case .overlap: key = "host"
        // Reported at their own positions.
        case .reportWithoutTLS, .reportToItself, .invalidHost, .invalidPin: return
        }
        problems.add(error.description, at: rule[key]?.position ?? rule.position, rule: lintRule ?? error.lintRule)
    }

    private mutating func host(_ value: JSONValue) -> ServerName? {
        guard let text = value.string else { return nil }
        // mutant trailing-dot: true by PolicyProblemTests
        guard text.utf8.last != UInt8(ascii: ".") || text.utf8.count == 1 else {
            problems.add("host \(quoted(text)) ends in a dot: remove the dot", at: value.position, rule: .malformedHost)
            return nil
        }
        do throws(ServerNameError) {
            return try ServerName(text)
        } catch {
            problems.add(error.description, at: value.position, rule: .malformedHost)
            return nil
        }
    }

    /// Returns the trust anchors of a rule, or `nil` if it has none or they can't be read.
    private mutating func store(_ value: JSONValue) -> TrustStore? {
        let files = (value["files"]?.elements ?? []).compactMap(\.string).map { resolved($0) }
        let includesSystem = value.string == "system" || value["system"]?.bool == true
        guard includesSystem || !files.isEmpty else {
            if value["files"] == nil, value.members != nil {
                problems.add("\"anchors\" lists no roots: add \"files\", or \"system\": true", at: value.position)
            }
            return nil
        }
        // The empty path represents the system's trust store.
        let key = files + (includesSystem ? [""] : [])
        if let store = stores[key] { return store }
        guard mayRead(files.count, at: value) else { return nil }
        do throws(TrustStoreError) {
            var parts: [TrustStore] = []
            if !files.isEmpty { parts.append(try directory.store(files: files)) }
            if includesSystem { parts.append(try TrustStore.system()) }
            let store = parts.count == 1 ? parts[0] : TrustStore(combining: parts)
            stores[key] = store
            return store
        } catch {
            problems.add(error.description, at: value.position)
            return nil
        }
    }

    /// Returns the system's trust store. A chain bypasses the pins if all its paths end at other anchors.
    private mutating func systemStore(for value: JSONValue) -> TrustStore? {
        do throws(TrustStoreError) {
            if let store = stores[[""]] { return store }
            let store = try TrustStore.system()
            stores[[""]] = store
            return store
        } catch {
            problems.add(error.description, at: value.position)
            return nil
        }
    }

    /// Counts files to be read for a value. Reports an error and returns false if the limit is exceeded.
    private mutating func mayRead(_ count: Int, at value: JSONValue) -> Bool {
        budget.namedFiles += count
        let maximum = PolicyReadingBudget.maximumNamedFiles
        guard budget.namedFiles > maximum else { return true }
        problems.add(
            "the policy refers to files more than \(maximum) times: write the pins themselves, or define them once "
                + "in \"pins\"",
            at: value.position)
        return false
    }

    /// Returns the path of a file that the policy names, relative to the directory of the policy.
    func resolved(_ name: String) -> String { resolvedPath(name, besides: path) }
}

// MARK: - Pins

extension PolicyReader {
    /// Returns a pin, given directly or by name.
    private mutating func pinOrName(_ value: JSONValue) -> Pin? {
        guard let text = value.string else { return pin(value, name: nil) }
        if let named = named[text] { return named.pin }
        do throws(PinTextError) {
            return Pin(try PinFingerprint(text))
        } catch {
            let names = named.keys
            let isName = error.reason == .unknownSpelling && !text.contains("/")
            if isName, lacksNames { return nil }
            problems.add(
                isName ? noPin(named: text, names) : error.description, at: value.position,
                rule: isName ? nil : error.lintRule)
            return nil
        }
    }

    /// Reads a pin from a string or an object.
    private mutating func pin(_ value: JSONValue, name: String?) -> Pin? {
        guard value.members != nil else { return pinFingerprint(value).map { Pin($0, name: name) } }
        let object: PinFingerprint?
        switch (value["pin"], value["file"]) {
        case (let pin?, nil): object = pinFingerprint(pin)
        case (nil, let file?): object = keyInFile(file)
        case (nil, nil):
            problems.add("this pin has neither \"pin\" nor \"file\": add one", at: value.position)
            return nil
        case (.some, let file?):
            problems.add("this pin has both \"pin\" and \"file\": remove one", at: file.position)
            return nil
        }
        guard let object else { return nil }
        var pin = Pin(
            object, role: value["role"]?.string.flatMap(PinRole.init) ?? .any,
            isBackup: value["backup"]?.bool ?? false, name: name, note: value["note"]?.string)
        pin.from = (value["from"] ?? value["file"])?.string.map { resolved($0) }
        return pin
    }

    private mutating func pinFingerprint(_ value: JSONValue) -> PinFingerprint? {
        guard let text = value.string else { return nil }
        do throws(PinTextError) {
            return try PinFingerprint(text)
        } catch {
            problems.add(error.description, at: value.position, rule: error.lintRule)
            return nil
        }
    }

    /// Reads the only key of a certificate, a certificate request or a public key.
    private mutating func keyInFile(_ value: JSONValue) -> PinFingerprint? {
        guard let name = value.string, mayRead(1, at: value) else { return nil }
        do throws(PinnedKeyError) {
            return try PinFingerprint(keyInFile: resolved(name), of: directory)
        } catch {
            problems.add("\(quoted(name)): \(error)", at: value.position)
            return nil
        }
    }
}

/// Returns the path of a file that another file names, relative to the directory of the latter.
package func resolvedPath(_ name: String, besides path: String) -> String {
    guard !name.hasPrefix("/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
    return String(path[...slash]) + name
}

extension CheckSettings {
    fileprivate init(_ value: JSONValue) {
        targets = (value["targets"]?.elements ?? []).compactMap(\.string)
        keys = value["keys"]?.string.flatMap(Keys.init)
        allAddresses = value["allAddresses"]?.bool
        startTLS = value["starttls"]?.string
        requiredGroup = value["requireGroup"]?.string
    }
}

private func noPin(named name: String, _ names: some Collection<String>) -> String {
    "no pin is named \(quoted(name)): "
        + (suggestion(for: name, among: names).map { "did you mean \"\($0)\"?" }
            ?? "add it to \"pins\", or write the pin as sha256/BASE64")
}
