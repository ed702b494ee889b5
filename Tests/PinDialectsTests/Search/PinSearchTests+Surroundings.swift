import CertificatePinning
import Testing

@testable import PinDialects

/// The text around a pin in files that no dialect reads.
extension PinSearchTests {
    static let surroundings: [Row] = [
        // The address for reports, also in a header that a program sends.
        Row(
            "main.go",
            """
            w.Header().Set("Public-Key-Pins", `pin-sha256="{A}"; report-uri="https://report.example.net/x"`)
            """, "1: A -"),
        Row(
            "a.rb", "csp(pins: ['sha256/{A}'], host: 'api.example.com', report_uri: 'https://r.example.net/')",
            "1: A api.example.com"),
        // A blank line and a comment begin another group.
        Row(
            "pins.go",
            """
            var Pins = []string{
                // api.example.com
                `pin-sha256="{A}"`,
                `pin-sha256="{B}"`,

                // proxies
                `pin-sha256="{C}"`,
            }
            """, "3: A api.example.com", "4: B api.example.com", "7: C -"),
        // An item that is known by its address.
        Row(
            "stubby.yml.example",
            """
            #upstream_recursive_servers:
            ## The servers of example.org
            #  - address_data: 192.0.2.1
            #    tls_auth_name: "a.example.org"
            #    tls_pubkey_pinset:
            #      - digest: "sha256"
            #        value: {A}
            #  - address_data: 2001:db8::2
            #    tls_pubkey_pinset:
            #      - digest: "sha256"
            #        value: {B}
            """, "7: A a.example.org (comment)", "11: B - (comment)"),
        Row("vpn.sh", "openconnect --user first.dev --servercert pin-sha256:{A} $VPN", "1: A -"),
        Row(
            "provider.json",
            """
            { "pinned_cert": "sha256/{A}", "ca_cert_uri": "https://files.example.net/ca.crt", "domain": "example.com" }
            """, "1: A example.com map"),
        // The name of a CA and the host of a key, each in a comment.
        Row(
            "Pins.cs",
            """
            var pins = new[] {
                "sha256/{A}", // SSL.com TLS ECC Root CA 2022
                "sha256/{B}", // api.example.com
                "sha256/{C}", // the CA of pay.example.com
            };
            """, "2: A -", "3: B api.example.com", "4: C pay.example.com"),
        // Blocks of a document.
        Row(
            "README.md",
            """
            ```
            $ pins -server=api.example.com
            sha256/{A}
            ```

            Or from a file:

            ```
            $ pins -file=cert
            sha256/{B}
            ```
            """, "3: A api.example.com (documentation)", "10: B - (documentation)"),
        Row(
            "join.yaml",
            """
            discovery:
              bootstrapToken:
                apiServerEndpoint: "192.0.2.19:6443"
                caCertHashes: ["sha256:{A.hex}"]
            """, "4: A 192.0.2.19"),
        Row(
            "site.conf.txt",
            """
            ServerName example.com
            ServerAlias www.example.com
            Header set Public-Key-Pins "pin-sha256=\\"{A}\\""
            """, "3: A example.com (documentation)", "3: A www.example.com (documentation)"),
        // The values of options that aren't the server.
        Row(
            "vpn.sh", "openconnect --authgroup=vpn-pers.example.org --servercert=pin-sha256:{A} vpn.example.com",
            "1: A vpn.example.com"),
        Row(
            "vpn.sh", "openconnect --user=joe@corp.example.org --servercert pin-sha256:{A} vpn.example.com",
            "1: A vpn.example.com"),
        Row(
            "vpn.sh", "openfortivpn vpn.example.com:443 --realm=corp.example.org --trusted-cert {A.hex}",
            "1: A vpn.example.com certificate"),
        Row(
            "msmtprc", "host smtp.example.com\nfrom joe@corp.example.org\ntls_fingerprint {A.colons}",
            "3: A smtp.example.com certificate"),
        Row(
            "get.sh", "curl -u joe@corp.example.org --pinnedpubkey sha256//{A} https://api.example.com/",
            "1: A api.example.com curl"),
        Row("hosts.conf", "host = 192.0.2.150\ntrusted-cert = {A.hex}", "2: A 192.0.2.150 certificate"),
        Row(
            "es.py", "Elasticsearch(\n  'https://192.0.2.7:9200',\n  ssl_assert_fingerprint='{A.colons}')",
            "3: A 192.0.2.7 certificate"),
        // A configuration in the text of a program, and comments in the line of several digests.
        Row(
            "plugin.ts",
            "const xml = `\n<domain-config>\n  <domain includeSubdomains=\"true\">api.example.com</domain>\n"
                + "  <pin-set>\n    <pin digest=\"SHA-256\">{A}</pin>`", "5: A api.example.com"),
        Row(
            "Pins.java", "pin(/* api.example.com leaf */ \"sha256/{A}\", /* a CA */ \"sha256/{B}\")",
            "1: A api.example.com", "1: B -"),
    ]

