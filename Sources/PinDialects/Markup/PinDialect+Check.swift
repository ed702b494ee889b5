import CertificatePinning

extension PinDialect {
    /// Makes sure that a changed file means what the text of the policy alone means: what else stands in it can change
    /// that. `rules` chooses those of the file that are the policy's.
    func check(
        _ bytes: [UInt8], path: String, says text: String,
        choosing rules: ([CanonicalRule]) -> [CanonicalRule] = { $0 }
    ) throws(DialectWriteError) {
        do throws(PolicyFileError) {
            let expected = try read(Array(text.utf8), path: path).policy
            var found = try read(bytes, path: path).policy
            found.rules = rules(found.rules)
            guard let difference = expected.differences(in: found).first else { return }
            throw PolicyFileError(problems: [
                PolicyProblem(
                    location: PolicyLocation(path: path),
                    message: "what else stands in the file changes what the pins mean: \(difference), mend that first")
            ])
        } catch {
            throw DialectWriteError(error)
        }
    }
}
