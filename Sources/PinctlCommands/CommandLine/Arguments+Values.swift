import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension Arguments {
    /// Returns the time to verify at: that of `--at`, or now.
    func time(in environment: CommandEnvironment) throws(UsageError) -> Date {
        guard let text = self[.at] else { return environment.now() }
        guard let time = Date(rfc3339: text) else {
            throw .invalidValue(
                .at, reason: "\"\(text)\" isn't a time: write 2026-11-20T18:48:48Z, or 2026-11-20 for its first second")
        }
        return time
    }

    /// Returns whether verdicts are colored, as `--color`, or else the environment and the terminal, decide.
    func isColored(in environment: CommandEnvironment) throws(UsageError) -> Bool {
        switch self[.color] ?? "auto" {
        case "always": return true
        case "never": return false
        case "auto": break
        case let word: throw .unknownChoice(.color, word, known: ["auto", "always", "never"])
        }
        let variables = environment.variables()
        func isSet(_ name: String) -> Bool { !(variables[name] ?? "").isEmpty }
        guard !isSet("NO_COLOR") else { return false }
        if ["CLICOLOR_FORCE", "FORCE_COLOR"].contains(where: { isSet($0) && variables[$0] != "0" }) { return true }
        return environment.terminal.columns != nil && variables["TERM"] != "dumb"
    }

    /// Returns the anchors of `--ca-file`, or the system's.
    func trustStore(in environment: CommandEnvironment) throws(UsageError) -> TrustStore {
        let files = all(.caFile)
        return try files.isEmpty ? Self.systemStore(in: environment) : Self.trustStore(files)
    }

    /// Returns the system's anchors.
    static func systemStore(in environment: CommandEnvironment) throws(UsageError) -> TrustStore {
        do throws(TrustStoreError) {
            return try .system(environment: environment.variables())
        } catch {
            throw .unusable([error.description])
        }
    }

    /// Returns the calendar of `--calendar`, if given.
    func rootCalendar() throws(UsageError) -> RootCalendar? {
        guard let path = self[.calendar] else { return nil }
        do throws(PolicyFileError) {
            return try RootCalendar(contentsOfFile: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns the value of a flag with a fixed set of values.
    func choice(_ flag: Flag) throws(UsageError) -> String? {
        guard let word = self[flag] else { return nil }
        let known = flag.choices
        guard known.contains(word) else { throw .unknownChoice(flag, word, known: known) }
        return word
    }

    /// Returns the pools of `--providers`, or those that are built in.
    func allProviderPools() throws(UsageError) -> ProviderPools {
        guard let path = self[.providers] else { return .builtIn }
        do throws(PolicyFileError) {
            return try ProviderPools(contentsOfFile: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns the pools of `--provider`.
    func providerPools() throws(UsageError) -> [ProviderPools.Pool] {
        let all = try allProviderPools()
        var pools: [ProviderPools.Pool] = []
        for name in self.all(.provider) where !pools.contains(where: { $0.name == name }) {
            guard let pool = all[name] else { throw .unknownChoice(.provider, name, known: all.names) }
            pools.append(pool)
        }
        return pools
    }

    /// Returns the stores of `--store` with their names, or the only store without a name. Those that `named` contains
    /// are for something else.
    func trustStores(
        in environment: CommandEnvironment, besides named: Set<String> = []
    ) throws(UsageError) -> [(name: String?, store: TrustStore)] {
        let stores = try namedStores().filter { !named.contains($0.name) }
        guard !stores.isEmpty else { return [(nil, try trustStore(in: environment))] }
        guard all(.caFile).isEmpty else {
            throw .unusable(["--ca-file and --store cannot be used together: give every file a name with --store"])
        }
        return stores.map { ($0.name, $0.store) }
    }

    /// Returns the stores of `--store`.
    func namedStores() throws(UsageError) -> [(name: String, store: TrustStore)] {
        var stores: [(name: String, store: TrustStore)] = []
        for (name, files) in try namedFiles(.store) { stores.append((name, try Self.trustStore(files))) }
        return stores
    }

    static func trustStore(_ files: [String]) throws(UsageError) -> TrustStore {
        do throws(TrustStoreError) {
            return try TrustStore(files: files)
        } catch {
            throw .unusable([error.description])
        }
    }

    /// Returns values of the form `NAME=FILE`. Files with the same name are grouped, in order of the first use of each
    /// name.
    func namedFiles(_ flag: Flag) throws(UsageError) -> [(name: String, files: [String])] {
        var named: [(name: String, files: [String])] = []
        for value in all(flag) {
            let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw .invalidValue(flag, reason: "\"\(value)\" isn't a named store: write \(flag.valueName ?? "")")
            }
            if let index = named.firstIndex(where: { $0.name == parts[0] }) {
                named[index].files.append(parts[1])
            } else {
                named.append((parts[0], [parts[1]]))
            }
        }
        return named
    }

    /// Returns the trust policy of `--profile`.
    func trustPolicy() throws(UsageError) -> TrustPolicy {
        let profiles: [(name: String, policy: TrustPolicy)] = [("default", .default), ("strict", .strict)]
        guard let word = self[.profile] else { return .default }
        guard let profile = profiles.first(where: { $0.name == word }) else {
            throw .unknownChoice(.profile, word, known: profiles.map(\.name))
        }
        return profile.policy
    }

    /// Returns the CRLs and the OCSP response to check a chain against, and the mode that says how much they must
    /// cover.
    func revocation() throws(UsageError) -> (mode: RevocationMode, evidence: RevocationEvidence) {
        let modes: [(name: String, mode: RevocationMode)] = [("use", .use), ("require", .require)]
        let (lists, response, word) = (all(.crl), self[.ocsp], self[.revocation])
        guard !lists.isEmpty || response != nil || word != nil else { return (.ignore, .none) }
        guard let mode = modes.first(where: { $0.name == word ?? "use" })?.mode else {
            throw .unknownChoice(.revocation, word ?? "", known: modes.map(\.name))
        }
        var evidence = RevocationEvidence.none
        do throws(RevocationFileError) {
            if !lists.isEmpty { evidence = try RevocationEvidence(files: lists) }
        } catch {
            throw .invalidValue(.crl, reason: error.description)
        }
        guard let response else { return (mode, evidence) }
        do throws(InputFileError) {
            evidence.stapledOCSP = try InputFile.contents(ofFile: response, limit: 1 << 20)
        } catch {
            throw .invalidValue(.ocsp, reason: "\(response): \(error)")
        }
        do throws(DERError) {
            try evidence.checkStaple()
        } catch {
            throw .invalidValue(
                .ocsp,
                reason: "\(response): isn't an OCSP response (\(error)): give the output of openssl ocsp -respout")
        }
        return (mode, evidence)
    }

    /// Returns the list of `--ct-logs`, and the mode that says what a leaf without enough timestamps means.
    func transparency() throws(UsageError) -> (mode: CertificateTransparencyMode, logs: TransparencyLogList?) {
        let word = self[.transparency]
        guard let path = self[.transparencyLogs] else {
            guard word == nil else { throw .missingFlag(.transparencyLogs) }
            return (.ignore, nil)
        }
        guard let mode = CertificateTransparencyMode(rawValue: word ?? "report"), mode != .ignore else {
            throw .unknownChoice(.transparency, word ?? "", known: ["report", "require"])
        }
        do throws(TransparencyLogListError) {
            return (mode, try TransparencyLogList(contentsOfFile: path))
        } catch {
            throw .invalidValue(.transparencyLogs, reason: error.description)
        }
    }

    /// Returns the API level of `--target-sdk`, if given.
    func targetLevel() throws(UsageError) -> AndroidTarget? {
        guard let text = self[.targetLevel] else { return nil }
        guard let target = AndroidTarget(text) else {
            throw .invalidValue(
                .targetLevel, reason: "\"\(text)\" isn't an API level: write a number, such as 37 for Android 17")
        }
        return target
    }

    /// Returns the operands as targets.
    func targets() throws(UsageError) -> [Target] {
        var targets: [Target] = []
        for operand in operands { targets.append(try Target(argument: operand)) }
        return targets
    }

    /// Returns a positive number of seconds, at most a day.
    func seconds(_ flag: Flag, default standard: Int) throws(UsageError) -> Duration {
        guard let text = self[flag] else { return .seconds(standard) }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let seconds = Double(text),
            seconds >= 0.001, seconds <= 86_400
        else {
            throw .invalidValue(flag, reason: "\"\(text)\" isn't a time limit: give seconds from 0.001 to 86400")
        }
        return .milliseconds(Int(seconds * 1000))
    }

    /// Returns the pins of `--pin`, or the policy of `--policy`.
    func pinSource() throws(UsageError) -> PinSource {
        let texts = all(.pin)
        if let path = self[.policy] {
            guard texts.isEmpty else {
                throw .unusable(["--pin and --policy cannot be used together: give one of them"])
            }
            return .policy(try Self.policyFile(path))
        }
        guard !texts.isEmpty else { return .none }
        var pins: [Pin] = []
        for text in texts {
            do throws(PinTextError) {
                pins.append(try Pin(text))
            } catch {
                throw .invalidValue(.pin, reason: error.description)
            }
        }
        return .pins(pins)
    }

    /// Returns the path of the policy if none is given: `PINCTL_POLICY`, or `pins/pins.jsonc`.
    static func usualPolicyPath(in environment: CommandEnvironment) -> String {
        let path = environment.variables()["PINCTL_POLICY"] ?? ""
        return path.isEmpty ? "pins/pins.jsonc" : path
    }

    /// Reads the policy that is used if none is given. `way` says how to give the pins.
    static func usualPolicy(
        in environment: CommandEnvironment, orElse way: String = "give --policy FILE, or --pin"
    ) throws(UsageError) -> PolicyFile {
        let path = usualPolicyPath(in: environment)
        do throws(UsageError) {
            return try policyFile(path)
        } catch .unusable(let messages) {
            throw .unusable(Self.messages(messages, onUnnamedPolicy: path, way))
        }
    }

    /// Returns the messages about a default policy that is invalid, with the remedy, or only one if it doesn't exist.
    static func messages(_ messages: [String], onUnnamedPolicy path: String, _ way: String) -> [String] {
        let remedy = "\(way), or create one with pinctl init"
        do throws(InputFileError) {
            _ = try InputFile(path: path)
        } catch {
            if error.isNoSuchFile {
                return ["no policy was given, and the default, \(path), doesn't exist: \(remedy)"]
            }
        }
        return messages + ["no policy was given, so the default is \(path): \(remedy)"]
    }

    private static func policyFile(_ path: String) throws(UsageError) -> PolicyFile {
        guard path != "-" else {
            return try policyFile(DialectInput.title(path), DialectInput.contents(path), operand: path)
        }
        let bytes: [UInt8]
        do throws(PolicyFileError) {
            bytes = try PolicyFile.contents(ofFile: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
        return try policyFile(path, bytes, operand: path)
    }

    private static func policyFile(
        _ path: String, _ bytes: [UInt8], operand: String
    ) throws(UsageError) -> PolicyFile {
        do throws(PolicyFileError) {
            return try PolicyFile.reading(bytes, path: path)
        } catch {
            let dialects = PinDialect.allRecognized(in: bytes)
            if let dialect = dialects.first, dialect != .policy {
                let names = dialects.map(\.title).joined(separator: " and ")
                let choice = dialects.count > 1 ? "--from \(dialects.map(\.rawValue).joined(separator: "|")) " : ""
                throw .unusable(["\(path) is \(names), not a policy: convert it with pinctl import \(choice)\(operand)"]
                )
            }
            throw .unusable(error.problems.map(\.description))
        }
    }
}

extension Flag {
    /// Returns the note on a flag with roots for rules that have their own, or `nil` if there are none.
    func note(onAnchorsOf hosts: [String]) -> String? {
        guard !hosts.isEmpty else { return nil }
        var seen: Set<String> = []
        let unique = hosts.filter { seen.insert($0).inserted }
        return
            "note: \(dashed) doesn't apply to hosts whose rules have their own anchors: \(FirstNames(unique, limit: 1))"
    }
}
