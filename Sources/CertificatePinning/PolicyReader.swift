import CertificateTrust

/// Makes rules of a file whose shape was checked. What has the wrong shape is passed over here: it was told already.
struct PolicyReader {
    let path: String
    let publicSuffixes: PublicSuffixes
    var problems: PolicyProblems
    /// Named pins; nil for one that could not be read.
    private var named: [String: Pin?] = [:]
    private var stores: [[String]: TrustStore] = [:]
    private var fileCount = 0

    /// Files that are read for one policy, each as often as it is named: naming a large one costs a few bytes.
    static let maximumFiles = 1000

    init(path: String, publicSuffixes: PublicSuffixes, problems: PolicyProblems) {
        self.path = path
        self.publicSuffixes = publicSuffixes
        self.problems = problems
    }

    /// The policy; meaningless when there are problems.
    mutating func policy(_ root: JSONValue) -> PinningPolicy {
        for member in root["pins"]?.members ?? [] where !PolicyKey.isFree(member.key) {
            if member.key.isEmpty || member.key.contains("/") {
                problems.add("a pin's name is not empty and holds no \"/\": rename it", at: member.keyPosition)
            } else {
                named.updateValue(pin(member.value, name: member.key), forKey: member.key)
            }
        }
        var rules: [PinningRule] = []
        var values: [JSONValue] = []
        for value in root["domains"]?.elements ?? [] {
            guard let rule = rule(value) else { continue }
            rules.append(rule)
            values.append(value)
        }
        let table = RuleTable(rules)
        for (earlier, later) in table.overlaps(in: rules) {
            let error = PolicyError.overlap(host: rules[later].host, earlier: rules[earlier].location)
            report(error, in: values[later])
        }
        let unlisted = root["unlisted"]?.string.flatMap(UnlistedHosts.init) ?? .trust
        return PinningPolicy(checked: rules, table, unlisted)
    }
}

// MARK: - Rules

extension PolicyReader {
    private mutating func rule(_ value: JSONValue) -> PinningRule? {
        let elements = value["pins"]?.elements ?? []
        let pins = elements.compactMap { pinOfRule($0) }
        let anchors = value["anchors"].flatMap { store($0) }
        guard let host = value["host"].flatMap({ host($0) }) else { return nil }
        let rule = PinningRule(
            host: host,
            includesSubdomains: value["subdomains"]?.bool ?? false,
            ports: value["ports"]?.elements.map { Set($0.compactMap(\.integer)) },
            pins: pins,
            requirement: value["require"]?.elements.map {
                .eachOf(Set($0.compactMap { $0.string.flatMap(PinRole.init) }))
            } ?? .any,
            mode: value["mode"]?.string.flatMap(PinningMode.init) ?? .enforce,
            anchors: anchors,
            note: value["note"]?.string,
            location: PolicyLocation(path: path, value.position))
        for error in rule.problems(publicSuffixes: publicSuffixes) {
            // Whether the roles can be met is known only when all pins are.
            if case .unmatchableRole = error, pins.count < elements.count { continue }
            report(error, in: value)
        }
        return rule
    }

    /// Tells of an error at the key it concerns. Those that a shape rules out were told there.
    private mutating func report(_ error: PolicyError, in rule: JSONValue) {
        let key: String
        switch error {
        case .noRules, .noPins, .noPorts, .invalidPort, .noRequiredRoles: return
        case .subdomainsOfAddress, .subdomainsOfPublicSuffix: key = "subdomains"
        case .unmatchableRole: key = "require"
        case .overlap: key = "host"
        }
        problems.add(error.description, at: rule[key]?.position ?? rule.position)
    }

    private mutating func host(_ value: JSONValue) -> ServerName? {
        guard let text = value.string else { return nil }
        guard text.utf8.last != UInt8(ascii: ".") || text.utf8.count == 1 else {
            problems.add("host \(quoted(text)) ends in a dot: remove the dot", at: value.position)
            return nil
        }
        do throws(ServerNameError) {
            return try ServerName(text)
        } catch {
            problems.add(error.description, at: value.position)
            return nil
        }
    }

