import PinctlTestPKI

private typealias Names = [TestCertificate.GeneralName]

// MARK: - Names

extension PathologicalChain {
    static let manyNames: [PathologicalChain] =
        [100, 1_000, 10_000].flatMap { count in
            [
                PathologicalChain("\(count) names, the last is the one", "accepted") {
                    try server(Names(count) { .dns("host\($0).example.test") }, asking: "host\(count - 1).example.test")
                },
                PathologicalChain("\(count) names, none is the one", "name-mismatch") {
                    try server(Names(count) { .dns("host\($0).example.test") }, asking: "host.example.test")
                },
                PathologicalChain("\(count) names of another kind", "name-mismatch") {
                    try server(Names(count) { .directory(TestName(.commonName("host\($0)"))) }, asking: "host0")
                },
            ]
        }
        + [
            PathologicalChain("1,000 names of 127 labels, the last is the one", "accepted") {
                try server(Names(1_000) { .dns($0 == 999 ? longHost : "x" + longHost.dropFirst()) }, asking: longHost)
            },
            PathologicalChain("1,000 wildcards over 126 labels", "name-mismatch") {
                try server(Names(1_000) { .dns("*.b" + longHost.dropFirst(3 + $0 % 2 * 2)) }, asking: longHost)
            },
        ]
        + [100, 1_000].map { count in
            PathologicalChain("an authority with a subject of \(count) attributes", "accepted") {
                let root = try TestCertificate.root("Root", key: key)
                let authority = try root.intermediate("Authority", key: key) {
                    $0.subject = longName(count)
                    $0.alternativeNames = Names(count) { .dns("host\($0).example.test") }
                }
                let leaf = try authority.leaf("api.example.test", key: key)
                return Claim(leaf: leaf, presented: [authority], anchors: [root])
            }
        }
        + [
            PathologicalChain("50 namesakes with a subject of 200 attributes", "accepted") {
                let (root, subject) = (try TestCertificate.root("Root"), longName(200))
                let authorities = try (0..<50).map { _ in
                    try root.intermediate("Authority") {
                        anonymous(&$0)
                        $0.subject = subject
                    }
                }
                let leaf = try authorities[49].leaf("api.example.test", key: key, adjusting: anonymous)
                return Claim(leaf: leaf, presented: authorities, anchors: [root])
            }
        ]

    /// 253 characters.
    private static let longHost = String(repeating: "a.", count: 126) + "b"

    private static func longName(_ count: Int) -> TestName {
        TestName(attributes: (0..<count).map { .organizationalUnit("  Unit  \($0) of a LONG name  ") })
    }

    private static func server(_ names: Names, asking name: String) throws -> Claim {
        let root = try TestCertificate.root("Root", key: key)
        let leaf = try root.leaf("first.example.test", key: key) { $0.alternativeNames = names }
        return Claim(leaf: leaf, anchors: [root], name: name)
    }
}

// MARK: - Name constraints

extension PathologicalChain {
    /// Chains whose CAs exclude subtrees, with leaf names that are all outside of them.
    static let constraints: [PathologicalChain] =
        [
            (1, 100, 100, "accepted"), (1, 400, 500, "accepted"), (10, 300, 300, "budget"), (1, 2_000, 2_000, "budget"),
        ].flatMap { (authorities, subtrees, names, verdict) in
            Constraint.all.map { constraint in
                PathologicalChain(
                    "\(authorities) times \(subtrees) constraints on \(names) names: \(constraint.kind)", verdict
                ) {
                    let root = try TestCertificate.root("Root", key: key)
                    var path = [root]
                    for number in 0..<authorities {
                        let authority = try path[number].intermediate("Authority \(number)", key: key) {
                            $0.excludedSubtrees = Names(subtrees, constraint.subtree)
                        }
                        path.append(authority)
                    }
                    let leaf = try path[authorities].leaf("api.example.test", key: key) {
                        $0.alternativeNames += Names(names, constraint.name)
                    }
                    return Claim(leaf: leaf, presented: path.dropFirst().reversed(), anchors: [root])
                }
            }
        }
        + [10, 40].map { count in
            PathologicalChain("\(count) namesakes with 400 constraints on 500 names", "budget") {
                let root = try TestCertificate.root("Root")
                let authorities = try (0..<count).map { _ in
                    try root.intermediate("Authority") {
                        anonymous(&$0)
                        $0.excludedSubtrees = Names(400, Constraint.all[0].subtree)
                    }
                }
                let leaf = try authorities[count - 1].leaf("api.example.test", key: key) {
                    anonymous(&$0)
                    $0.alternativeNames += Names(500, Constraint.all[0].name)
                }
                return Claim(leaf: leaf, presented: authorities, anchors: [root])
            }
        }

    /// Subtrees and names of one kind that have much in common and don't match.
    private struct Constraint: Sendable {
        let kind: String
        let subtree: @Sendable (Int) -> TestCertificate.GeneralName
        let name: @Sendable (Int) -> TestCertificate.GeneralName

        static let all = [
            Constraint(
                kind: "dNSName", subtree: { .dns("x\($0).example.test") }, name: { .dns("y\($0).example.test") }),
            Constraint(
                kind: "rfc822Name", subtree: { .email("x\($0)@example.test") },
                name: { .email("y\($0)@example.test") }),
            Constraint(
                kind: "uniformResourceIdentifier", subtree: { .uri("x\($0).example.test") },
                name: { .uri("https://y\($0).example.test/") }),
            Constraint(
                kind: "iPAddress",
                subtree: { .ip([10, UInt8($0 >> 8), UInt8($0 & 0xFF), 0, 255, 255, 255, 0]) },
                name: { .ip([11, UInt8($0 >> 8), UInt8($0 & 0xFF), 0]) }),
            Constraint(
                kind: "directoryName", subtree: { .directory(TestName(.country("DE"), .organization("x\($0)"))) },
                name: { .directory(TestName(.country("DE"), .organization("y\($0)"))) }),
        ]
    }
}

// MARK: - Policies

extension PathologicalChain {
    /// Chains whose CAs map each of their policies to each other one (CVE-2023-0464), or that have very many policies.
    static let policies: [PathologicalChain] =
        [(3, 2, "accepted"), (10, 2, "budget"), (10, 9, "budget"), (10, 30, "budget"), (1, 2_000, "budget")].flatMap {
            (authorities, count, verdict) in
            [false, true].map { isRequired in
                let which = isRequired ? "required" : "asked for by nobody"
                return PathologicalChain(
                    "\(authorities) times \(count) policies, mapped crosswise, \(which)", verdict
                ) {
                    let policies = (1...count).map { "1.2.3.\($0)" }
                    let mappings = policies.prefix(50).flatMap { one in policies.prefix(50).map { (one, $0) } }
                    let root = try TestCertificate.root("Root", key: key)
                    var path = [root]
                    for number in 0..<authorities {
                        let authority = try path[number].intermediate("Authority \(number)", key: key) {
                            $0.extensions = [.certificatePolicies(policies), .policyMappings(mappings)]
                            if isRequired, number == 0 { $0.extensions.append(.policyConstraints(requireExplicit: 0)) }
                        }
                        path.append(authority)
                    }
                    let leaf = try path[authorities].leaf("api.example.test", key: key) {
                        $0.extensions = [.certificatePolicies(policies)]
                    }
                    return Claim(leaf: leaf, presented: path.dropFirst().reversed(), anchors: [root])
                }
            }
        }
}

extension Names {
    fileprivate init(_ count: Int, _ name: (Int) -> TestCertificate.GeneralName) { self = (0..<count).map(name) }
}
