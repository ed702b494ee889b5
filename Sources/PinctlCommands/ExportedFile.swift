import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// A file in another system's format that a policy lists in `exports`.
struct ExportedFile: Sendable {
    let dialect: PinDialect
    /// The path, relative to the same directory as the policy's path.
    let path: String
    /// The only host whose rule the file has, or `nil` for every rule of the policy.
    let host: String?
    /// The changes that the owner accepts, or `nil` if the policy lists none.
    let accepted: Set<ConversionChange>?
    let location: PolicyLocation

    /// Creates an exported file from an element of `exports`, whose names are checked.
    init(_ export: PolicyExport) throws(UsageError) {
        guard let dialect = PinDialect(rawValue: export.target) else {
            let known = alternatives(PinDialect.allCases.map(\.rawValue))
            throw .unusable(["there is no dialect \(quoted(export.target)): write \(known)"])
        }
        var accepted: Set<ConversionChange> = []
        for name in export.allowed ?? [] {
            guard let change = ConversionChange(rawValue: name), change != .quirk else {
                let known = ConversionChange.allCases.filter { $0 != .quirk }.map(\.rawValue)
                let advice = suggestion(for: name, among: known).map { "did you mean \(quoted($0))?" }
                throw .unusable([
                    "\"allow\" lists \(quoted(name)), which isn't a change of a conversion: "
                        + (advice ?? "see pinctl help dialects")
                ])
            }
            accepted.insert(change)
        }
        self.dialect = dialect
        path = export.file
        do throws(ServerNameError) {
            host = try export.host.map { text throws(ServerNameError) in try ServerName(text).description }
        } catch {
            throw .unusable(["\"host\" is \(quoted(export.host ?? "")): \(error)"])
        }
        self.accepted = export.allowed == nil ? nil : accepted
        location = export.location
    }

    /// Returns the exported files of a policy. Error messages begin with the position of the element.
    static func all(of file: PolicyFile) throws(UsageError) -> [ExportedFile] {
        var files: [ExportedFile] = []
        for export in file.exports {
            do throws(UsageError) {
                files.append(try ExportedFile(export))
            } catch {
                throw .unusable(error.messages.map { "\(export.location): \($0)" })
            }
        }
        return files
    }
}

/// The pins of an exported file, to be judged as its own system does.
struct ExportedPins: Sendable {
    let path: String
    let pins: ShippedPolicy

    /// Reads every policy in an exported file, since an app enforces both policies of an Info.plist.
    static func all(
        in bytes: [UInt8], of file: ExportedFile, for policy: CanonicalPolicy, target: AndroidTarget? = nil,
        project: @autoclosure () -> SourceProject? = nil
    ) throws(UsageError) -> [ExportedPins] {
        let others = PinDialect.allRecognized(in: bytes).filter { $0 != file.dialect }
        let dialects = [.apple, .trustkit].contains(file.dialect) ? [file.dialect] + others : [file.dialect]
        var all: [ExportedPins] = []
        for dialect in dialects {
            all.append(try ExportedPins(file, bytes, as: dialect, of: policy, target, project()))
        }
        return all
    }

    /// Reads one policy. If the format names no host, the pins are for the host of the export, or the only host of the
    /// policy.
    private init(
        _ file: ExportedFile, _ bytes: [UInt8], as dialect: PinDialect, of policy: CanonicalPolicy,
        _ target: AndroidTarget?, _ project: @autoclosure () -> SourceProject?
    ) throws(UsageError) {
        let hosts = Set(policy.rules.flatMap(\.patterns).map(\.host))
        let host = file.host ?? (hosts.count == 1 ? hosts.first : nil)
        // mutant export-host: true by DialectTests/exportedHost
        guard file.host.map({ !PinDialect.policy.rules(for: $0, in: policy).isEmpty }) ?? true else {
            throw .unusable([
                "\(file.path): no rule covers \(visibleText(file.host ?? "")): name another \"host\" in \"exports\""
            ])
        }
        var reading = try DialectInput(
            file.path, bytes, dialect, host: host, target: target, project: project()
        ).reading
        if let host { reading.policy.rename(host) }
        guard !reading.policy.rules.flatMap(\.patterns).contains(where: { $0.scope == .every }) else {
            throw .unusable([
                "\(file.path): \(dialect.title) names no host, but the policy has \(hosts.count): add the \"host\" of "
                    + "this file to its element of \"exports\""
            ])
        }
        if let obstacle = reading.obstacle { throw .unusable(["\(obstacle)"]) }
        path = file.path
        pins = ShippedPolicy(reading.policy, of: dialect)
    }
}

/// The rejection of a chain by the clients of an exported file.
struct ExportRefusal: Sendable {
    /// The path of the file.
    let path: String
    let dialect: PinDialect
    /// The reason why the file rejects the chain.
    let reason: String
    /// The anchors of the rejected paths.
    let anchors: [String]
    /// Whether every path is rejected.
    let isWhole: Bool

    /// The finding, such as `ios/Info.plist (NSPinnedDomains): no match as leaf`.
    var finding: String { "\(path) (\(dialect.title)): \(reason)" }
}

extension ExportedPins {
    /// Judges the paths of a trusted chain as the file's own system does. Returns `nil` if it accepts all of them.
    func refusal(of paths: [VerifiedPath], to name: ServerName, port: UInt16, at time: Date) -> ExportRefusal? {
        let rules = pins.rules(for: name.description, port: Int(port))
        var refused: [(path: VerifiedPath, decision: CanonicalDecision)] = []
        for path in paths {
            let decisions = pins.decisions(on: path.certificates, by: rules, at: time)
            if let decision = decisions.first(where: { !$0.isAccepted }) { refused.append((path, decision)) }
        }
        guard let first = refused.first else { return nil }
        var anchors: [String] = []
        for (path, _) in refused where !anchors.contains(path.anchor.subject.description) {
            anchors.append(path.anchor.subject.description)
        }
        return ExportRefusal(
            path: path, dialect: pins.dialect, reason: first.decision.refusal, anchors: anchors,
            isWhole: refused.count == paths.count)
    }
}

extension CanonicalDecision {
    /// The reason why a server is rejected.
    fileprivate var refusal: String {
        switch verdict {
        case .refused where unmetRoles == [.any]: "no pin matches"
        case .refused: "no pin matches as \(unmetRoles.map(\.rawValue).joined(separator: " and as "))"
        case .denied: "it denies \(matches.first?.pin.title ?? "a key") in the chain"
        case .ended: "its rule has expired, and then refuses every server"
        case .unlisted: "it refuses hosts without a rule"
        default: verdict.rawValue
        }
    }
}

extension CanonicalPolicy {
    /// Sets the host of rules that don't name one.
    mutating func rename(_ host: String) {
        for rule in rules.indices {
            for pattern in rules[rule].patterns.indices where rules[rule].patterns[pattern].scope == .every {
                rules[rule].patterns[pattern] = HostPattern(host, .exact)
            }
        }
    }
}