    /// The anchors a rule names; nil when it names none that can be had.
    private mutating func store(_ value: JSONValue) -> TrustStore? {
        let files = (value["files"]?.elements ?? []).compactMap(\.string).map { resolved($0) }
        let includesSystem = value.string == "system" || value["system"]?.bool == true
        guard includesSystem || !files.isEmpty else {
            if value["files"] == nil, value.members != nil {
                problems.add("\"anchors\" names no roots: give it \"files\", or \"system\": true", at: value.position)
            }
            return nil
        }
        // The empty path stands for the system's store.
        let key = files + (includesSystem ? [""] : [])
        if let store = stores[key] { return store }
        guard mayRead(files.count, at: value) else { return nil }
        do throws(TrustStoreError) {
            var parts: [TrustStore] = []
            if !files.isEmpty { parts.append(try TrustStore(files: files)) }
            if includesSystem { parts.append(try TrustStore.system()) }
            let store = parts.count == 1 ? parts[0] : TrustStore(combining: parts)
            stores[key] = store
            return store
        } catch {
            problems.add(error.description, at: value.position)
            return nil
        }
    }

    /// Counts files that are to be read for a value.
    private mutating func mayRead(_ count: Int, at value: JSONValue) -> Bool {
        fileCount += count
        guard fileCount > Self.maximumFiles else { return true }
        problems.add(
            "the policy names files over \(Self.maximumFiles) times: write pins out, or name them in \"pins\"",
            at: value.position)
        return false
    }

    /// A path that the file names, from the folder of the file.
    private func resolved(_ name: String) -> String {
        guard !name.hasPrefix("/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return String(path[...slash]) + name
    }
}

// MARK: - Pins

extension PolicyReader {
    /// An element of a rule's pins: a pin, or the name of one.
    private mutating func pinOfRule(_ value: JSONValue) -> Pin? {
        guard let text = value.string else { return pin(value, name: nil) }
        if let pin = named[text] { return pin }
        do throws(PinTextError) {
            return Pin(try PinnedObject(text))
        } catch {
            let names = named.keys
            let isName = error.reason == .unknownSpelling && !text.contains("/")
            problems.add(isName ? noPin(named: text, names) : error.description, at: value.position)
            return nil
        }
    }

    /// A pin as a string or an object.
    private mutating func pin(_ value: JSONValue, name: String?) -> Pin? {
        guard value.members != nil else { return pinnedObject(value).map { Pin($0, name: name) } }
        let object: PinnedObject?
        switch (value["pin"], value["file"]) {
        case (let pin?, nil): object = pinnedObject(pin)
        case (nil, let file?): object = keyInFile(file)
        case (nil, nil):
            problems.add("a pin has \"pin\" or \"file\": add one", at: value.position)
            return nil
        case (.some, let file?):
            problems.add("a pin has \"pin\" or \"file\", not both: remove one", at: file.position)
            return nil
        }
        guard let object else { return nil }
        return Pin(
            object, role: value["role"]?.string.flatMap(PinRole.init) ?? .any,
            isBackup: value["backup"]?.bool ?? false, name: name, note: value["note"]?.string)
    }

    private mutating func pinnedObject(_ value: JSONValue) -> PinnedObject? {
        guard let text = value.string else { return nil }
        do throws(PinTextError) {
            return try PinnedObject(text)
        } catch {
            problems.add(error.description, at: value.position)
            return nil
        }
    }

    /// The one key of a certificate, a certificate request or a public key.
    private mutating func keyInFile(_ value: JSONValue) -> PinnedObject? {
        guard let name = value.string, mayRead(1, at: value) else { return nil }
        func fail(_ reason: String) -> PinnedObject? {
            problems.add("\(quoted(name)): \(reason)", at: value.position)
            return nil
        }
        var items: [KeyFile.Item] = []
        do throws(InputFileError) {
            let file = try InputFile(path: resolved(name))
            do throws(KeyFile.Failure) {
                try KeyFile.read(file) { if items.count < 2 { items.append($0) } }
            } catch {
                return fail(error.description)
            }
        } catch {
            return fail(error.description)
        }
        guard let item = items.first else { return fail("holds no key: name a certificate, a request or a public key") }
        guard items.count == 1 else { return fail("holds more than one object: name a file with the one to pin") }
        switch item.content {
        case .failure(let error): return fail(error.description)
        case .success(let material):
            guard material.kind != .privateKey else {
                return fail("is a private key, which belongs in no policy's folder: name its certificate or public key")
            }
            return .publicKey(material.fingerprint)
        }
    }
}

private func noPin(named name: String, _ names: some Collection<String>) -> String {
    "no pin is named \(quoted(name)): "
        + (suggestion(for: name, among: names).map { "did you mean \"\($0)\"?" }
            ?? "add it to \"pins\", or write sha256/ and its base64")
}
