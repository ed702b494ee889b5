import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The end of a release's survival at a host.
struct PlanEnd: Sendable, Comparable {
    /// The day, or `nil` if it isn't known.
    let date: Date?
    let why: String
    /// Whether a trust store ends it that the release's clients may not use, because its dialect is for any system.
    var isOfAnySystem = false

    /// The end in the matrix.
    var word: String { date.map { "until \($0.day)" } ?? "ends" }

    /// The end after the finding.
    var text: String { date.map { "; until \($0.rfc3339): \(why)" } ?? "; but \(why)" }

    static func < (left: PlanEnd, right: PlanEnd) -> Bool {
        (left.date ?? .distantPast, left.why) < (right.date ?? .distantPast, right.why)
    }
}

extension Plan {
    /// Returns the end of a release that is a signed bundle, if the bundle expires before `limit`, or before the
    /// candidates are valid. What happens then is up to the policy that its programs were built with, which is another
    /// release.
    func endOfBundle(_ release: Release, before limit: Date?) -> PlanEnd? {
        let times = candidates.map { $0.time(from: now) } + [limit ?? now]
        guard let expires = release.bundle?.expires, let last = times.max(), expires <= last else { return nil }
        return PlanEnd(date: expires, why: "the bundle expires, and \(PolicyBundle.effectOfExpiry)")
    }

    /// Returns the first change of a public trust store after which the release doesn't survive. Changes count if they
    /// come before `limit` or while the leaf is valid, or if their day isn't known.
    ///
    /// The stores are the one with the judgement's name, otherwise those of the release's system, otherwise all.
    /// A store that doesn't have the root of a path counts like one that removes it.
    ///
    /// A client with a new root ends its path there, so that it doesn't see the root which signed the new one. This
    /// project's clients also try the longer path.
    func endByStores(_ rule: ReleaseRule, _ judged: [StoreJudgement], before limit: Date?) -> PlanEnd? {
        guard !calendar.isEmpty, rule.rules.allSatisfy(\.trustsSystem) else { return nil }
        return judged.flatMap { judgement -> [PlanEnd] in
            guard judgement.direct == nil, let leaf = judgement.paths.first?.path.certificates.first else { return [] }
            let named = judgement.store.flatMap(RootCalendar.Store.init).map { [$0] }
            // mutant plan-fail-within-store: leaf.notAfter for `limit ?? now` by PlanCalendarTests/change
            let limit = max(limit ?? now, leaf.notAfter)
            let own = rule.release.dialect.trustStores
            return (named ?? own ?? RootCalendar.Store.allCases).compactMap { store in
                var end = end(of: judgement, rule, in: store, before: limit)
                end?.isOfAnySystem = named == nil && own == nil
                return end
            }
        }
        .min()
    }

    /// Returns notes about releases that the calendar says nothing about, and about those that it judges by the stores
    /// of all systems.
    func calendarNotes(on cells: [PlanCell]) -> [String] {
        guard !calendar.isEmpty else { return [] }
        let ownRoots = cells.filter { cell in
            let host = hosts[cell.host]
            return ([releases[cell.release]] + releases[cell.release].exports).contains { file in
                let rule = file.rule(for: host.name, port: host.port)
                return rule.isPinned && !rule.rules.allSatisfy(\.trustsSystem)
            }
        }
        let any = cells.filter { $0.end?.isOfAnySystem == true }
        return [
            titles(of: ownRoots).map { titles in
                "\(titles): a rule trusts only its own roots, so the calendar of trust stores doesn't apply to it"
            },
            titles(of: any).map { titles in
                "\(titles): the file doesn't say which system its clients run on, so every store in the calendar "
                    + "counts: name those of your clients, such as \(Flag.store.dashed) mozilla=FILE"
            },
        ].compactMap(\.self)
    }

    /// Returns the names of the releases of cells, or `nil` if there are none.
    private func titles(of cells: [PlanCell]) -> String? {
        let names = Set(cells.map(\.release)).sorted().map { releases[$0].name }
        return names.isEmpty ? nil : "\(FirstNames(names, limit: 5))"
    }