    @Test(
        "A pin has the host that is meant, and none from a report, a CA, a user or another block",
        arguments: surroundings)
    func surroundings(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    @Test("A setting beside a pin or around it makes it one for all names below the host")
    func subdomains() {
        let rows: [(String, String, HostPattern.Scope)] = [
            // A header beside another one, of which only that is for subdomains.
            (
                "notes.md",
                "server_name example.com;\nadd_header Public-Key-Pins 'pin-sha256=\"{A}\"; max-age=5';\n"
                    + "add_header Public-Key-Pins 'pin-sha256=\"{B}\"; max-age=5; includeSubDomains';", .exact
            ),
            (
                "r.md", "{ \"host\": \"example.com\", \"include-subdomains\": false, \"x\": 'pin-sha256=\"{A}\"' }",
                .exact
            ),
            (
                "a.md", "'example.com': {\n  includeSubdomains: true,\n  hashes: [\n    'sha256/{A}',\n  ],\n}",
                .exactAndBelow
            ),
            ("a.md", "'example.com': {\n  includeSubdomains: false,\n  hashes: [\n    'sha256/{A}',\n  ],\n}", .exact),
            (
                "a.md",
                "<domain-config>\n  <domain includeSubdomains=\"true\">example.com</domain>\n  <pin-set>\n"
                    + "    <pin digest=\"SHA-256\">{A}</pin>", .exactAndBelow
            ),
            ("a.cs", "f(\"example.com\", pins: [\"sha256/{A}\"],\n  mode: .includeSubdomains)", .exact),
            (
                "a.swift",
                "Domain(\n  \"example.com\",\n  spkis: [\n    \"sha256/{A}\",\n  ],\n"
                    + "  matchMode: .includeSubdomains\n)", .exactAndBelow
            ),
            (
                "a.md",
                "'a.test': {\n  includeSubdomains: true,\n},\n'example.com': {\n  hashes: [\n    'sha256/{A}',\n  ],\n}",
                .exact
            ),
        ]
        for (name, text, scope) in rows {
            let found = SearchText(name, text).search().sightings
            #expect(found.first?.scope == scope, "\(text): \(found.map(SearchText.line))")
        }
    }

    static let settings: [Row] = [
        Row(
            "client.ovpn", "remote vpn.example.com 1194\npeer-fingerprint {A.colons}\n",
            "2: A vpn.example.com certificate"),
        Row(
            "server.ovpn", "<peer-fingerprint>\n{A.colons}\n{B.colons}\n</peer-fingerprint>\n", "2: A - certificate",
            "3: B - certificate"),
        Row("vpn.conf", "host = vpn.example.com\ntrusted-cert = {A.hex}\n", "2: A vpn.example.com certificate"),
        Row("vpn.sh", "openfortivpn vpn.example.com --trusted-cert {A.hex}", "1: A vpn.example.com certificate"),
        Row("teleport.yaml", "ca_pin: \"sha256:{A.hex}\"\ntoken: {B.hex}", "1: A -"),
        Row("teleport.yaml", "proxy_server: \"a.example.com:443\"\nca_pin: \"sha256:{A.hex}\"", "2: A a.example.com"),
        Row("b_test.go", "s := \"a.example.com.\\t3600\\tIN\\tSMIMEA\\t1 1 1 {A.hex}\" // TLSA"),
        Row("start.sh", "teleport start --ca-pin=sha256:{A.hex} --auth-server=a.example.com:443", "1: A a.example.com"),
        Row(
            "vpn.sh", "openconnect --servercert={A.sha1.hex} https://vpn.example.com",
            "1: A vpn.example.com certificate sha1"),
        Row("vpn.sh", "FINGERPRINT={A.sha1.hex}\nopenconnect --servercert $FINGERPRINT vpn", "1: A - certificate sha1"),
        Row("vpn.sh", "FINGERPRINT={A.sha1.hex}\ngpg --recv-keys $FINGERPRINT # https"),
        Row("store.go", "Server: \"pbs\", Fingerprint: \"{A.colons}\",", "1: A - certificate"),
        Row("client.js", "const FINGERPRINTSET = ['{A.sha1.colons}'];", "1: A - certificate sha1"),
        // The label of a field follows its value.
        Row(
            "main.dart",
            "import 'pinning.dart';\nTextField(\n  text: '{A.spaced}',\n  hint: 'x',\n  label: 'Fingerprint')",
            "3: A - certificate"),
        Row("README.md", "SSL pinning\n`{ \"fingerprint\": \"{A}\" }`", "2: A - certificate (documentation)"),
        Row(
            "a_test.go", "s := \"_443._tcp.a.example.com.\\t3600\\tIN\\tTLSA\\t1 1 1 {A.hex}\"",
            "1: A a.example.com (test)"),
        Row("b.go", "s := \"_443._tcp.a.example.com. 3600 IN TLSA 3 0 1 {A.hex}\"", "1: A a.example.com certificate"),
        // Values that are named as keys, where others are pins or keys are compared.
        Row(
            "Pins.m",
            "NSArray *pins = @[@\"{A}\"];\n\n\n\n\n\nNSArray *cnPublicKeys = @[\n  @\"{B}\",\n  @\"{C}\"];\n\n\n\n"
                + "NSString *nonce = @\"{D}\";", "1: A -", "8: B -", "9: C -"),
        Row(
            "c.py", "HASH_DICT = {\n  'backup': [\n    '{A}',\n    '{B}',\n  ]\n}\n\n\n\nPIN = 'sha256/{C}'", "3: A -",
            "4: B -", "10: C -"),
        Row("Api.swift", "let publicKey = \"{A}\"\n\n\n\n\n\nlet key = SecTrustCopyKey(trust)", "1: A -"),
        Row("Chat.swift", "let publicKey = \"{A}\"\n\n\n\n\n\nlet key = box(publicKey)"),
        // Texts that are joined, and spare bits that browsers accept.
        Row("a.c", "setopt(c, \"sha256//{A.start}\"\n  \"{A.end};sha256//{B}\");", "1: A -", "2: B -"),
        Row("a.kt", "val pin = \"sha256/{A.start}\" +\n  \"{A.end}\"", "1: A -"),
        Row("README.md", "Public-Key-Pins: pin-sha256=\"{A.spare}\"", "1: A - (documentation)"),
        Row(
            "a.zone", "$ORIGIN example.com.\n_25._tcp TLSA 3 1 1 {B.hex}\nx SMIMEA 3 1 1 {A.hex}\n",
            "2: B example.com tlsa"),
        // A name for something else above the name of a list.
        Row(
            "values.txt",
            "<string name=\"cookie\">x</string>\n<array name=\"ssl_pinning_public_key_hashes\">\n  <item>{A}</item>\n</array>",
            "3: A - (documentation)"),
        Row(
            "dig.md", "The output of `dig`:\n\n_25._tcp.a.example.com. 915 IN TLSA 3 1 1 {A.half1} {A.half2}",
            "3: A a.example.com (documentation)"),
        Row(
            "c.rb", "f(\"_25._tcp.a.example.com. TLSA 3 0 1 ( {A.half1} \" \\\n  \"{A.half2} )\")",
            "1: A a.example.com certificate"),
        Row(
            "imaprc", "cert_fingerprint = {A.hex}{B.hex}\n",
            "1: cert-sha512/+yBFao+02f4jSG2St9wBJktwlbrfBClOc5i94gcsUXY2W4Clyu8UOV6DqM3yFzxhhqvQ9Ro/ZImu0/gdQmeMsQ== - certificate sha512"
        ),
        Row(
            "es.py", "es = Elasticsearch(\n#   ssl_assert_fingerprint=\"{A.colons}\"\n)", "2: A - certificate (comment)"
        ),
        Row("env.sh", "export PBS_FINGERPRINT=\"{A.colons}\"", "1: A - certificate"),
        Row("main.go", "fingerprint = \"{A.sha1.colons}\"", "1: A - certificate sha1"),
        // The records of two ports of one host are one rule.
        Row(
            "a.zone", "$ORIGIN example.com.\n_25._tcp.a TLSA 3 1 1 {A.hex}\n_443._tcp.a TLSA 3 1 1 {A.hex}\n",
            "2: A a.example.com tlsa"),
    ]

    @Test("Settings and names make a digest a pin although no word of pinning is in them", arguments: settings)
    func settings(row: Row) {
        let search = SearchText(row.name, row.text).search()
        #expect(search.sightings.map(SearchText.line) == row.expected)
        #expect(search.problems.isEmpty)
    }

    static let idle: [Row] = [
        Row(
            "a.go",
            "h.Set(\"Public-Key-Pins-Report-Only\", `pin-sha256=\"{A}\"`)\nh.Set(\"Public-Key-Pins\", `pin-sha256=\"{B}\"`)",
            "1: A - (report only)", "2: B -"),
        Row("cli.ts", "throw Error('not a pin (e.g. \"sha256/{A}\")')", "1: A - (documentation)"),
        Row("key_unittest.cc", "const char* pin = \"sha256/{A}\";", "1: A - (test)"),
        Row("pins_unittest.pins", "sha256/{A}", "1: A - (test)"),
        Row("test-pins.cc", "const char* pin = \"sha256/{A}\";", "1: A - (test)"),
        Row("app/src/main/java/com/example/test/Api.java", "String pin = \"sha256/{A}\";", "1: A -"),
        Row("app/src/main/java/com/example/ApiTest.java", "String pin = \"sha256/{A}\";", "1: A - (test)"),
        Row("app/src/test/java/com/example/Api.java", "String pin = \"sha256/{A}\";", "1: A - (test)"),
        Row("test-pins.yaml", "pin: sha256/{A}", "1: A -"),
        Row("a.json5", "{ bad_static_spki_hashes: [\"sha256/{A}\"] }", "1: A - (denied)"),
    ]

    @Test("Examples, tests and reports aren't in force", arguments: idle)
    func idle(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    @Test(
        "Texts that stand for a digest are placeholders",
        arguments: [
            "ABCABCABCABCABCABCABCABCABCABCABCABCABCABCA=",
            "0000000000000000000000000000000000000000000=", "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB=",
        ])
    func placeholders(text: String) {
        for (name, program) in [
            ("a.py", "pins = ['\(text)']"), ("a.swift", "certificatePins[\"a.test\"] = [\"\(text)\"]"),
            ("a.py", "pin = 'sha256/\(text)'"),
            ("a.kt", "CertificatePinner.Builder().add(\"a.test\", \"sha256/\(text)\")"),
        ] {
            #expect(SearchText(name, program).search().sightings.map(\.standing) == [.placeholder], "\(program)")
        }
        let alphabet = "pin = 'sha256/ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFG='"
        #expect(SearchText("a.py", alphabet).search().sightings.map(\.standing) == [.placeholder])
        let zeros = "a.test. IN A 192.0.2.1\n_25._tcp.a.test. TLSA 3 0 0 \(String(repeating: "0", count: 64))\n"
        #expect(SearchText("a.zone", zeros).search().sightings.map(\.standing) == [.placeholder])
    }

    @Test("A pin that is the digest of nothing is a problem where it is listed, and not where it is compared")
    func emptyPins() {
        let nothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for (text, count) in [
            ("pins.push('\(nothing)')", 1), ("add('a.test', 'sha256/\(nothing)')", 1), ("x.push('\(nothing)')", 0),
            ("if (pin == 'sha256/\(nothing)') { fail() }", 0),
        ] {
            #expect(SearchText("a.js", text).search().problems.flatMap(\.problems).count == count, "\(text)")
        }
    }
}
