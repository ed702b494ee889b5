import CertificatePinning
import TLSTransport

extension CommandDefinition {
    static let initialize = CommandDefinition(
        name: "init", summary: "write a policy that pins the keys of servers as they are now", operands: "TARGET…",
        operandCount: 1...Int.max, flags: [.output, .caFile, .profile, .at] + Flag.probing,
        notes: [
            "Every server is connected to and its chain verified; when one of them cannot be, nothing",
            "is written. The policy goes to standard output, or to a FILE that does not exist yet. Its",
            "backup slots have to be filled before pinctl lint passes. A --ca-file is not written down:",
            "give it to check as well, or name it in the rules as \"anchors\".",
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let targets = try arguments.targets()
            let probe = try ServerProbe(arguments)
            let judge = try ChainJudge(arguments, in: environment)

            var draft = PolicyDraft()
            await inOrder(targets) { target in
                (target, judge.verdict(on: await probe.probes(of: target)[0], expecting: .trust))
            } each: { target, judged in
                if let path = judged.verdict.path {
                    draft.add(path, port: Int(target.endpoint.port))
                } else {
                    console.problem(
                        "\(target): \(judged.finding)", judged.verdict.status,
                        members: [("target", .string(target.description))])
                }
            }
            guard console.status == .good else {
                return console.note("nothing is written: a policy is made of verified chains alone")
            }

            let hosts = JSON.array(targets.map { .string($0.description) })
            guard let path = arguments[.output] else {
                let lines = draft.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                return console.result(
                    lines.map(String.init), .object([("targets", hosts), ("policy", .string(draft.text))]))
            }
            do throws(NewFileError) {
                try writeNewFile(path, Array(draft.text.utf8))
            } catch {
                throw .invalidValue(.output, reason: "\(path): \(error)")
            }
            console.result(
                ["wrote \(path)"], .object([("targets", hosts), ("file", .string(path))]))
        })
}
