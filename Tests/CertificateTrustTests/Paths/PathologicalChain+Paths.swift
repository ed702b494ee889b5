import PinctlTestPKI

// MARK: - Cycles

extension PathologicalChain {
    static let cycles: [PathologicalChain] =
        [2, 3, 9, 50].map { count in
            PathologicalChain("a ring of \(count) authorities", count > 10 ? "path-length" : "unknown-issuer") {
                let ring = try (0..<count).map { try TestCertificate.root("Authority \($0)") }
                let crosses = try ring.indices.map { try ring[($0 + 1) % count].crossSign(ring[$0]) }
                let leaf = try ring[0].leaf("api.example.test", key: key)
                return Claim(leaf: leaf, presented: crosses, anchors: [try .root("Root")])
            }
        }
        + [3, 5, 9].flatMap { count in
            [
                PathologicalChain("\(count) authorities that all sign each other", "unknown-issuer") {
                    let web = try Web(count)
                    return Claim(leaf: web.leaf, presented: web.crosses, anchors: [try .root("Root")])
                },
                PathologicalChain("\(count) authorities that all sign each other, and one is trusted", "accepted") {
                    let web = try Web(count)
                    return Claim(leaf: web.leaf, presented: web.crosses, anchors: web.authorities.suffix(1))
                },
                PathologicalChain("\(count) namesakes that all sign each other", "unknown-issuer") {
                    let web = try Web(count, named: { _ in "Authority" })
                    return Claim(leaf: web.leaf, presented: web.crosses, anchors: [try .root("Root")])
                },
            ]
        }
        + [10, 40, 99].map { count in
            PathologicalChain("\(count) self-issued certificates of one key", "unknown-issuer") {
                let authority = try TestCertificate.root("Authority")
                let reissues = try (0..<count).map { number in
                    try authority.crossSign(authority) { $0.serial = [0x40, UInt8(number)] }
                }
                let leaf = try authority.leaf("api.example.test", key: key)
                return Claim(leaf: leaf, presented: reissues, anchors: [try .root("Root")])
            }
        }

    /// CAs that each certify all of them, including themselves.
    private struct Web {
        let authorities: [TestCertificate]
        let crosses: [TestCertificate]
        let leaf: TestCertificate

        init(_ count: Int, named name: (Int) -> String = { "Authority \($0)" }) throws {
            let authorities = try (0..<count).map { try TestCertificate.root(name($0), adjusting: anonymous) }
            crosses = try authorities.flatMap { issuer in
                try authorities.map { try issuer.crossSign($0, adjusting: anonymous) }
            }
            leaf = try authorities[0].leaf("api.example.test", key: key, adjusting: anonymous)
            self.authorities = authorities
        }
    }
}

// MARK: - Ladders

extension PathologicalChain {
    static let ladders: [PathologicalChain] =
        [(10, "accepted"), (11, "path-length"), (12, "path-length"), (30, "path-length"), (99, "path-length")].map {
            (count, verdict) in
            PathologicalChain("\(count) authorities one below the other", verdict) {
                let ladder = try rungs(count, copies: 1)
                return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.root])
            }
        }
        + [2, 5, 9].flatMap { copies in
            [
                PathologicalChain("ten authorities, each \(copies) times, to a root", "accepted") {
                    let ladder = try rungs(10, copies: copies)
                    return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.root])
                },
                PathologicalChain("ten authorities, each \(copies) times, to an expired root", "expired") {
                    let ladder = try rungs(10, copies: copies)
                    let expired = try TestCertificate.root("Root", key: ladder.root.key) { $0.notAfter = 1_790_000_000 }
                    return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [expired])
                },
                PathologicalChain("ten authorities, each \(copies) times, to a root's namesake", "budget") {
                    let ladder = try rungs(10, copies: copies)
                    let namesake = try TestCertificate.root("Root", adjusting: anonymous)
                    return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [namesake])
                },
                PathologicalChain("ten authorities, each \(copies) times, to nowhere", "unknown-issuer") {
                    let ladder = try rungs(10, copies: copies)
                    return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [try .root("Other")])
                },
            ]
        }
        + ["secp384r1", "brainpoolP384r1", "brainpoolP512r1"].map { curve in
            PathologicalChain("ten authorities with keys on \(curve), each twice", "accepted") {
                let ladder = try rungs(10, copies: 2, keys: .curve(curve))
                return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.root])
            }
        }
        + [
            PathologicalChain("98 unrelated", "accepted") {
                let ladder = try rungs(1, copies: 1)
                let unrelated = try (0..<98).map { try TestCertificate.root("Unrelated \($0)", key: key) }
                return Claim(leaf: ladder.leaf, presented: unrelated + ladder.authorities, anchors: [ladder.root])
            },
            PathologicalChain("one authority 99 times", "accepted") {
                let ladder = try rungs(1, copies: 1)
                let presented = Array(repeating: ladder.authorities[0], count: 99)
                return Claim(leaf: ladder.leaf, presented: presented, anchors: [ladder.root])
            },
        ]

    /// Returns a root, a series of CA certificates each issued `copies` times by the one before, and a leaf under the
    /// last.
    private static func rungs(
        _ count: Int, copies: Int, keys: TestKey.Kind = .p256
    ) throws -> (root: TestCertificate, authorities: [TestCertificate], leaf: TestCertificate) {
        let root = try TestCertificate.root("Root", key: TestKey(keys), adjusting: anonymous)
        var (above, authorities) = (root, [TestCertificate]())
        for level in 0..<count {
            let authority = try above.intermediate("Level \(level)", key: TestKey(keys), adjusting: anonymous)
            authorities.append(authority)
            for copy in 1..<copies {
                authorities.append(
                    try above.crossSign(authority) {
                        $0.hasAuthorityKeyIdentifier = false
                        $0.serial = [UInt8(copy)]
                    })
            }
            above = authority
        }
        return (root, authorities, try above.leaf("api.example.test", key: key, adjusting: anonymous))
    }
}
