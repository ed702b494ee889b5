import CertificatePinning

extension PinDialect {
    /// Checks that a changed file has the same meaning as the text of the policy alone, since other parts of the file
    /// can affect it.
    ///
    /// `rules` selects the rules of the file that belong to the policy.
    func check(
        _ bytes: [UInt8], path: String, says text: String,
        choosing rules: ([CanonicalRule]) -> [CanonicalRule] = { $0 }
    ) throws(DialectWriteError) {
        let expected: CanonicalPolicy
        do throws(PolicyFileError) { expected = try read(Array(text.utf8), path: path).policy } catch {
            throw DialectWriteError(error)
        }
        try check(bytes, path: path, says: expected, choosing: rules)
    }

    /// Checks that a changed file has the meaning of a policy. `host` is the one of a file that names none.
    func check(
        _ bytes: [UInt8], path: String, says expected: CanonicalPolicy, host: String? = nil,
        choosing rules: ([CanonicalRule]) -> [CanonicalRule] = { $0 }
    ) throws(DialectWriteError) {
        do throws(PolicyFileError) {
            var found = try read(bytes, path: path, host: host).policy
            found.rules = rules(found.rules)
            // mutant replaced-meaning: nil by ReplacingTests
            guard let difference = expected.differences(in: found).first else { return }
            throw PolicyFileError(problems: [
                PolicyProblem(
                    location: PolicyLocation(path: path),
                    message:
                        "other settings of the file change the meaning of the pins (\(difference)): fix those first")
            ])
        } catch {
            throw DialectWriteError(error)
        }
    }
}
