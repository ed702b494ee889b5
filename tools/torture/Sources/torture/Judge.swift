/// Decides which ends of a run are findings.
struct Judge: Sendable {
    private let scenario: Scenario
    /// The run without a fault.
    private let normal: Campaign.Outcome
    private let program: String

    init(_ scenario: Scenario, _ program: String, _ normal: Campaign.Outcome) {
        self.scenario = scenario
        self.program = program
        self.normal = normal
    }

    func problems(of outcome: Campaign.Outcome, _ fault: Fault) -> [String] {
        guard let status = outcome.status else { return ["it doesn't end"] }
        var problems: [String] = []
        // OpenSSL 3.0 dereferences null pointers after some failed allocations, which ends the process before it
        // decides.
        if hasTrapped(outcome), DispatchTrap.explains(outcome, of: program) { return leaks(in: outcome) }
        if status >= 128, !isCrashOfOpenSSL(outcome) { problems.append("signal \(status - 128) in \(outcome.crash)") }
        if status == scenario.status {
            // A refusal may have less advice.
            let isSame = status == 0 ? outcome.output == normal.output : message(of: outcome) == message(of: normal)
            if !isSame, !isRefused(outcome, fault) {
                problems.append("another output with the normal exit status")
            }
            if outcome.changed.filter({ scenario.outputs.keys.contains($0.key) })
                != normal.changed.filter({ scenario.outputs.keys.contains($0.key) })
            {
                problems.append("other files with the normal exit status")
            }
        } else if status == 0 {
            problems.append("WRONG ACCEPT")
        } else {
            if fault.isTransparent, outcome.fired == 1 { problems.append("a call that can be repeated ends it") }
            // A failure of the machine says nothing about the server, the chain or the pins.
            let allowed: Set<Int32> = scenario.program == .client ? [1] : [2, 3]
            if status < 128, !allowed.contains(status), !isRefused(outcome, fault) {
                problems.append("a wrong verdict")
            }
            if status < 128, !isClear(outcome), fault.call != "write" { problems.append("no clear message") }
        }
        problems += leaks(in: outcome) + leftovers(in: outcome, fault)
        return problems
    }

    /// The message on one line, for the table of outcomes.
    func summary(of outcome: Campaign.Outcome) -> String {
        guard let status = outcome.status else { return "no end" }
        if status == scenario.status, outcome.output == normal.output { return "\(status), as without a fault" }
        if status >= 128 { return "signal \(status - 128) in \(outcome.crash)" }
        return "\(status): \(message(of: outcome))"
    }

    private func message(of outcome: Campaign.Outcome) -> String {
        let text = scenario.program == .client ? outcome.output : outcome.errors + outcome.output
        let lines = text.split(separator: "\n").map(String.init)
        return lines.first { $0.hasPrefix("failed: ") || $0.hasPrefix("pinctl: ") } ?? lines.first {
            !$0.hasPrefix("ok ")
        }
            ?? ""
    }

    private func isCrashOfOpenSSL(_ outcome: Campaign.Outcome) -> Bool {
        outcome.status == 128 + 11 && (outcome.crash.hasPrefix("libcrypto.so") || outcome.crash.hasPrefix("libssl.so"))
    }

    /// Whether a trap of Swift or C ended it. pinctl reports it with a status of its own.
    private func hasTrapped(_ outcome: Campaign.Outcome) -> Bool {
        outcome.status == 128 + 4 || outcome.status == 128 + 5 || scenario.program == .pinctl && outcome.status == 70
    }

    /// Whether OpenSSL ran out of memory and the chain was refused. OpenSSL 3.0 hides some failed allocations, so that
    /// the reason can be another one than `out-of-memory`: it finds that a key can't be read, or is too weak.
    private func isRefused(_ outcome: Campaign.Outcome, _ fault: Fault) -> Bool {
        fault.call == "allocate" && (outcome.output + outcome.errors).contains("not trusted")
    }

    private func isClear(_ outcome: Campaign.Outcome) -> Bool {
        let message = message(of: outcome)
        return !message.isEmpty && !message.contains("error:0") && !message.contains("couldn’t be completed")
            && !message.contains("could not be completed") && !message.contains("unknown error")
            && !message.contains("Success")
    }

    private func leaks(in outcome: Campaign.Outcome) -> [String] {
        switch scenario.forbidden {
        case .nothing: []
        case .everything: outcome.bytesInTLS == 0 ? [] : ["LEAK: the server got \(outcome.bytesInTLS) bytes"]
        case .second: outcome.requests.contains { $0.contains("/second") } ? ["LEAK: the server got a request"] : []
        }
    }

    /// The old or the new contents are allowed, and no other files.
    private func leftovers(in outcome: Campaign.Outcome, _ fault: Fault) -> [String] {
        outcome.changed.compactMap { name, text in
            if scenario.outputs.keys.contains(name) {
                // A failed check has a report too.
                let isWholeReport = name.hasSuffix(".sarif") && text.hasPrefix("{") && text.hasSuffix("}\n")
                return text == normal.changed[name] || isWholeReport
                    ? nil : "\(name) is neither old nor new: \(text.prefix(200))"
            }
            // A lock stays, and a file that can't be removed does.
            return normal.changed[name] != nil || fault.call == "unlink" || name.hasSuffix(".lock")
                ? nil : "leaves \(name)"
        }
    }
}
