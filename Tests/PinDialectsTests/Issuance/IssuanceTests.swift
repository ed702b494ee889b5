import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlTestPKI
import Testing

@Suite("The configuration of programs that renew certificates")
struct IssuanceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let title: String
        var path = "file"
        let text: String
        /// For each renewal, its names, whether it keeps the key, and its line.
        let renewals: [String]

        var testDescription: String { title }

        init(_ title: String, path: String = "file", _ text: String, _ renewals: String...) {
            self.title = title
            self.path = path
            self.text = text
            self.renewals = renewals
        }
    }

    static let certbot = """
        # renew_before_expiry = 30 days
        version = 2.1.0
        cert = /etc/letsencrypt/live/api.test/cert.pem
        privkey = /etc/letsencrypt/live/api.test/privkey.pem

        # Options used in the renewal process
        [renewalparams]
        account = 4c372fb81fceefb2cb6ec9299220f32a
        authenticator = webroot
        webroot_path = /var/www,
        key_type = ecdsa

        """

    /// The certificate in the file above. No other one can be read.
    private static func certificate(_ file: String) throws(UnreadableCertificate) -> X509Certificate {
        guard file == "/etc/letsencrypt/live/api.test/cert.pem" else { throw UnreadableCertificate("there is none") }
        return try issued("api.test")
    }

    private static let keys = Result { try (0...3).map { _ in try TestKey() } }

    /// A certificate with the given names, whose key has a number or is a new one of another kind.
    private static func issued(
        _ names: String..., kind: TestKey.Kind = .p256, key number: Int = 0
    ) throws(UnreadableCertificate) -> X509Certificate {
        do {
            let key = kind == .p256 ? try keys.get()[number] : try TestKey(kind)
            return try X509Certificate(derBytes: TestCertificate.selfSigned(.server(names), key: key).derBytes)
        } catch {
            throw UnreadableCertificate("\(error)")
        }
    }

    static let rows: [Row] = [
        Row("certbot without the setting", path: "renewal/api.test.conf", certbot, "api.test changes 7"),
        Row(
            "certbot with reuse_key", path: "renewal/api.test.conf", certbot + "reuse_key = True\n",
            "api.test keeps 12"),
        Row(
            "certbot with reuse_key in capitals and a comment", path: "api.test.conf",
            certbot + "reuse_key = TRUE # pinned\n", "api.test keeps 12"),
        Row(
            "certbot with reuse_key in quotes", path: "api.test.conf", certbot + "reuse_key = \"true\"\n",
            "api.test keeps 12"),
        Row(
            "certbot with reuse_key = False", path: "renewal/api.test.conf", certbot + "reuse_key = False\r\n",
            "api.test changes 12"),
        Row(
            "certbot with reuse_key in another section", path: "renewal/api.test.conf",
            certbot.replacing("cert.pem", with: "gone.pem") + "[[webroot_map]]\nwww.test = /srv\nreuse_key = True\n",
            "www.test,reuse_key,api.test changes 7"),
        Row(
            "certbot with a section that is indented and has a comment", path: "api.test.conf",
            "cert = /etc/letsencrypt/live/api.test/cert.pem\n  [renewalparams] # kept\n  reuse_key = True\n",
            "api.test keeps 3"),
        Row(
            "certbot with a comment instead of the setting", path: "api.test.conf", certbot + "# reuse_key = True\n",
            "api.test changes 7"),
        Row(
            "certbot with blanks and quotes in the header of the section", path: "api.test.conf",
            "cert = /etc/letsencrypt/live/api.test/cert.pem\n[ \"renewalparams\" ]\nreuse_key = False\n",
            "api.test changes 3"),
        Row(
            "acme.sh with lines that a shell reads too",
            "Le_Domain='api.test'\n  Le_Alt='www.test'\nexport Le_ForceNewDomainKey='1'\n",
            "api.test,www.test changes 3"),
        Row(
            "acme.sh without the setting", "Le_Domain='api.test'\nLe_Alt='no'\nLe_Webroot='/var/www'\n",
            "api.test keeps 1"),
        Row(
            "acme.sh with Le_ForceNewDomainKey",
            "Le_Domain='api.test'\nLe_Alt='www.test,*.w.test'\nLe_ForceNewDomainKey='1'\n",
            "api.test,www.test,*.w.test changes 3"),
        Row(
            "acme.sh with Le_ForceNewDomainKey off", "Le_Domain=api.test\nLe_ForceNewDomainKey='0'\n",
            "api.test keeps 2"),
        Row(
            "acme.sh with the setting twice, of which the last counts",
            "Le_Domain='api.test'\nLe_ForceNewDomainKey='1'\nLe_ForceNewDomainKey=''\n", "api.test keeps 3"),
        Row(
            "A Certificate with Never",
            """
            apiVersion: cert-manager.io/v1
            kind: Certificate
            metadata: {name: api, namespace: web}
            spec:
              secretName: api-tls
              privateKey:
                algorithm: ECDSA
                size: 256
                rotationPolicy: Never
              dnsNames: [api.test, "*.api.test"]
              issuerRef: {name: ca, kind: ClusterIssuer}

            """, "api.test,*.api.test keeps 9"),
        Row(
            "Several documents, with Always and without a policy",
            """
            # web
            apiVersion: v1
            kind: Service
            metadata: {name: web}
            ---
            apiVersion: cert-manager.io/v1
            kind: Certificate
            spec:
              dnsNames:
              - a.test
              privateKey:
                rotationPolicy: Always
            --- # next
            apiVersion: cert-manager.io/v1
            kind: Certificate
            spec:
              commonName: b.test
            ---
            """, "a.test changes 12", "b.test changes 17"),
        Row(
            "A Certificate with blanks before the colon, and a name with a dot at the end",
            "apiVersion : cert-manager.io/v1\n'kind' : Certificate\nspec: {dnsNames: [api.test.]}\n",
            "api.test changes 3"),
        Row(
            "A CertificateList, and a list in a list",
            """
            kind: CertificateList
            items:
            - apiVersion: cert-manager.io/v1
              kind: Certificate
              spec: {dnsNames: [a.test]}
            - kind: List
              items:
              - apiVersion: cert-manager.io/v1
                kind: Certificate
                spec: {dnsNames: [b.test]}
            """, "a.test changes 5", "b.test changes 10"),
        Row(
            "A list in JSON",
            """
            {"kind": "List", "items": [{"kind": "Certificate", "apiVersion": "cert-manager.io/v1",
              "spec": {"dnsNames": ["a.test"], "privateKey": {"rotationPolicy": "Never"}}}]}
            """, "a.test keeps 2"),
        Row(
            "A Certificate of another group, beside an Ingress with annotations",
            """
            apiVersion: networking.internal.knative.dev/v1alpha1
            kind: Certificate
            spec: {dnsNames: [a.test]}
            ---
            kind: Ingress
            metadata:
              annotations:
                cert-manager.io/cluster-issuer: ca
                cert-manager.io/private-key-rotation-policy: Never
            spec:
              tls:
              - hosts: [b.test]
            ---
            kind: Gateway
            metadata:
              annotations:
                cert-manager.io/issuer: ca
            spec:
              listeners:
              - hostname: c.test
            ---
            kind: Ingress
            metadata: {annotations: {a: b}}
            spec: {tls: [{hosts: [d.test]}]}
            """, "b.test keeps 9", "c.test changes 17"),
        Row(
            "lego's file", path: ".lego.yml",
            """
            challenges:
              cf: {dns: {provider: cloudflare}}
            certificates:
              api:
                domains: [api.test, '*.test']
                renew:
                  reuseKey: true
              web:
                domains:
                  - web.test
                renew:
                  days: 9
              mail:
                domains: [mail.test]
              own:
                csr: own.csr

            """, "api.test,*.test keeps 7", "web.test changes 12", "mail.test changes 13"),
        Row(
            "Caddy's JSON with policies, of which the first that matches counts", path: "caddy.json",
            """
            {"apps": {
              "http": {"servers": {"srv0": {"listen": [":443"], "routes": [
                {"match": [{"host": ["A.test", "b.test", "x.w.test"]}], "handle": []}]}}},
              "tls": {"certificates": {"automate": ["c.test"]}, "automation": {"policies": [
                {"subjects": ["a.test", "*.w.test"],
                 "reuse_private_keys": true},
                {"subjects": ["b.test"], "reuse_private_keys": false},
                {"key_type": "p256"}]}}}}
            """, "a.test,*.w.test,x.w.test keeps 6", "b.test changes 7", "c.test changes 8"),
        Row(
            "Caddy's JSON without a policy, with a program that brings certificates, and with files", path: "c.json",
            """
            {"apps": {"http": {"servers": {"s": {"routes": [{"match": [{"host": ["a.test", "{env.SITE}"]}]}]}}},
            "tls": {"certificates": {"load_files": [{"certificate": "a.pem", "key": "a.key"}], "automate": ["b.test"]},
            "automation": {"policies": [{"subjects": ["b.test"],
            "get_certificate": [{"via": "http"}]}]}}}}
            """, "b.test unknown 4", "a.test unknown 2"),
        Row(
            "Caddy's JSON without automation", path: "c.json",
            """
            {"apps": {"http": {"servers": {
            "a": {"listen": [":80"], "routes": [{"match": [{"host": ["a.test"]}]}]},
            "b": {"automatic_https": {"disable": true}, "routes": [{"match": [{"host": ["b.test"]}]}]},
            "c": {"automatic_https": {"disable_certificates": true}, "routes": [{"match": [{"host": ["c.test"]}]}]},
            "d": {"automatic_https": {"skip": ["d.test"]}, "routes": [{"match": [{"host": ["d.test", "e.test"]}]}]}
            }}}}
            """, "e.test changes 1"),
    ]

    /// A `cli.ini`, and what it makes of a file without `reuse_key` and of one with it.
    static let optionFiles: [(text: String, plain: String, kept: String)] = [
        ("", "changes x.conf 7", "keeps x.conf 12"),
        ("# reuse-key = True\nemail = a@b.test\nrsa-key-size = 4096\n", "changes x.conf 7", "keeps x.conf 12"),
        ("reuse-key = True\n", "keeps cli.ini 1", "keeps cli.ini 1"),
        ("email = a@b.test\r\nreuse-key: yes # pinned\r\n", "keeps cli.ini 2", "keeps cli.ini 2"),
        ("--reuse-key\n", "keeps cli.ini 1", "keeps cli.ini 1"),
        ("reuse-key = false\n", "changes x.conf 7", "keeps x.conf 12"),
        ("new-key = True\n", "changes cli.ini 1", "changes cli.ini 1"),
        ("reuse-key = True\nnew-key = \"True\"\n", "changes cli.ini 2", "changes cli.ini 2"),
        ("no-reuse-key = 1\n", "changes cli.ini 1", "changes cli.ini 1"),
    ]

    @Test("An option in cli.ini replaces that of certbot's certificate", arguments: optionFiles)
    func cliOptions(text: String, plain: String, kept: String) throws {
        for (file, expected) in [(Self.certbot, plain), (Self.certbot + "reuse_key = True\n", kept)] {
            let found = try IssuanceProgram.certbot.read(
                Array(file.utf8), path: "x.conf", options: ("cli.ini", Array(text.utf8)), certificate: Self.certificate)
            let effect = if case .keepsKey = found[0].effect { "keeps" } else { "changes" }
            #expect("\(effect) \(found[0].location.path) \(found[0].location.line)" == expected)
        }
    }

    /// Lines of `cli.ini` and of a certificate's own file that reuses a key, the key, and the place of what stops
    /// certbot.
    static let conflicts: [(options: String?, own: String, key: TestKey.Kind, expected: String?)] = [
        ("key-type = ecdsa\n", "key_type = rsa\nrsa_key_size = 2048\n", .rsa(bits: 2048), "cli.ini 1"),
        ("key-type = rsa\n", "key_type = ecdsa\n", .p256, "cli.ini 1"),
        ("email = a@b.test\nrsa-key-size: 4096\n", "key_type = rsa\n", .rsa(bits: 2048), "cli.ini 2"),
        ("--elliptic-curve = \"secp384r1\"\n", "key_type = ecdsa\n", .p256, "cli.ini 1"),
        ("elliptic-curve = secp256r1\n", "key_type = ecdsa\n", .p384, "cli.ini 1"),
        ("reuse-key\nkey-type = rsa\n", "key_type = ecdsa\n", .p256, "cli.ini 2"),
        (nil, "key_type = rsa\n", .p256, "x.conf 4"),
        (nil, "key_type = rsa\nrsa_key_size = 4096\n", .rsa(bits: 2048), "x.conf 5"),
        (nil, "key_type = rsa\n", .rsa(bits: 4096), "x.conf 2"),
        (nil, "key_type = ecdsa\nelliptic_curve = secp521r1\n", .p256, "x.conf 5"),
        (nil, "key_type = rsa\n", .ed25519, "x.conf 4"),
        // Nothing that differs, or that is compared.
        ("key-type = RSA # ours\nelliptic-curve = secp384r1\n", "", .rsa(bits: 2048), nil),
        ("rsa-key-size = 4096\n", "key_type = ecdsa\n", .p256, nil),
        ("rsa-key-size = 4096\n", "key_type = rsa\n", .rsa(bits: 4096), nil),
        ("key-type = ecdsa\nnew-key = True\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        ("key-type = ecdsa\nno-reuse-key = True\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        ("; key-type = ecdsa\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        (nil, "key_type = ecdsa\nelliptic_curve = SECP521R1\n", .p521, nil),
        (nil, "", .p256, nil),
    ]

    @Test("A setting for keys that the certificate's key doesn't have stops certbot while it reuses the key")
    func conflict() throws {
        for (options, own, key, expected) in Self.conflicts {
            let text = "cert = /c.pem\n[renewalparams]\nreuse_key = True\n" + own
            let found = try IssuanceProgram.certbot.read(
                Array(text.utf8), path: "x.conf", options: options.map { ("cli.ini", Array($0.utf8)) }
            ) { _ throws(UnreadableCertificate) in try Self.issued("a.test", kind: key) }
            try #require(found.count == 1)
            #expect((found[0].effect == .stops) == (expected != nil), "\(options ?? "") \(own) \(key)")
            if let expected {
                #expect("\(found[0].location.path) \(found[0].location.line)" == expected, "\(options ?? "") \(own)")
            }
        }
    }

    @Test("Options are compared only if certbot reuses the key")
    func noReuse() throws {
        let found = try IssuanceProgram.certbot.read(
            Array("cert = /c.pem\n[renewalparams]\nkey_type = rsa\n".utf8), path: "x.conf",
            options: ("cli.ini", Array("key-type = ecdsa\n".utf8))
        ) { _ throws(UnreadableCertificate) in try Self.issued("a.test", kind: .rsa2048) }
        #expect(found.map(\.effect) == [.changesKey])
    }

    @Test("In a copy of certbot's directory, the certificate is read from the copy")
    func copied() throws {
        var files: [String] = []
        let found = try IssuanceProgram.certbot.read(
            Array((Self.certbot + "reuse_key = True\n").utf8), path: "backup/renewal/api.test.conf"
        ) { file throws(UnreadableCertificate) in
            files.append(file)
            guard file == "backup/live/api.test/cert.pem" else { throw UnreadableCertificate("there is none") }
            return try Self.issued("copy.test")
        }
        #expect(found.flatMap(\.hosts).map(\.host) == ["copy.test"])
        #expect(files.prefix(2) == ["/etc/letsencrypt/live/api.test/cert.pem", "backup/live/api.test/cert.pem"])
    }

    @Test("cli.ini is beside the directory of certbot's certificates, and a value that certbot refuses is an error")
    func optionsFile() {
        #expect(
            IssuanceProgram.certbot.optionsPath(of: "/etc/letsencrypt/renewal/a.conf") == "/etc/letsencrypt/cli.ini")
        #expect(IssuanceProgram.certbot.optionsPath(of: "renewal/a.conf") == "cli.ini")
        #expect(IssuanceProgram.certbot.optionsPath(of: "/renewal/a.conf") == "/cli.ini")
        for path in ["a.conf", "other/a.conf", "renewal/inner/a.conf"] {
            #expect(IssuanceProgram.certbot.optionsPath(of: path) == nil)
        }
        #expect(IssuanceProgram.caddy.optionsPath(of: "renewal/a.conf") == nil)
        for text in ["reuse-key = maybe\n", "new-key = \u{0}\n", "reuse_key = true\n", "key_type = rsa\n"] {
            #expect(throws: PolicyFileError.self) {
                try IssuanceProgram.certbot.read(
                    Array(Self.certbot.utf8), path: "x.conf", options: ("cli.ini", Array(text.utf8)),
                    certificate: Self.certificate)
            }
        }
    }

    @Test("XI7: Each program's files say whether a renewal keeps the key, and where", arguments: rows)
    func renewals(row: Row) throws {
        let bytes = Array(row.text.utf8)
        let program = try #require(IssuanceProgram(recognizing: bytes))
        let found = try program.read(bytes, path: row.path, certificate: Self.certificate).map { renewal in
            let names = renewal.hosts.map { ($0.scope == .oneLabelBelow ? "*." : "") + $0.host }
            let effect =
                switch renewal.effect {
                case .keepsKey: "keeps"
                case .changesKey: "changes"
                case .stops: "stops"
                case .unknown: "unknown"
                }
            return "\(names.joined(separator: ",")) \(effect) \(renewal.location.line)"
        }
        #expect(found == row.renewals)
    }

    @Test("The hosts of certbot's certificate replace those that are guessed")
    func certificate() throws {
        let bytes = Array((Self.certbot + "[[webroot_map]]\nold.test = /srv\n").utf8)
        let found = try IssuanceProgram.certbot.read(bytes, path: "x.conf") { file throws(UnreadableCertificate) in
            #expect(["cert.pem", "fullchain.pem"].map { "/etc/letsencrypt/live/api.test/\($0)" }.contains(file))
            guard file.hasSuffix("/cert.pem") else { throw UnreadableCertificate("there is none") }
            return try Self.issued("A.test", "*.b.test")
        }
        #expect(found.map(\.hosts) == [[HostPattern("a.test", .exact), HostPattern("b.test", .oneLabelBelow)]])
    }

    static let refused: [(path: String, text: String, message: String)] = [
        (
            "renewal/a.conf", "version = 2.1.0\ncert = /gone.pem\n[renewalparams]\n",
            "renewal/a.conf:2:1: error: the hosts of this certificate aren't known, because there is none: run"
        ),
        (
            "renewal/a.conf", "[renewalparams]\n",
            "renewal/a.conf:1:1: error: the hosts of this certificate aren't known, because the file names no "
                + "certificate"
        ),
        ("a.conf", certbot + "reuse_key = yes\n", "a.conf:12:1: error: reuse_key is \"yes\", which certbot refuses"),
        (
            "a.conf", certbot + "reuse_key = True\nreuse_key = False\n",
            "a.conf:13:1: error: \"reuse_key\" appears twice"
        ),
        ("a.conf", certbot + "reuse_key = '''\nTrue'''\n", "a.conf:12:1: error: a value over several lines"),
        ("a.conf", certbot + "reuse_key\n", "a.conf:12:1: error: expected a key and a value"),
        ("a.conf", "Le_Domain='a.test'\nLe_ForceNewDomainKey=$X\n", "a.conf:2:1: error: unsupported value"),
        (
            "a.yaml",
            "apiVersion: cert-manager.io/v1\nkind: Certificate\nspec: {privateKey: {rotationPolicy: never}}\n",
            "a.yaml:3:37: error: rotationPolicy is \"never\", which cert-manager refuses"
        ),
        ("a.yaml", "kind: {{ x }}\n# cert-manager.io/\n", "a.yaml:1:"),
        ("a.yml", "certificates:\n  a:\n    renew:\n      reuseKey: 1\n", "a.yml:4:17: error: reuseKey is \"1\""),
        ("a.yml", "certificates:\n  a: *x\n", "a.yml:2:6: error: the alias"),
        (
            "a.conf", "Le_Domain='a.test\(String(repeating: ",a.test", count: 1000))'\n",
            "a.conf:1:1: error: more than 1000"
        ),
        (
            "a.conf", "[renewalparams]\n[[webroot_map]]\n" + String(repeating: "a.test = /srv\n", count: 1001),
            "a.conf:1003:1: error: more than 1000"
        ),
        ("a.json", "{\"apps\": {\n", "a.json:2:1: error: "),
        (
            "a.json",
            "{\"apps\":{\"tls\":{\"automation\":{\"policies\":[{\"subjects\":[\"a.test\"],\n"
                + "\"reuse_private_keys\": 1}]}}}}",
            "a.json:2:23: error: reuse_private_keys is a number, which Caddy refuses"
        ),
        (
            "a.json",
            "{\"apps\": {\"tls\": {\"certificates\": {\"automate\": ["
                + (0...1000).map { "\"a\($0).test\"" }.joined(separator: ",") + "]}}}}",
            "a.json: error: more than 1000 names"
        ),
        (
            "a.yml", "certificates:\n  a:\n    domains: [straße.test]\n",
            "a.yml:2:3: error: the hostname \"straße.test\" can't be compared"
        ),
        ("a.yml", "certificates:\n  a:\n    domains: [bu\u{308}cher.test]\n", "a.yml:2:3: error: the hostname "),
        ("a.yml", "certificates:\n  a:\n    domains: [a。test]\n", "a.yml:2:3: error: the hostname "),
        ("a.conf", "Le_Domain='a.test'\n\u{FF}", ""),
    ]

    @Test("XI7: A file that its program refuses, or that isn't supported, is an error", arguments: refused)
    func refuses(path: String, text: String, message: String) throws {
        // The last row isn't UTF-8.
        let bytes =
            text.unicodeScalars.contains("\u{FF}") ? Array("Le_Domain='a.test'\n".utf8) + [0xFF] : Array(text.utf8)
        let program = try #require(IssuanceProgram(recognizing: bytes))
        let error = #expect(throws: PolicyFileError.self) {
            try program.read(bytes, path: path, certificate: Self.certificate)
        }
        #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
    }

    @Test(
        "XI7: What runs lego, and a Caddyfile, are refused with the name of what is read instead",
        arguments: [
            ("a.sh", "#!/bin/sh\nlego -d a.test renew --reuse-key\n"), ("a.service", "ExecStart=/usr/bin/lego run\n"),
            ("a.yaml", "command: [\"lego\", \"renew\"]\n"), ("a", "X=$(lego renew)\n"),
            ("a", "'/opt/lego/lego' run\n"),
            ("a", "sh -c 'lego\trenew'\n"), ("a", "image: goacme/lego\n"), ("/etc/caddy/Caddyfile", ""),
            ("sites/a.caddy", "a.test {\n}\n"), ("a.CADDYFILE", ""), ("Caddyfile.prod", "a.test\n"),
        ])
    func refusals(path: String, text: String) {
        #expect(IssuanceProgram(recognizing: Array(text.utf8)) == nil)
        let reason = IssuanceProgram.refusal(of: Array(text.utf8), path: path)
        #expect(reason?.contains(path.lowercased().contains("caddy") ? "caddy adapt" : ".lego.yml") == true)
    }

    @Test(
        "A file that has nothing to do with renewals isn't refused",
        arguments: [
            ("a.txt", "legolas and lego-like bricks\n"), ("a.json", "{\"url\": \"https://lego.test/\"}"),
            ("caddy.log", ""),
            ("a", "my_lego renew\n"), ("lego", "x\n"), ("a", ""),
        ])
    func noRefusal(path: String, text: String) {
        #expect(IssuanceProgram.refusal(of: Array(text.utf8), path: path) == nil)
    }

    /// The keys in certbot's archive, oldest first, and the effect with `reuse_key` and without it.
    static let archives: [(keys: [Int], kept: KeyRenewal.Effect)] = [
        ([], .keepsKey), ([1], .keepsKey), ([1, 1], .keepsKey), ([1, 1, 1], .keepsKey),
        // One new key may be planned.
        ([1, 2], .keepsKey), ([1, 1, 2], .keepsKey), ([1, 2, 2], .keepsKey), ([1, 2, 3, 3], .keepsKey),
        // The key of an earlier certificate that was put back.
        ([1, 2, 1], .keepsKey),
        ([1, 2, 3], .changesKey), ([1, 1, 1, 2, 3], .changesKey), ([3, 3, 3, 1, 2], .changesKey),
    ]

    @Test("certbot's archive counts against settings that keep the key, and never for those that don't")
    func archive() throws {
        for (keys, kept) in Self.archives {
            for (own, expected) in [("reuse_key = True\n", kept), ("reuse_key = False\n", .changesKey)] {
                let text = "archive_dir = /etc/letsencrypt/archive/api.test\n" + Self.certbot + own
                let found = try IssuanceProgram.certbot.read(
                    Array(text.utf8), path: "x.conf",
                    archive: { directory throws(UnreadableCertificate) in
                        #expect(directory == "/etc/letsencrypt/archive/api.test")
                        return try keys.map { number throws(UnreadableCertificate) in
                            try Self.issued("api.test", key: number)
                        }
                    }, certificate: Self.certificate)
                #expect(found.map(\.effect) == [expected], "\(keys) \(own)")
                guard own.contains("True"), expected == .changesKey else { continue }
                #expect(found[0].location.description == "/etc/letsencrypt/archive/api.test")
                #expect(found[0].setting == "the last 3 certificates have 3 different keys, against reuse_key = True")
            }
        }
    }

    @Test("certbot's archive may be beside the directory of a copy, and an unreadable certificate in it is an error")
    func archivePlaces() throws {
        func read(_ text: String, _ directories: inout [String]) throws -> [KeyRenewal] {
            var seen: [String] = []
            defer { directories = seen }
            return try IssuanceProgram.certbot.read(
                Array(text.utf8), path: "copy/renewal/api.test.conf",
                archive: { directory throws(UnreadableCertificate) in
                    seen.append(directory)
                    guard directory.hasPrefix("copy/") else { return [] }
                    return try [1, 2, 3].map { number throws(UnreadableCertificate) in
                        try Self.issued("api.test", key: number)
                    }
                }, certificate: Self.certificate)
        }
        var directories: [String] = []
        let kept = Self.certbot + "reuse_key = True\n"
        let named = try read("archive_dir = /var/le/archive/other\n" + kept, &directories)
        #expect(directories == ["/var/le/archive/other", "copy/archive/other"])
        #expect(named.map(\.effect) == [.changesKey])
        #expect(try read(kept, &directories).map(\.effect) == [.changesKey])
        #expect(directories == ["copy/archive/api.test"])
        let error = #expect(throws: PolicyFileError.self) {
            try IssuanceProgram.certbot.read(
                Array("archive_dir = /a\n\(kept)".utf8), path: "x.conf",
                archive: { _ throws(UnreadableCertificate) in throw UnreadableCertificate("cert2.pem is empty") },
                certificate: Self.certificate)
        }
        #expect(
            error?.description.hasPrefix(
                "x.conf:1:1: error: the earlier certificates aren't known, because cert2.pem is empty: ") == true)
    }

    @Test(
        "Other files aren't recognized",
        arguments: [
            "", "server {\n  listen 443 ssl;\n}\n", "-----BEGIN CERTIFICATE-----\nMII\n", "kind: Certificate\n",
            "lego is a client\n", "{ \"version\": 1 }\n", "apiVersion: v1\nkind: Secret\n",
        ])
    func unrecognized(text: String) {
        #expect(IssuanceProgram(recognizing: Array(text.utf8)) == nil)
    }
}

extension IssuanceProgram {
    /// Reads a file whose certificates have no archive.
    fileprivate func read(
        _ bytes: [UInt8], path: String, options: (path: String, bytes: [UInt8])? = nil,
        certificate: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        try read(bytes, path: path, options: options, archive: { _ in [] }, certificate: certificate)
    }
}
