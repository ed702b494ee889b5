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
        do throws(PolicyFileError) {
            let expected = try read(Array(text.utf8), path: path).policy
            var found = try read(bytes, path: path).policy
            found.rules = rules(found.rules)
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
