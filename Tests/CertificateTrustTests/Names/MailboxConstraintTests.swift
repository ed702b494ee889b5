import CertificateTrust
import PinctlTestPKI
import Testing

/// Tests of RFC 5280, section 7.5: the local part of a mailbox is case-sensitive, and the host part isn't.
@Suite("Name constraints on mailboxes")
struct MailboxConstraintTests {
    static let matching = [
        ("user@example.test", "user@example.test"), ("user@EXAMPLE.test", "user@example.TEST"),
        ("User@example.test", "User@Example.Test"), ("example.test", "user@EXAMPLE.test"),
        ("EXAMPLE.test", "user@example.test"), (".EXAMPLE.test", "user@mail.example.TEST"),
    ]

    static let others = [
        ("user@example.test", "USER@example.test"), ("User@example.test", "user@example.test"),
        ("user@example.test", "user@example.org"), ("example.test", "user@mail.example.test"),
        (".example.test", "user@example.test"),
    ]

    /// Returns the verdict on a mailbox in the subjectAltName, or in the subject, under a constraint.
    private func verdict(
        _ constraint: String, _ mailbox: String, isExcluded: Bool, inSubject: Bool, _ policy: TrustPolicy
    ) throws -> String {
        let root = try TestCertificate.root("Root")
        let issuer = try root.intermediate("Intermediate") {
            if isExcluded {
                $0.excludedSubtrees = [.email(constraint)]
            } else {
                $0.permittedSubtrees = [.email(constraint)]
            }
        }
        let leaf = try issuer.leaf("api.example.test") {
            if inSubject {
                $0.subject = TestName(.init("1.2.840.113549.1.9.1", mailbox, tag: 0x16))
            } else {
                $0.alternativeNames.append(.email(mailbox))
            }
        }
        return try Claim(leaf: leaf, presented: [issuer], anchors: [root], policy: policy).verdict()
    }

    @Test("A mailbox constraint matches regardless of case in the host part", arguments: matching, [true, false])
    func match(row: (constraint: String, mailbox: String), inSubject: Bool) throws {
        for policy in [TrustPolicy.default, .strict] {
            let permitted = try verdict(row.constraint, row.mailbox, isExcluded: false, inSubject: inSubject, policy)
            #expect(permitted == "accepted")
            let excluded = try verdict(row.constraint, row.mailbox, isExcluded: true, inSubject: inSubject, policy)
            #expect(excluded == "name-constraints")
        }
    }

    @Test("A mailbox constraint doesn't match another local part or host", arguments: others, [true, false])
    func mismatch(row: (constraint: String, mailbox: String), inSubject: Bool) throws {
        for policy in [TrustPolicy.default, .strict] {
            let permitted = try verdict(row.constraint, row.mailbox, isExcluded: false, inSubject: inSubject, policy)
            #expect(permitted == "name-constraints")
            let excluded = try verdict(row.constraint, row.mailbox, isExcluded: true, inSubject: inSubject, policy)
            #expect(excluded == "accepted")
        }
    }
}
