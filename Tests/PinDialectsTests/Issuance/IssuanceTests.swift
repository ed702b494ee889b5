import CertificatePinning
import CertificateTrust
import PinDialects
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
    private static func certificate(_ file: String) throws(UnreadableCertificate) -> IssuedCertificate {
        guard file == "/etc/letsencrypt/live/api.test/cert.pem" else { throw UnreadableCertificate("there is none") }
        return IssuedCertificate(names: ["api.test"], key: .ellipticCurve("P-256"))
    }

    private static func caddy(_ site: String, options: String = "") -> String { options + site }

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
            "lego in a script",
            "#!/bin/sh\nlego --email a@b -d api.test -d www.test --http run\nlego --email a@b \\\n  -d api.test,www.test --http renew --reuse-key\n",
            "api.test,www.test keeps 3"),
        Row(
            "lego in a crontab", "0 3 * * * root /usr/bin/lego --domains=api.test --http renew && nginx -s reload\n",
            "api.test changes 1"),
        Row(
            "lego 5 in a unit", "[Service]\nExecStart=/usr/bin/lego run --http -d 'api.test'\n", "api.test changes 2"),
        Row(
            "lego with one dash, two, and an equals sign",
            "lego -domains a.test renew -reuse-key\nlego --d=b.test renew --reuse-key=true\nlego -d=c.test renew\n",
            "a.test keeps 1", "b.test keeps 2", "c.test changes 3"),
        Row(
            "lego with a flag that a later one revokes", "lego -d a.test renew --reuse-key --reuse-key=false\n",
            "a.test changes 1"),
        Row(
            "lego beside signs of the shell without blanks",
            "(lego -d a.test renew)&&x --reuse-key\nlego -d b.test renew>/dev/null 2>&1\n"
                + "y=$(lego -d c.test renew|x --reuse-key)\nlego -d d.test --email $(m) renew 2>&1 --reuse-key\n",
            "a.test changes 1", "b.test changes 2", "c.test changes 3", "d.test keeps 4"),
        Row(
            "lego in quotes for a shell",
            "0 3 * * * root sh -c 'lego -d a.test renew'\nsh -c \"lego -d \\\"b.test\\\" renew --reuse-key\"\n"
                + "bash -lc 'x && lego -d c.test renew && y' --reuse-key\nsu -c \"sh -c 'lego -d d.test renew'\"\n"
                + "command: [\"sh\", \"-c\", \"lego -d e.test renew\"]\n",
            "a.test changes 1", "b.test keeps 2", "c.test changes 3", "d.test changes 4", "e.test changes 5"),
        Row(
            "lego in other quotes",
            "ssh a \"lego -d a.test renew\"\nlego -d a.test renew --reuse-key\necho \"lego renew failed\"\n"
                + "x [\"sh\",\"-c\",\"lego -d b.test renew\"]\nX=\"lego -d c.test renew --reuse-key\"\n"
                + "echo it\\'s; lego -d d.test renew\n",
            "a.test unknown 1", "a.test keeps 2", "b.test changes 4", "d.test changes 6"),
        Row(
            "lego in quotes for a program that isn't a shell",
            "lego -d a.test run\ngrep -c 'lego -d a.test renew --reuse-key' f\nsh x.sh -c 'lego -d a.test renew --reuse-key'\n"
                + "grep -c 'lego renew' f\nsh -c true x -c 'lego -d a.test renew --reuse-key'\n"
                + "bash --norc 'lego -d a.test renew --reuse-key'\n",
            "a.test changes 1"),
        Row(
            "lego in quotes for a shell with other flags and arguments",
            "bash -ce 'lego -d a.test renew'\nbash -cx 'lego -d b.test renew'\nsh -c -- 'lego -d c.test renew'\n"
                + "ExecStart=/bin/bash -eo pipefail -c 'lego -d d.test renew'\nsu -s /bin/sh www -c 'lego -d e.test renew'\n"
                + "docker exec -it lego sh -c 'lego -d f.test renew'\nflock -n /l -c 'lego -d g.test renew'\n"
                + "sh -c -e 'lego -d h.test renew'\nexec \"/usr/bin/dash\" -c 'lego -d i.test renew'\n",
            "a.test changes 1", "b.test changes 2", "c.test changes 3", "d.test changes 4", "e.test changes 5",
            "f.test changes 6", "g.test changes 7", "h.test changes 8", "i.test changes 9"),
        Row(
            "lego in quotes with tabs and with a dollar sign",
            "sh -c 'lego\t-d\ta.test\trenew'\nsh -c $'lego -d b.test renew'\nsh -c $\"lego -d c.test renew\"\n",
            "a.test changes 1", "b.test changes 2", "c.test changes 3"),
        Row(
            "lego for a shell in JSON and YAML",
            "{\"command\": [\"sh\", \"-c\", \"lego -d a.test renew\"]}\n"
                + "- {name: x, command: [sh, -c, 'lego -d b.test renew']}\n"
                + "\"command\": [\"/bin/sh\",\"-c\",\"lego -d c.test renew\"]}\n"
                + "{\"x\":1,\"command\":[\"sh\",\"-c\",\"lego -d d.test renew\"],\"y\":[\"--reuse-key\"]}\n"
                + "  \"sh\", \"-c\", \"lego -d e.test renew\"\n{\"command\": \"lego -d f.test renew\"}\n"
                + "{\"command\":\"lego -d g.test renew\",\"x\":1}\n",
            "a.test changes 1", "b.test changes 2", "c.test changes 3", "d.test changes 4", "e.test changes 5",
            "f.test unknown 6", "g.test unknown 7"),
        Row(
            "lego in a list",
            "CMD [\"lego\", \"--domains\", \"a.test\", \"renew\"]\n[\"lego\",\"-d\",\"b.test\",\"renew\"]\n"
                + "command: [/lego, -d, c.test, renew, --reuse-key]\n"
                + "[[\"lego\",\"-d\",\"d.test\",\"renew\"],[\"lego\",\"-d\",\"e.test\",\"renew\",\"--reuse-key\"]]\n"
                + "  \"lego\", \"-d\", \"f.test\", \"renew\"\n",
            "a.test changes 1", "b.test changes 2", "c.test keeps 3", "d.test changes 4", "e.test keeps 4",
            "f.test changes 5"),
        Row(
            "lego with signs of JSON that the shell has too",
            "{ lego -d \"a.test\",b.test --dns.resolvers [2001:db8::1]:53 renew; }\nlego -d {{ x }} -d c.test renew\n"
                + "[ -f x ] && lego -d d.test,e.test renew\necho [; lego -d f.test,g.test renew\n",
            "a.test,b.test changes 1", "c.test changes 2", "d.test,e.test changes 3", "f.test,g.test changes 4"),
        Row("lego for a variable", "lego -d \"$DOMAIN\" renew --reuse-key\n", " keeps 1"),
        Row(
            "lego after a comment and with a flag of another command",
            "# lego -d a.test renew --reuse-key\nlego -d a.test renew; echo --reuse-key\n", "a.test changes 2"),
        Row(
            "A site", path: "Caddyfile", "api.test {\n\treverse_proxy :9000\n}\n", "api.test changes 1"),
        Row(
            "A site with U-labels and capitals", path: "Caddyfile", "Bücher.example, *.例え.test:8443 {\n}\n",
            "xn--bcher-kva.example,*.xn--r8jz45g.test changes 1"),
        Row(
            "A site with a trailing dot and an address", path: "Caddyfile", "a.test., [2001:DB8:0::1]:8443 {\n}\n",
            "a.test,2001:db8::1 changes 1"),
        Row(
            "A site without braces", path: "Caddyfile", "api.test\n\ntls {\n\treuse_private_keys\n}\n",
            "api.test keeps 4"),
        Row(
            "A site in a file that another one imports", path: "sites/api.caddy", "api.test {\n}\n",
            "api.test changes 1"),
        Row(
            "A site with an email address", path: "conf/web.caddyfile",
            "https://api.test:8443/x, *.w.test {\n tls a@b.test {\n  reuse_private_keys\n }\n}\n",
            "api.test,*.w.test keeps 3"),
        Row(
            "Sites without certificates", path: "Caddyfile",
            "{\n\tadmin off\n}\nhttp://a.test, b.test:80, :443, {$SITE} {\n}\nc.test {\n\ttls c.pem c.key\n}\n"),
        Row("No automation", path: "Caddyfile", "{\n\tauto_https off\n}\na.test {\n}\n"),
        Row(
            "Redirects only", path: "Caddyfile", "{\n\tauto_https disable_redirects\n}\na.test {\n}\n",
            "a.test changes 4"),
        Row(
            "A snippet in the directive and one in the site", path: "Caddyfile",
            "(keys) {\n\treuse_private_keys\n}\n(all) {\n\ttls {\n\t\timport keys\n\t}\n}\na.test {\n\timport all\n}\nb.test {\n\ttls {\n\t\tprotocols tls1.3\n\t}\n}\n",
            "a.test keeps 2", "b.test changes 13"),
        Row(
            "An imported file", path: "Caddyfile", "import sites/*\na.test {\n\timport ../tls.conf\n}\n",
            "a.test unknown 3"),
        Row(
            "A setting in texts and comments", path: "Caddyfile",
            "a.test {\n\t# tls { reuse_private_keys }\n\trespond <<END\n\t\ttls {\n\t\t\treuse_private_keys\n\t\t}\n\t\tEND\n\trespond \"} tls {\n reuse_private_keys }\"\n}\n",
            "a.test changes 1"),
        Row(
            "Snippets that import each other", path: "Caddyfile",
            "(a) {\n\timport b\n}\n(b) {\n\timport a\n}\na.test {\n\timport a\n}\n", "a.test changes 7"),
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
    static let conflicts: [(options: String?, own: String, key: PublicKeyKind, expected: String?)] = [
        ("key-type = ecdsa\n", "key_type = rsa\nrsa_key_size = 2048\n", .rsa(bits: 2048), "cli.ini 1"),
        ("key-type = rsa\n", "key_type = ecdsa\n", .ellipticCurve("P-256"), "cli.ini 1"),
        ("email = a@b.test\nrsa-key-size: 4096\n", "key_type = rsa\n", .rsa(bits: 2048), "cli.ini 2"),
        ("--elliptic-curve = \"secp384r1\"\n", "key_type = ecdsa\n", .ellipticCurve("P-256"), "cli.ini 1"),
        ("elliptic-curve = secp256r1\n", "key_type = ecdsa\n", .ellipticCurve("P-384"), "cli.ini 1"),
        ("reuse-key\nkey-type = rsa\n", "key_type = ecdsa\n", .ellipticCurve("P-256"), "cli.ini 2"),
        (nil, "key_type = rsa\n", .ellipticCurve("P-256"), "x.conf 4"),
        (nil, "key_type = rsa\nrsa_key_size = 4096\n", .rsa(bits: 2048), "x.conf 5"),
        (nil, "key_type = rsa\n", .rsa(bits: 4096), "x.conf 2"),
        (nil, "key_type = ecdsa\nelliptic_curve = secp521r1\n", .ellipticCurve("P-256"), "x.conf 5"),
        (nil, "key_type = rsa\n", .ed25519, "x.conf 4"),
        // Nothing that differs, or that is compared.
        ("key-type = RSA # ours\nelliptic-curve = secp384r1\n", "", .rsa(bits: 2048), nil),
        ("rsa-key-size = 4096\n", "key_type = ecdsa\n", .ellipticCurve("P-256"), nil),
        ("rsa-key-size = 4096\n", "key_type = rsa\n", .rsa(bits: 4096), nil),
        ("key-type = ecdsa\nnew-key = True\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        ("key-type = ecdsa\nno-reuse-key = True\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        ("; key-type = ecdsa\n", "key_type = rsa\n", .rsa(bits: 2048), nil),
        (nil, "key_type = ecdsa\nelliptic_curve = SECP521R1\n", .ellipticCurve("P-521"), nil),
        (nil, "", .ellipticCurve("P-256"), nil),
    ]

    @Test("A setting for keys that the certificate's key doesn't have stops certbot while it reuses the key")
    func conflict() throws {
        for (options, own, key, expected) in Self.conflicts {
            let text = "cert = /c.pem\n[renewalparams]\nreuse_key = True\n" + own
            let found = try IssuanceProgram.certbot.read(
                Array(text.utf8), path: "x.conf", options: options.map { ("cli.ini", Array($0.utf8)) }
            ) { _ in IssuedCertificate(names: ["a.test"], key: key) }
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
        ) { _ in IssuedCertificate(names: ["a.test"], key: .rsa(bits: 2048)) }
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
            return IssuedCertificate(names: ["copy.test"], key: .ellipticCurve("P-256"))
        }
        #expect(found.flatMap(\.hosts).map(\.host) == ["copy.test"])
        #expect(files == ["/etc/letsencrypt/live/api.test/cert.pem", "backup/live/api.test/cert.pem"])
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
        let program = try #require(IssuanceProgram(recognizing: bytes, path: row.path))
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
            IssuedCertificate(
                names: file == "/etc/letsencrypt/live/api.test/cert.pem" ? ["A.test", "*.b.test"] : [],
                key: .ellipticCurve("P-256"))
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
            "renewal/a.conf:1:1: error: the hosts of this certificate aren't known, because the file names no certificate"
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
        ("a.yml", "certificates:\n  a: &x\n    domains: [a.test]\n", "a.yml:2:6: error: anchors"),
        ("a.sh", "export LEGO_REUSE_KEY=true\nlego -d a.test renew\n", "a.sh:1:1: error: the environment variable"),
        (
            "a.conf", "Le_Domain='a.test\(String(repeating: ",a.test", count: 1000))'\n",
            "a.conf:1:1: error: more than 1000"
        ),
        ("a.sh", String(repeating: "lego renew -d a.test\n", count: 1001), "a.sh: error: more than 1000 commands"),
        (
            "a.sh", "lego renew -d a.test\(String(repeating: ",a.test", count: 1000))\n",
            "a.sh:1:1: error: more than 1000"
        ),
        (
            "a.conf", "[renewalparams]\n[[webroot_map]]\n" + String(repeating: "a.test = /srv\n", count: 1001),
            "a.conf:1003:1: error: more than 1000"
        ),
        ("a.json", "{\"apps\": {\n", "a.json:2:1: error: "),
        (
            "a.json",
            "{\"apps\":{\"tls\":{\"automation\":{\"policies\":[{\"subjects\":[\"a.test\"],\n\"reuse_private_keys\": 1}]}}}}",
            "a.json:2:23: error: reuse_private_keys is a number, which Caddy refuses"
        ),
        (
            "a.json",
            "{\"apps\": {\"tls\": {\"certificates\": {\"automate\": ["
                + (0...1000).map { "\"a\($0).test\"" }.joined(separator: ",") + "]}}}}",
            "a.json: error: more than 1000 names"
        ),
        ("Caddyfile", "straße.test {\n}\n", "Caddyfile:1:1: error: the hostname \"straße.test\" can't be compared"),
        ("Caddyfile", "bu\u{308}cher.test {\n}\n", "Caddyfile:1:1: error: the hostname "),
        ("Caddyfile", "a。test {\n}\n", "Caddyfile:1:1: error: the hostname "),
        (
            "Caddyfile", "a.test {\n\ttls {\n\t\treuse_private_keys off\n\t}\n}\n",
            "Caddyfile:3:22: error: reuse_private_keys is followed by \"off\", and Caddy refuses the file"
        ),
        ("Caddyfile", "a.test {\n", "Caddyfile:2:1: error: unexpected end of the text"),
        ("Caddyfile", "a.test {\n}\nb.test\n", "Caddyfile:3:1: error: unexpected \"b.test\""),
        ("Caddyfile", "a.test {\n\trespond \"x\n}\n", "Caddyfile:2:10: error: the quote isn't closed"),
        ("Caddyfile", "a.test {\n\trespond <<END\n}\n", "Caddyfile:2:10: error: the text that << begins has no end"),
        ("Caddyfile", String(repeating: "a {\n", count: 70), "Caddyfile:66:"),
        ("Caddyfile", "a.test \u{FF}", ""),
    ]

    @Test("XI7: A file that its program refuses, or that isn't supported, is an error", arguments: refused)
    func refuses(path: String, text: String, message: String) throws {
        // The last row isn't UTF-8.
        let bytes = text.unicodeScalars.contains("\u{FF}") ? Array("a.test ".utf8) + [0xFF] : Array(text.utf8)
        let program = try #require(IssuanceProgram(recognizing: bytes, path: path))
        let error = #expect(throws: PolicyFileError.self) {
            try program.read(bytes, path: path, certificate: Self.certificate)
        }
        #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
    }

    @Test("XI7: A command line that is longer than any shell accepts is refused")
    func longLines() throws {
        func read(_ text: String) throws -> [KeyRenewal] {
            try IssuanceProgram.lego.read(Array(text.utf8), path: "f", certificate: Self.certificate)
        }
        let word = "lego renew -d a.test "
        #expect(try read(word + String(repeating: "x", count: (1 << 16) - word.count)).count == 1)
        for long in [
            word + String(repeating: "x", count: (1 << 16) - word.count + 1),
            word + String(repeating: "\\\nx", count: 1 << 16) + "\n",
        ] {
            #expect(throws: PolicyFileError.self) { try read(long) }
            #expect(IssuanceProgram(recognizing: Array(long.utf8), path: "f") == nil)
        }
    }

    @Test("XI7: A Caddyfile with more words than the limit is refused")
    func words() throws {
        func read(_ count: Int) throws -> [KeyRenewal] {
            let text = "a.test {\n\t" + String(repeating: "x ", count: count - 3) + "\n}\n"
            return try IssuanceProgram.caddy.read(Array(text.utf8), path: "Caddyfile", certificate: Self.certificate)
        }
        #expect(try read(1 << 16).count == 1)
        #expect(throws: PolicyFileError.self) { try read((1 << 16) + 1) }
    }

    @Test(
        "Other files aren't recognized",
        arguments: [
            "", "server {\n  listen 443 ssl;\n}\n", "-----BEGIN CERTIFICATE-----\nMII\n", "kind: Certificate\n",
            "lego is a client\n", "{ \"version\": 1 }\n", "apiVersion: v1\nkind: Secret\n",
        ])
    func unrecognized(text: String) {
        #expect(IssuanceProgram(recognizing: Array(text.utf8), path: "file") == nil)
    }
}