    private func end(
        of judgement: StoreJudgement, _ rule: ReleaseRule, in store: RootCalendar.Store, before limit: Date
    ) -> PlanEnd? {
        let paths = judgement.paths.map(\.path.certificates)
        let begin = judgement.candidate.time(from: now)
        func survives(at time: Date, countsPending: Bool) -> Bool {
            let seen = paths.flatMap { calendar.paths($0, in: store, at: time, countsPending, rule.triesEveryPath) }
            // A root of the store isn't local, although the machine's own store may have another certificate of it.
            let isPublic = seen.contains { path in
                // mutant plan-bypass-store: false by PlanCalendarTests/notLocal
                path.last.flatMap { calendar.root(of: $0)?.trust[store] } != nil
            }
            let accepted = rule.judge(seen, besides: isPublic, under: judgement.store, at: time)
                .count(where: \.isAccepted)
            return accepted > 0 && (accepted == seen.count || rule.triesEveryPath)
        }
        for change in calendar.changes(on: paths, in: store, at: begin) {
            // mutant plan-fail-within-day: $0 < limit for `$0 <= limit` by PlanCalendarTests/change
            guard change.day.map({ $0 <= limit }) ?? true,
                !survives(at: max(begin, change.day ?? begin), countsPending: change.isPending)
            else { continue }
            return PlanEnd(date: change.day, why: change.text)
        }
        return nil
    }
}

extension PinDialect {
    /// The trust stores that clients with files in this dialect use, or `nil` if they run on any system.
    fileprivate var trustStores: [RootCalendar.Store]? {
        switch self {
        case .android, .okhttp, .cronet: [.android]
        case .apple, .trustkit, .alamofire: [.apple]
        default: nil
        }
    }
}

extension RootCalendar {
    /// Returns the paths that clients with a store find in place of one path: up to the first certificate whose key the
    /// store trusts, and also the longer ones if they try every path. Empty if the store doesn't trust the last root.
    fileprivate func paths(
        _ path: [X509Certificate], in store: Store, at time: Date, _ countsPending: Bool, _ triesEveryPath: Bool
    ) -> [[X509Certificate]] {
        guard let leaf = path.first else { return [] }
        let ends = path.indices.dropFirst().filter { index in
            let trust = root(of: path[index])?.trust[store]
            // The last certificate is a root of the machine's own store. What the calendar doesn't know, it has.
            return trust?.holds(at: time, for: leaf, countsPending: countsPending) ?? (index == path.count - 1)
        }
        return (triesEveryPath ? ends : Array(ends.prefix(1))).map { Array(path[...$0]) }
    }

    /// A difference between a store and the machine's own.
    fileprivate struct Change {
        var day: Date?
        /// Whether it is announced without a day.
        var isPending = false
    }

    /// Returns how a store differs from the machine's own, as far as it concerns the roots on these paths. Differences
    /// at `time` come first, then announced ones without a day.
    fileprivate func changes(
        on paths: [[X509Certificate]], in store: Store, at time: Date
    ) -> [(day: Date?, isPending: Bool, text: String)] {
        var changes: [String: Change] = [:]
        for root in paths.compactMap(\.last).compactMap({ root(of: $0) }) {
            guard let trust = root.trust[store] else { continue }
            if trust.isAbsent {
                changes["\(root.name) isn't in the store \(store.rawValue)"] = Change()
            } else if trust.isPending {
                changes["\(root.name) isn't yet in the store \(store.rawValue)"] = Change()
            } else if let since = trust.since, since > time {
                changes["\(root.name) isn't in the store \(store.rawValue) before \(since.day)"] = Change()
            }
        }
        for path in paths {
            for certificate in path.dropFirst().dropLast() {
                guard let root = root(of: certificate), let trust = root.trust[store] else { continue }
                let arrival = "the store \(store.rawValue), and clients that have it end their paths there"
                if trust.isAbsent { continue }
                if trust.isPending {
                    changes["\(root.name) is about to enter \(arrival)"] = Change(isPending: true)
                } else if let since = trust.since {
                    changes["\(root.name) enters \(arrival)"] = Change(day: since)
                } else {
                    changes["\(root.name) is in \(arrival)"] = Change()
                }
            }
        }
        for root in paths.flatMap({ $0.dropFirst() }).compactMap({ root(of: $0) }) {
            guard let trust = root.trust[store] else { continue }
            if let until = trust.issuedUntil {
                changes["the store \(store.rawValue) trusts no certificates issued later below \(root.name)"] = Change(
                    day: until)
            }
            if let removed = trust.removed {
                changes["\(root.name) leaves the store \(store.rawValue)"] = Change(day: removed)
            }
        }
        return changes.map { (day: $0.value.day, isPending: $0.value.isPending, text: $0.key) }
            .sorted {
                ($0.day ?? .distantPast, $0.isPending ? 1 : 0, $0.text)
                    < ($1.day ?? .distantPast, $1.isPending ? 1 : 0, $1.text)
            }
    }
}
