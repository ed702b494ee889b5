import CertificatePinning
import FoundationEssentials
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("The search for pins in source trees")
struct PinSearchTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let text: String
        let expected: [String]
        var testDescription: String { name }

        init(_ name: String, _ text: String, _ expected: String...) {
            (self.name, self.text, self.expected) = (name, text, expected)
        }
    }

    /// The shapes in which apps write pins, each as its own documentation shows them.
    static let pins: [Row] = [
        Row(
            "src/pinning.ts",
            """
            import { initializeSslPinning } from 'react-native-ssl-public-key-pinning';

            await initializeSslPinning({
              'api.example.com': {
                includeSubdomains: true,
                publicKeyHashes: [
                  '{A}',
                  '{B}',
                ],
              },
              'pay.example.org': { publicKeyHashes: ['{C}', '{B}'] },
            });
            """,
            "7: A api.example.com map", "8: B api.example.com map", "11: C pay.example.org map",
            "11: B pay.example.org map"),
        Row(
            "src/client.js",
            """
            fetch('https://api.example.com/v1/status', {
              method: 'GET',
              pkPinning: true,
              sslPinning: {
                certs: ['sha256/{A}', 'sha256/{B}'],
              },
            })
            """, "5: A api.example.com map", "5: B api.example.com map"),
        Row(
            "app.json",
            """
            { "expo": { "ios": { "infoPlist": {
              "NSAppTransportSecurity": {
                "NSPinnedDomains": {
                  "example.com": {
                    "NSIncludesSubdomains": true,
                    "NSPinnedLeafIdentities": [
                      { "SPKI-SHA256-BASE64": "{A}" },
                      { "SPKI-SHA256-BASE64": "{B}" }
                    ]
                  }
                }
              }
            } } } }
            """, "7: A example.com apple", "8: B example.com apple"),
        Row(
            "app/Api.kt",
            """
            val pinner = CertificatePinner.Builder()
                .add("*.example.com", "sha256/{A}", "sha1/{B.sha1}") // sha256/{C}
                .build()
            """, "2: A example.com okhttp", "2: B example.com sha1 okhttp", "2: C example.com (comment)"),
        Row(
            "app/Api.java",
            """
            class Api {
                CertificatePinner pinner(String[] pins) {
                    return new CertificatePinner.Builder().add("api.example.com", pins).build();
                }
                static final String[] PINS = { "sha256/{A}" };
            }
            """, "5: A -"),
        Row(
            "ios/AppDelegate.swift",
            """
            let configuration: [String: Any] = [
                kTSKSwizzleNetworkDelegates: false,
                kTSKPinnedDomains: [
                    "api.example.com": [
                        kTSKReportUris: ["https://report.example.org/trustkit"],
                        kTSKPublicKeyHashes: [
                            "{A}",
                            "{B}",
                        ],
                    ],
                ],
            ]
            """, "7: A api.example.com trustkit", "8: B api.example.com trustkit"),
        Row(
            "ios/AppDelegate.m",
            """
            NSDictionary *trustKitConfig = @{
              kTSKPinnedDomains : @{
                @"api.example.com" : @{
                  kTSKPublicKeyHashes : @[
                    @"{A}",
                    // @"{C}",
                    @"{B}"
                  ]
                }
              }
            };
            """, "5: A api.example.com trustkit", "6: C api.example.com (comment)",
            "7: B api.example.com trustkit"),
        Row(
            "app/build.gradle",
            """
            buildConfigField 'String', 'API_HOST', '"api.example.com"'
            buildConfigField 'String', 'API_PIN', '"sha256/{A}"'
            """, "2: A api.example.com"),
        Row(
            "Cronet.java",
            """
            Set<byte[]> pins = new HashSet<>();
            pins.add(Base64.decode("{A}", Base64.DEFAULT));
            builder.addPublicKeyPins("api.example.com", pins, true, expiry);
            """, "2: A api.example.com"),
        Row(
            "lib/client.dart",
            """
            final allowedSHAFingerprints = [
              '{A.colons}',
            ];
            await HttpCertificatePinning.check(
              serverURL: 'https://api.example.com/', allowedSHAFingerprints: allowedSHAFingerprints);
            """, "2: A api.example.com certificate map"),
        Row(
            "lib/api.dart",
            """
            static const _current =
                '{A.hex}';
            // '{C.hex}'


            final client = Client();
            await HttpCertificatePinning.check(
              serverURL: base, allowedSHAFingerprints: [_current], sha: SHA.SHA256);
            """, "2: A - certificate"),
        Row(
            "vpn.sh", "echo x | openconnect vpn.example.com --servercert sha256:{A.hex} --passwd-on-stdin\n",
            "1: A vpn.example.com"),
        Row(
            "agent.js",
            """
            switch (host) {
              case 'api.example.com':
                pubkey256 = '{A}';
                cert256 =
                  '{B.colons}';
            }
            """, "3: A api.example.com", "5: B api.example.com certificate"),
        Row(
            "deploy.sh",
            """
            #!/bin/sh
            curl --pinnedpubkey 'sha256//{A};sha256//{B}' https://api.example.com/health
            """, "2: A api.example.com curl", "2: B api.example.com curl"),
        Row(
            "values.yaml",
            """
            upstreams:
              - host: api.example.com
                spki:
                  - {A}
              - host: pay.example.com
                pins: [ "{B.hex}" ] # of the certificate's key
            """, "4: A api.example.com map", "6: B pay.example.com map"),
        Row(
            "config.toml",
            """
            [tls]
            server = "api.example.com"
            certificate-fingerprint = "{A.hex}"
            """, "3: A api.example.com certificate"),
        Row(
            "nginx.conf",
            """
            server {
                server_name www.example.com;
                add_header Public-Key-Pins 'pin-sha256="{A}"; pin-sha256=\\"{B}\\"; max-age=5184000';
                # add_header Public-Key-Pins 'pin-sha256="{C}"';
            }
            """, "3: A www.example.com hpkp", "3: B www.example.com hpkp", "4: C www.example.com (comment)"),
        Row(
            "README.md", "Pin `api.example.com` with `sha256/{A}`.\n", "1: A api.example.com (documentation)"),
        Row(
            "cronet.patch",
            """
            --- a/net/pins.cc
            +++ b/net/pins.cc
            @@ -1,3 +1,3 @@
             host = "api.example.com";
            -pin = "sha256/{A}";
            +pin = "sha256/{B}";
            """, "5: A api.example.com (removed)", "6: B api.example.com"),
        Row("src/test/java/ApiTest.java", "add(\"api.example.com\", \"sha256/{A}\")", "1: A api.example.com (test)"),
        Row(
            "pins.json",
            #"[{"pins": ["sha256\/{A}"], "domain": "a.example.com"}, {"pins": ["{B}"], "domain": "b.example.com"}]"#,
            "1: A a.example.com map", "1: B b.example.com map"),
        Row(
            "pins.json",
            """
            [
              {
                "pins": [
                  "{A}"
                ],
                "domain": "a.example.com"
              },
              {
                "pins": ["{B}"],
                "domain": "b.example.com"
              }
            ]
            """, "4: A a.example.com map", "9: B b.example.com map"),
        // Neither a host nor a comment makes a pin a checksum.
        Row("dl.ts", "const pins = { 'download.example.com': `{A}` + x };", "1: A download.example.com"),
        Row("sum.py", "pins = {'api.example.com': [  # not a checksum\n  '{A}']}", "2: A api.example.com"),
        Row(
            "hex.toml",
            """
            # from deploy.prod.sh
            certificate-pins-sha256 = \"\"\"
            {A.hex}
            {B.hex}
            {C.hex}
            {D.hex}
            \"\"\"
            """, "3: A -", "4: B -", "5: C -", "6: D -"),
        Row("digest.yaml", "api.example.com:\n  certificate_digest: '{A}'", "2: A api.example.com certificate map"),
        Row("trustkit.yaml", "trustkit:\n  - api.example.com: '{A}'", "2: A api.example.com"),
        Row("pins.go", "var pin = \"sha256/{A}\" // api.example.com", "1: A api.example.com"),
        Row("join.sh", "kubeadm join --discovery-token-ca-cert-hash sha256:{A.hex}", "1: A -"),
        Row(
            "dane.sh", "check _443._tcp.www.example.com TLSA '3 1 1 {A.HEX}' '3 0 1 {B.hex}'",
            "1: A www.example.com", "1: B www.example.com certificate"),
        Row(
            "example.com.zone",
            """
            $ORIGIN example.com.
            _443._tcp.www IN TLSA 3 1 1 {A.hex}
            """, "2: A www.example.com tlsa"),
        Row(
            "res/xml/config.xml",
            """
            <network-security-config>
              <domain-config>
                <domain>api.example.com</domain>
                <pin-set expiration="2026-01-01">
                  <pin digest="SHA-256">{A}</pin>
                  <!-- <pin digest="SHA-256">{B}</pin> -->
                </pin-set>
              </domain-config>
            </network-security-config>
            """, "5: A api.example.com android (expired)", "6: B api.example.com (comment)"),
        Row(
            "Info.plist",
            """
            <plist version="1.0"><dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict>
              <key>api.example.com</key>
              <dict>
                <key>TSKPublicKeyHashes</key>
                <array>
                  <string>{A}</string>
                  <string>{B}</string>
                </array>
              </dict>
            </dict></dict></dict></plist>
            """, "6: A api.example.com trustkit", "7: B api.example.com trustkit"),
        Row(
            "pins/pins.jsonc",
            """
            { "version": 1, "deny": ["sha256/{D}"],
              "domains": [
                { "host": "api.example.com", "pins": ["sha256/{A}"] },
                { "host": "old.example.com", "mode": "report", "pins": ["sha256/{B}"] }] }
            """, "1: D - policy (denied)", "3: A api.example.com policy", "4: B old.example.com policy (report only)"),
    ]

    /// The shapes of public files whose pins were lost, or were taken for something else.
    static let morePins: [Row] = [
        Row(
            "app.config.ts",
            """
            const rootCAs = [
              '{A}', // Root X1
              '{B}', // Root X2
            ]
            const sslPinningDomains = {
              'a.example.com': rootCAs,
              'b.example.com': rootCAs,
            }
            export default { plugins: [['./withSSLPinning.js', { domains: sslPinningDomains }]] }
            """, "2: A a.example.com map", "2: A b.example.com map", "3: B a.example.com map",
            "3: B b.example.com map"),
        Row(
            "list.js",
            """
            module.exports = {
              list: () => [
                { domain: 'a.example.com', certs: ['{A}', '{B}'] },
                { domain: 'b.example.com', certs: ['{C}'] },
              ],
            };
            """, "3: A a.example.com map", "3: B a.example.com map", "4: C b.example.com map"),
        Row(
            "join.yaml",
            """
            discovery:
              bootstrapToken:
                apiServerEndpoint: "cp.example.com:6443"
                caCertHashes: ["sha256:{A.hex}"]
            controlPlane:
              certificateKey: "{C.hex}"
            """, "4: A cp.example.com"),
        Row(
            "join.yml", "caCertHashes:\n  - sha256:{A.hex}\n  - \"sha256:{B.hex}\"\ntoken: {C.hex}\n", "2: A -",
            "3: B -"),
        Row("client.yaml", "tlsCertHash: sha256:{A.hex}", "1: A - certificate"),
        Row(
            "check.js",
            """
            var server = "https://build.example.com";
            var fingerprint = "{A.spaced}";
            window.plugins.sslCertificateChecker.check(done, failed, server, fingerprint);
            """, "2: A build.example.com certificate"),
        Row(
            "README.md", "Printed by the script:\n\n/C=US/O=Example Inc/CN=Example SHA2 Server CA\n{A}\n",
            "4: A - (documentation)"),
        Row("app/src/main/res/raw/sslpins.txt", "# pins\n{A}\n{B}\n", "2: A -", "3: B -"),
        Row("cacert_tls_pins.txt", "sha256/{A}", "1: A -"),
        Row("pins/notes.txt", "sha256/{A}", "1: A - (documentation)"),
        // The extension of a zone's name can be that of a document or a program.
        Row(
            "db.example.org",
            "$TTL 3600\n$ORIGIN example.com.\n_25._tcp.mail IN TLSA 3 1 1 {A.hex}\n",
            "3: A mail.example.com tlsa"),
        Row(
            "db.example.pl", "; zone\nmail.example.com. IN A 192.0.2.1\n_25._tcp.mail.example.com. TLSA 3 0 1 {A.hex}",
            "3: A mail.example.com certificate tlsa"),
        Row(
            "notes.org", "* Records\n_25._tcp.mail.example.com. IN TLSA 3 1 1 {A.hex}\n",
            "2: A mail.example.com (documentation)"),
        // A record that pins nothing has no host, and what it is of is in its selector.
        Row(
            "a.zone",
            """
            $ORIGIN example.com.
            chat IN CNAME chat.d.example.org.
            _443._tcp.www IN TLSA 3 1 1 {B.hex}
            _ca-tlsa IN TLSA 2 1 1 {A.hex}
            ca.example.com. IN TLSA 2 1 1 {C.hex}
            """, "3: B www.example.com tlsa", "4: A -", "5: C - (ignored)"),
        Row(
            "b.zone",
            """
            $ORIGIN example.com.
            _ca-tlsa TLSA ( ; our CA
                ; DANE-TA CERT SHA2-256
                02 00 ; of a certificate
                01 {A.hex}
                ) ; danetool --host=foo.example.com
            """, "5: A - certificate"),
        // Records as calls and as objects.
        Row(
            "dnsconfig.js", "TLSA(\"_443._tcp.www.example.com.\", 3, 0, 1, \"{A.hex}\"),\n",
            "1: A www.example.com certificate"),
        Row(
            "b.lua", "tlsa(\"_443._tcp\", 3, \"{A.hex}\", 1, 1)\ntlsa(\"_25._tcp\", 2, \"{B.hex}\", 0, 1)\n",
            "1: A -", "2: B - certificate"),
        Row(
            "dns.tf",
            """
            resource "cloudflare_record" "a" {
              name = "_443._tcp.www.example.com"
              type = "TLSA"
              data {
                usage    = 3
                selector = 0
                matching_type = 1
                certificate   = "{A.hex}"
              }
            }
            """, "8: A www.example.com certificate"),
        Row(
            "records.yaml",
            """
            _443._tcp.www:
              type: TLSA
              values:
                - certificate_usage: 3
                  selector: 1
                  matching_type: 1
                  certificate_association_data: {A.hex}
            """, "7: A -"),
        // Fingerprints whose names say nothing of certificates, among words that do.
        Row(
            "Client.swift",
            """
            /// Compares the certificate of the server.
            func validate(trust: SecTrust) -> Bool {
                let fingerPrints = ["{A.hex}",
                    "{B.hex}"]
                return fingerPrints.contains(print(of: trust.certificate))
            """, "3: A - certificate", "4: B - certificate"),
        Row(
            "join.sh",
            "CA_HASH=sha256:{A.hex}\nkubeadm join a.example.com:6443 --discovery-token-ca-cert-hash $CA_HASH\n",
            "1: A a.example.com"),
        // A script that writes a configuration has no such configuration.
        Row(
            "install.sh",
            "#!/bin/sh\necho \"server { add_header Public-Key-Pins 'pin-sha256=\\\"{A}\\\"';\n}\" > a.conf\n",
            "2: A -"),
        Row("get.sh", "wget --pinnedpubkey=\"sha256//{A}\" https://a.example.com/x\n", "1: A a.example.com curl"),
        Row(
            "pins.js", "const pins = { 'a.example.com': { certs: ['{A.hex}'] } }",
            "1: A a.example.com certificate map"),
        // Settings for fingerprints, which can be SHA-1.
        Row(
            "msmtprc", "host smtp.example.com\ntls_fingerprint {A.sha1.colons}\n",
            "2: A smtp.example.com certificate sha1"),
        Row(
            "offlineimaprc", "remotehost = imap.example.com\ncert_fingerprint = {A.sha1.hex}\ncommit = {B.sha1.hex}\n",
            "2: A imap.example.com certificate sha1"),
        Row(
            "fetch.py",
            "f(host='a.example.com', assert_fingerprint='{A.sha1.colons}')\nkey_fingerprint = '{B.sha1.hex}'",
            "1: A a.example.com certificate sha1"),
        Row("Dockerfile", "RUN curl https://a.test/k | gpg --import  # fingerprint {A.sha1.hex}\n"),
        // A zone that can't be read.
        Row(
            "c.zone", "chat.example.com. IN A 192.0.2.1\n_443._tcp.a IN TLSA 3 1 1 {A.hex}\n", "2: A -"),
    ]

    @Test("Pins in other shapes are found, with their hosts and what they are of", arguments: morePins)
    func shapes(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    /// Records for services in programs and configurations, with the zones that their owners are relative to.
    static let recordRows: [Row] = [
        Row(
            "dnsconfig.js",
            """
            D("example.com", REG_NONE,
                CNAME("x", "other.example.org."),
                TLSA("_443._tcp", 3, 1, 1, "{A.hex}"),
                TLSA("_443._tcp.www", 3, 1, 1, "{B.hex}"),
                TLSA("_25._tcp.mx.example.org.", 3, 1, 2, "{A.hex}{B.hex}"),
                TLSA("_25._tcp.mx.example.com", 3, 1, 1, "{D.hex}"),
                TLSA("_25._tcp.mx", 3, 1, 1, "{A.hex}{B.hex}"),
                TLSA(
                    "_853._udp.dns.lan",
                    3, 0, 1,
                    "{C.hex}"
                ),
            );
            """, "3: A example.com", "4: B www.example.com",
            "5: sha512/+yBFao+02f4jSG2St9wBJktwlbrfBClOc5i94gcsUXY2W4Clyu8UOV6DqM3yFzxhhqvQ9Ro/ZImu0/gdQmeMsQ=="
                + " mx.example.org sha512", "6: D mx.example.com", "11: C dns.lan.example.com certificate"),
        Row(
            "zones/example.org.yaml",
            """
            _443._tcp.www:
              type: TLSA
              value:
                selector: 1
                certificate_association_data: {A.hex}
            '*._tcp':
              - type: TLSA
                value:
                  selector: 0
                  certificate_association_data: {B.hex}
            """, "5: A www.example.org", "10: B example.org certificate"),
        Row(
            "main.tf",
            """
            resource "x_record" "tlsa" {
              zone = "example.com"
              name = "_443._tcp.www"
              type = "TLSA"
              data {
                selector = 1
                certificate = "{A.hex}"
              }
            }
            resource "x_record" "mail" {
              name = "_25._tcp.mx"
              type = "TLSA"
              records = ["3 1 1 {B.hex}"]
            }
            """, "7: A www.example.com", "13: B -"),
    ]

    @Test("A record has the host of its owner, in the zone that the text names", arguments: recordRows)
    func records(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    @Test("A script that writes an HPKP header isn't a configuration with one")
    func scripts() {
        for text in [
            "#!/bin/sh\necho \"add_header Public-Key-Pins 'pin-sha256=\\\"$pin\\\"'\" > a.conf\n",
            "#!/bin/sh\ncat <<END\nserver { add_header Public-Key-Pins 'pin-sha256=\"{A}\"'; }\nEND\n",
            "#!/bin/sh\ncat <<END\nPublic-Key-Pins: pin-sha256=\"$pin\"\nEND\n",
        ] {
            let search = SearchText("install.sh", text).search()
            #expect(search.dialects.isEmpty && search.problems.isEmpty, "\(text): \(search.problems)")
        }
        let site = SearchText("site.conf", "add_header Public-Key-Pins 'pin-sha256=\"$pin\"';\n").search()
        #expect(site.dialects == [.hpkp] && !site.problems.isEmpty)
    }

    /// Pins and hosts in entries of lists and objects.
    static let listed: [Row] = [
        Row(
            "stubby.yml",
            """
            upstream_recursive_servers:
              - address_data: 192.0.2.1
                tls_auth_name: "a.example.com"
                tls_pubkey_pinset:
                  # one
                  - digest: "sha256"
                    value: {A}

            # IPv6
                  - digest: "sha256"
                    value: {B}




                  # three
                  - digest: "sha256"
                    value: {C}
                  # four
                  - digest: "sha256"
                    value: {D}
              - address_data: 192.0.2.9
                tls_auth_name: "b.example.com"
            """, "7: A a.example.com", "11: B a.example.com", "18: C a.example.com", "21: D a.example.com"),
        Row(
            "stubby.yml",
            """
            upstream_recursive_servers:
              - address_data: 192.0.2.1
                tls_auth_name: "a.example.com"
              - address_data: 192.0.2.2
                tls_pubkey_pinset:
                  - digest: "sha256"
                    value: {A}
              - tls_pubkey_pinset:
                  - digest: "sha256"
                    value: {B}
                tls_auth_name: "b.example.com"
              - tls_auth_name: "c.example.com"
            """, "7: A -", "10: B b.example.com"),
        // The same in comments.
        Row(
            "stubby.yml",
            """
            upstream_recursive_servers:
              - address_data: 192.0.2.1
                tls_auth_name: "a.example.com"
            ## b.example.com
            #  - address_data: 192.0.2.2
            #    tls_auth_name: "b.example.com"
            #    tls_pubkey_pinset:
            #      - digest: "sha256"
            #        value: {A}
            ## Without a name
            #  - address_data: 192.0.2.3
            #    tls_pubkey_pinset:
            #      - digest: "sha256"
            #        value: {B}
            """, "9: A b.example.com (comment)", "14: B - (comment)"),
        Row(
            "report.json",
            """
            {
              "hostname": "www.example.com",
              "noted-hostname": "example.com",
              "a": 1,
              "b": { "c": "other.example.org" },
              "d": {
                "e": "inner.example.org"
              },
              "f": 6,
              "g": 7,
              "known-pins": [
                "pin-sha256=\\"{A}\\"",
                "pin-sha256=\\"{B}\\""
              ]
            }
            """, "12: A www.example.com", "13: B www.example.com"),
        Row("example.com.zone", "$INCLUDE x\n_443._tcp.a.app IN TLSA 3 1 1 {A.hex}\n", "2: A -"),
        Row(
            "guide.md",
            "See [this](https://www.example.com/x) or <https://b.example.com/>.\nPins:\n\nsha256/{A}\n",
            "4: A - (documentation)"),
        Row(
            "join.sh", "kubeadm join 192.0.2.140:6443 --discovery-token-ca-cert-hash sha256:{A.hex}",
            "1: A 192.0.2.140"),
        Row(
            "vpn.sh", "openconnect \\\n  192.0.2.7:10443 \\\n  --servercert pin-sha256:{A}", "3: A 192.0.2.7"),
        Row(
            "draft.txt", "    context:\n      spki:\n      - {A}\n    x: 1\n  sni: a.example.com\n",
            "3: A a.example.com (documentation)"),
        Row("vpn.sh", "openconnect https://192.0.2.1/x --servercert sha256:{A.hex}", "1: A 192.0.2.1"),
    ]

    @Test("A pin belongs to the entry that encloses it, and not to the one beside that", arguments: listed)
    func entries(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    @Test("The wildcard of a name is the scope of its pins")
    func scopes() {
        let rows: [(String, HostPattern.Scope)] = [
            ("*.example.com", .oneLabelBelow), ("**.example.com", .exactAndBelow), ("example.com", .exact),
        ]
        for (name, scope) in rows {
            let found = SearchText("pins.py", "pin('\(name)', 'sha256/{A}')").search().sightings
            #expect(found.map(\.scope) == [scope] && found.map(\.host) == ["example.com"], "\(name)")
        }
        let curl = SearchText("a.sh", "curl --pinnedpubkey 'sha256//{A}' https://api.example.com/").search().sightings
        #expect(curl.map(\.scope) == [.exact])
    }

    private static let unpinned = """
        <network-security-config><domain-config><domain>api.test</domain>
        <pin digest="SHA-256">{A}</pin></domain-config></network-security-config>
        """

    /// Pins that no client compares.
    static let idlePins: [Row] = [
        Row("res/xml/config.xml", unpinned, "2: A api.test (ignored)"),
        Row(
            "Main.java",
            """
            import okhttp3.CertificatePinner;
            class Main {
                String key = "sha256/{A}";
                String other = "sha256/{B}";
                CertificatePinner pinner = new CertificatePinner.Builder().add("api.test", key).build();
            }
            """, "3: A api.test okhttp", "4: B api.test (ignored)"),
        Row("Check.java", "final Set<String> denylist = Collections.singleton(\"sha256/{A}\");", "1: A - (denied)"),
        Row("check.py", "REVOKED_PINS = [\n  'sha256/{A}',\n]\npins = ['sha256/{B}']", "2: A - (denied)", "4: B -"),
        Row("check.go", "f(blockList: [\"sha256/{A}\"], pins: [\"sha256/{B}\"])", "1: A - (denied)", "1: B -"),
        Row("check.go", "// not in the denylist\nvar pin = \"sha256/{A}\"", "2: A -"),
        Row("docs/pins.json", "{ \"api.test\": [\"sha256/{A}\"] }", "1: A api.test map (documentation)"),
        Row("docs/report.json", "{ \"known-pins\": [\"pin-sha256=\\\"{A}\\\"\"] }", "1: A - (documentation)"),
        Row("docs/pins.py", "pin = 'sha256/{A}'", "1: A -"),
        Row("doc/stubby.1.in", ".TH stubby 1\npin sha256/{A}", "2: A - (documentation)"),
        Row("stubby.5", ".\\\" x\n.TH stubby 5\npin sha256/{A}", "3: A - (documentation)"),
        Row(
            "a.lua", "pins = { '{A}', -- sha256/{B}\n--[[\n'sha256/{C}' ]] 'sha256/{D}' }", "1: A -",
            "1: B - (comment)", "3: C - (comment)", "3: D -"),
        Row(
            "a.sql", "INSERT INTO pin VALUES ('a.test', 'sha256/{A}'); -- sha256/{B}\n/* sha256/{C}\n*/", "1: A a.test",
            "1: B a.test (comment)", "2: C - (comment)"),
        Row("a.hs", "pins = [ \"sha256/{A}\" ] -- \"sha256/{B}\"", "1: A -", "1: B - (comment)"),
        Row(
            "a.dart", "const pins = [\n'{A}',\n'\(dummy("A"))',\n'\(dummy("B"))',\n];\nconst x = '\(dummy("C"))';",
            "2: A -", "3: \(dummyPin) - (placeholder)",
            "4: sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA= - (placeholder)"),
        Row("b.dart", "final keyPin = '\(dummy("A"))';", "1: \(dummyPin) - (placeholder)"),
        Row(
            "Api.kt", "CertificatePinner.Builder().add(\"a.test\", \"sha256/\(dummy("A"))\")",
            "1: \(dummyPin) a.test okhttp (placeholder)"),
        Row("cli.js", "log('sha256/\(String(repeating: "x", count: 43))=')", "1: \(placeholderPin) - (placeholder)"),
    ]

    /// A text in the form of a digest that has the same character again and again.
    private static func dummy(_ character: String) -> String { String(repeating: character, count: 43) + "=" }
    private static let dummyPin = "sha256/" + dummy("A")
    private static let placeholderPin = "sha256/" + String(repeating: "x", count: 42) + "w="

    @Test("Pins that no client compares aren't in force", arguments: idlePins)
    func standings(row: Row) {
        let search = SearchText(row.name, row.text).search()
        #expect(search.sightings.map(SearchText.line) == row.expected)
        #expect(search.problems.isEmpty)
    }

    @Test("A program that writes the configuration of another one has no pins of its own")
    func generators() {
        let text = """
            function f(conf) {
              const domains = {};
              for (const host of Object.keys(conf)) {
                domains[host] = { TSKEnforcePinning: true };
                domains[host]['TSKPublicKeyHashes'] = conf[host].map((p) => p.slice(7));
              }
              return { TSKPinnedDomains: domains };
            }
            """
        #expect(SearchText("gen.js", text).search().problems.isEmpty)
        #expect(SearchText("app.config.js", text).search().problems.count == 1)
        #expect(SearchText("gen.js", text + "\nconst backup = '{A}'").search().problems.count == 1)
    }

    @Test("All digests of a list are pins if one of them is, and the digest of nothing is a problem there")
    func lists() {
        let nothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let rows = [
            ("let a = [\n '{A}', // a\n '{B}', /* b */\n '{C}', // pinned\n '{D}',\n];", "ABCD", 0),
            (
                "let a = [\n '{A}',\n '{B}',\n];\n\n\n\n\n\n\ninitializeSslPinning({ publicKeyHashes: a.split(1) })",
                "", 0
            ),
            ("let tls = [\n '{A}',\n '{B}',\n];\n\n\n\n\n\n\nverifyPinnedTLS(tls)", "AB", 0),
            ("f({ k: '{A}' }, { k: '{B}' }, { k: '{C}' }) // pin", "ABC", 0),
            ("f({ k: '{A}' }, { other: '{B}' })\n\n\n\n // pin {C}", "C", 0),
            ("let a = ['{A.hex}', '{B}'];\n\n\n\nlet pin = '{B}';", "B", 0),
            ("let pins = [\n  '{A}',\n  '\(nothing)',\n];", "A", 1),
            ("if (pin == '\(nothing)') { fail('empty') }", "", 0),
            ("let pins = ['{A}' /* '\(nothing)' */];", "A", 0),
        ]
        for (text, letters, count) in rows {
            let search = SearchText("a.cs", text).search()
            let found = Set(search.sightings.map(SearchText.line).map { $0.split(separator: " ")[1] })
            #expect(found == Set(letters.map { Substring(String($0)) }), "\(text): \(found)")
            #expect(search.problems.flatMap(\.problems).count == count, "\(text): \(search.problems)")
        }
    }

    @Test("Names that are listed in a line are all hosts of the pins below")
    func severalHosts() {
        let rows = [
            ("site.conf", "server_name a.example.com b.example.com;\nadd_header Public-Key-Pins 'pin-sha256=\"{A}\"';"),
            ("Caddyfile", "a.example.com, b.example.com {\n  header Public-Key-Pins \"pin-sha256=\\\"{A}\\\"\"\n}"),
        ]
        for (name, text) in rows {
            #expect(SearchText(name, text).sightings == ["2: A a.example.com", "2: A b.example.com"])
        }
    }

    @Test("A zone is read although its digests don't have the form of one", arguments: ["tlsa", "TYPE52"])
    func zone(type: String) {
        let digest = String(repeating: "0a", count: 16)
        let text =
            type == "tlsa"
            ? "_443._tcp.a.test. IN tlsa 3 1 1 ( \(digest)\n  \(digest) )\n"
            : "_443._tcp.a.test. IN TYPE52 \\# 35 030101\(digest) \(digest)\n"
        for name in ["a.zone", "zone.txt"] {
            let search = PinSearch(Array(text.utf8).span, path: name, name: name, at: Date(timeIntervalSince1970: 0))
            #expect(search.dialects == [.tlsa] && search.sightings.count == 1, "\(search.problems)")
        }
    }

    @Test("Pins are found in every shape in which apps write them, with their hosts", arguments: pins)
    func found(row: Row) {
        #expect(SearchText(row.name, row.text).sightings == row.expected)
    }

    /// A line of a certificate.
    private static let part = "MIIDGTCCAgGgAwIBAgIJAI1jD1iLw5wNMA0GCSqGSIb3DQEBBQUAMCMxITAfBgNV"

    /// Texts with digests that nobody pins.
    static let others: [Row] = [
        Row("index.html", #"<script integrity="sha256-{A}" src="a.js"></script> <!-- pinned -->"#),
        Row("csp.conf", "add_header Content-Security-Policy \"script-src 'sha256-{A}'\"; # pin the script"),
        Row("package-lock.json", #"{ "pinned": { "integrity": "sha256-{A}" } }"#),
        Row("go.sum", "example.com/pin v1.0.0 h1:{A}"),
        // A certificate's fingerprint in a link and in what a command printed, and records of other services.
        Row("saml.rb", "tls.idp_cert_fingerprint = '{A.colons}'"),
        Row("install.sh", "KEY='/etc/tls-pin.pub'\nKEY_SHA256='{A.hex}' # cert pins"),
        Row(
            "keys.ts",
            "const pins = [];\n\n\n\n\n// keys for signatures\nconst PUBLIC_KEYS = [\n  '{A}',\n];\nSecTrustCopyKey"),
        Row("pins.txt", "# spki of https://crt.sh/?q={A.hex} tls pin"),
        Row("README.md", "TLS pins\n\nSHA1 Fingerprint={A.sha1.colons}"),
        // A record of DNSSEC, beside a signature with the letters of a word.
        Row(
            "a.zone",
            "a.\tIN\tNS\tns.example.com.\na.\tIN\tDS\t41 8 2 {A.HEX}\na.\tIN\tRRSIG\tDS 8 (aPkp/SPKI/tls=)\n"),
        Row("Dockerfile", "# pinned\nFROM debian@sha256:{A.hex}\n"),
        Row("ci.yaml", "# pin the TLS proxy's image\nimage: proxy@sha256:{A.hex}"),
        Row("requirements.txt", "# pinned\ncertifi==2026.1 --hash=sha256:{A.hex}"),
        Row("WORKSPACE", "http_archive(\n  name = \"ssl\", # pinned\n  sha256 = \"{A.hex}\",\n)"),
        Row("formula.rb", "# the pin of this version\nsha256 \"{A.hex}\""),
        Row("assetlinks.json", #"[{ "sha256_cert_fingerprints": ["{A.colons}"], "namespace": "android_app" }]"#),
        Row("bundle.crt", "# SHA256 Fingerprint: {A.colons}\n-----BEGIN CERTIFICATE-----"),
        Row("verification-metadata.xml", "<!-- pinned --><component><sha256 value=\"{A.hex}\"/></component>"),
        Row("spinner.ts", "const spinner = 'x'; // mapping, opinion, shopping, pinch, Pinterest\nconst key = '{A}'"),
        Row("secrets.yaml", "session_key: {A}"),
        Row("vectors.txt", "expected = {A}\n{B.hex}"),
        Row("blobs.txt", "pins: /v2/blobs/sha256/{A.hex} path/sha256/x/sha256/{B.hex}"),
        Row("signing.gradle", "// certificate pin\nsigningCertificateFingerprint = '{A.colons}'"),
        Row("pins.pem", "-----BEGIN CERTIFICATE-----\n" + String(repeating: "MIIB", count: 16) + "\n{A}\n"),
        Row("pins.ts", "if (pin == '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=') { fail('empty') }"),
        Row("public-roots.jsonc", "{ \"version\": 1, \"pins\": { \"root\": { \"pin\": \"sha256/{A}\" } } }"),
        Row("pins.md", "sha256: \"" + String(repeating: "0", count: 64) + "\" # of the pinned TLS proxy"),
        Row("short.ts", "const pins = ['{A}X', 'X{B}', '{C}=']"),
        // Secrets and numbers.
        Row("kubeadm.yaml", "caCertHashes: []\ncertificateKey: \"{A.hex}\"\nprivateKey: {B}\nencryption_key: {C}"),
        Row("Api.kt", "// pinned TLS\nval privateKey = \"{A}\"\nval apiToken = \"{B.hex}\""),
        Row(
            "Bitcoin.kt",
            """
            val keyHash = script.matchPayToWitnessPublicKeyHash()
            return Input(
                hash = "{A.hex}",
            )
            """),
        Row("Input.kt", "val publicKeyHash = script.hash()\nval hash = \"{A.hex}\"\nval other = publicKeyHash"),
        Row(
            "Words.kt",
            "val publicKeyHash = \"" + String(repeating: "0", count: 63) + "1\"\n// pinned TLS\n\""
                + String(repeating: "0", count: 62) + "a0\""),
        // The signature of an app.
        Row("app.ts", "const c = { androidConfig: { packageName: 'a.b', certificateHashes: ['{A}'] } }"),
        Row("Talsec.kt", "TalsecConfig(\n  packageName = \"a\",\n  certificateHashes = arrayOf(\"{A}\"))"),
        Row("talsec.dart", "const signingCertHashes = ['{A}'];\nconst signingCertificateHash = '{B}';"),
        Row("talsec.ts", "const c = { android: { signingCertHashes: ['{A}'], signerCertificateSha256: '{B}' } }"),
        Row("items.json", #"{ "items": [{ "publicKey": "MFkw", "id": "{A.colons}" }] }"#),
        Row("logs.json", #"{ "logs": [{ "publicKey": "MFkw", "logID": "{A.colons}", "log_id": "{B}" }] } "#),
        // Parts of certificates, and their descriptions.
        Row(
            "PinTest.java",
            "String pinnedCert = \"\(part)\\n\"\n    + \"{A}\";"),
        Row("Pins.php", "$pin = '\(part.prefix(60))' .\n  '{A}';"),
        Row("pins.js", "const pins = ['\(part)', '{A}'].join('')"),
        Row(
            "certs.go",
            "var pinnedCerts = `\n# SHA256 Fingerprint: {A.colons}\n-----BEGIN CERTIFICATE-----\nMIIB\n`"),
        Row("README.md", "`cert.fingerprint256` pins:\n\n    fingerprint256: '{A.colons}',\n    valid_to: ''"),
        Row("roots.md", "The DigiCert SHA2 root\n\n{A}"),
        Row("names.ts", "const pins = { abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ= 1 }"),
    ]

    @Test("Other digests aren't pins", arguments: others)
    func notFound(row: Row) { #expect(SearchText(row.name, row.text).sightings == []) }

    @Test("A placeholder without a prefix isn't the same digest as another one")
    func placeholder() {
        let zeros = String(repeating: "0", count: 64)
        #expect(SearchText("sums.yaml", "sum: \(zeros)").search().unsure.isEmpty)
    }

    @Test("A digest without a word of pinning is kept in case that it is a pin elsewhere")
    func unsure() {
        let search = SearchText("keys.yaml", "hosts:\n  api.example.com: {A}\n").search()
        #expect(search.sightings.isEmpty)
        #expect(search.unsure.map(SearchText.line) == ["2: A api.example.com"])
    }

    @Test(
        "A name is a host, and not the name of a file, a package or a member of an object",
        arguments: [
            ("api.example.com", true), ("*.example.com", true), ("**.example.co.uk", true), ("api.test", true),
            ("Api.Example.COM.", true), ("xn--bcher-kva.example.com", true), ("allegro.pl", true),
            ("io.example.com", true),
            ("com.example.app", false), ("org.example.host", false), ("de.example.app", false), ("pins.json", false),
            ("io.example.name", false), ("org.example.io", false), ("com.example.co.uk", true),
            ("org.example.de", true),
            ("dev.api.example.io", true), ("app.example.de", true), ("me.example.co.uk", true), ("io.example.de", true),
            ("dev.api.example.app", true), ("de.example.org", true), ("co.example.io", true),
            ("run.sh", false),
            ("a.run.sh", true), ("api.nowhere", false), ("1.2.3", false), ("127.0.0.1", false), ("example", false),
            ("-a.example.com", false), ("a_b.example.com", false), ("a..com", false),
        ])
    func hostnames(row: (text: String, isHost: Bool)) {
        let found = SearchText("pins.py", "pins = { '\(row.text)': ['{A}'] }").search().sightings
        let name = row.text.lowercased().drop { "*.".contains($0) }
        let expected = name.hasSuffix(".") ? name.dropLast() : name
        #expect(found.map(\.host) == [row.isHost ? String(expected) : nil])
    }

    @Test(
        "A pin gets the host that encloses it, and none of a sibling or a comment",
        arguments: [
            ("hosts = [\n  'a.example.com',\n]\npins = [\n  '{A}',\n]", nil),
            ("const host = 'a.example.com'\nconst pins = ['{A}']", "a.example.com"),
            ("// see https://docs.example.org/pins\nconst pins = ['{A}']", nil),
            ("const reportUri = 'https://r.example.com/x'\nconst pins = ['{A}']", nil),
            ("x.add('a.example.com', '{A}').add('b.example.com', '')", "a.example.com"),
            ("pins = {\n  'a.example.com': ['{B}'],\n  [NAME]: ['{A}'],\n}", nil),
            ("x = cert.host; pins.name = '{A}'", nil),
            (
                "const dataURL = 'https://a.example.com'\nconst otherURL = 'https://b.example.com'\n"
                    + "const pins = ['{A}']",
                nil
            ),
            (
                "const serverURL = 'https://a.example.com'\nconst other = 'https://b.example.com'\n"
                    + "const pins = ['{A}']",
                nil
            ),
            (
                "const other = 'https://b.example.com'\nconst serverURL = 'https://a.example.com'\n"
                    + "const pins = ['{A}']",
                "a.example.com"
            ),
            (
                "const a = 'https://a.example.com/x'\nconst b = 'https://a.example.com/y'\nconst pins = ['{A}']",
                "a.example.com"
            ),
            ("const pins = ['{A}']\nconst a = 'https://a.example.com/x'\nconst b = 'https://b.example.com/y'", nil),
            ("x = { a: 'https://a.example.com', b: 'https://b.example.com', pin: '{A}' + y }", nil),
            ("x = { a: 'https://a.example.com' }, { b: 'https://b.example.com', pin: '{A}' + y }", "b.example.com"),
            ("// CN=Root CA,OU=www.example.com,O = b.example.com,C=US\nconst pins = ['{A}']", nil),
            ("// CN=www.example.com,O=Example\nconst pins = ['{A}']", "www.example.com"),
            ("const help = 'https://www.example.org/docs/pinning'\nconst pins = ['{A}']", nil),
            ("const help = 'https://docs.example.org/pinning'\nconst pins = ['{A}']", nil),
            ("const help = 'https://gist.github.com/a/b'\nconst pins = ['{A}']", nil),
            ("const url = 'https://docs.example.org'\nconst pins = ['{A}']", "docs.example.org"),
            ("{\n  a: { h: 'a.example.com',\n    pins: ['{B}'] },\n  b: {\n    pins: ['{A}'] } }", nil),
            ("x = {\n  DOMAIN: 'org.api.example.io',\n  CERT_PIN: 'sha256/{A}' + y\n}", "org.api.example.io"),
            ("x = {\n  bundleId: 'me.example.io',\n  CERT_PIN: 'sha256/{A}' + y\n}", nil),
            ("const A_HOST = 'a.example.com'\nconst B_HOST = 'b.example.com'\n\nconst ROOT_PIN = '{A}'", nil),
            ("const A_HOST = 'a.example.com'\nconst x = 1\n\nconst ROOT_PIN = '{A}'", "a.example.com"),
            ("// certificates of *.example.com and www.example.com\nconst a_pin = '{A}'", nil),
            ("// a.example.com, b.example.com\nconst a_pin = '{A}'", "a.example.com"),
            ("f([\n  // [a|b].example.com\n  '{A}', // pin\n  // b.example.com\n  '{B}',\n] + x)", nil),
            ("f([\n  // a.example.com\n  '{A}', // pin\n  // b.example.com\n  '{B}',\n] + x)", "a.example.com"),
            ("D('example.com',\n  CAA('@', 'issue', 'ca.example.org'),\n  pin('{A}'))", "example.com"),
            ("const ca = 'x CAA 0 issue \"ca.example.org\"'\nconst pins = ['{A}']", nil),
            ("f('https://192.0.2.1:8443/x', { pin: '{A}' + y })", "192.0.2.1"),
            ("// @author a@b.example.com\nconst pins = ['{A}']", nil),
            ("f('192.0.2.1', { pin: '{A}' + y })", nil),
            ("f({\n  version: '192.0.2.1:1',\n  pin: '{A}' + y })", nil),
        ] as [(String, String?)])
    func hosts(row: (text: String, host: String?)) {
        let found = SearchText("pins.ts", row.text).search().sightings.first { $0.pin.value == SearchText.value("A") }
        #expect(found != nil && found?.host == row.host)
    }

    @Test("A file of a dialect that can't be read is a problem, and its pins are found by their form")
    func unreadable() throws {
        let config = """
            <network-security-config><domain-config><domain>api.example.com</domain>
            <pin-set><pin digest="SHA-256">{A}</pin></pin-set>
            """
        let search = SearchText("res/config.xml", config).search()
        #expect(search.problems.map(\.dialect) == [.android])
        #expect(search.sightings.map(SearchText.line) == ["2: A api.example.com"])
        #expect(SearchText("tests/config.xml", config).search().isTest)
        let code = "CertificatePinner.Builder().apply { hosts.forEach { add(it, \"sha256/{A}\") } }"
        let program = SearchText("Pins.kt", code).search()
        #expect(program.problems.map(\.dialect) == [.okhttp])
        #expect(program.sightings.map(SearchText.line) == ["1: A -"])
    }

    /// Files that can't be read as a whole, with what is known of their pins.
    static let partlyKnown: [Row] = [
        Row(
            "App.m",
            """
            NSDictionary *c = @{ kTSKPinnedDomains: @{ @"api.example.com": @{
              kTSKIncludeSubdomains: @YES, kTSKEnforcePinning: @NO,
              kTSKPublicKeyHashes: @[ @"<backup>", @"{A}", other ] } } };
            """, "3: A api.example.com+ trustkit (report only)"),
        Row(
            "pins.ts",
            """
            const sets = { [Set.live]: { 'api.example.com': { includeSubdomains: true, publicKeyHashes: ['{A}'] } } };
            """, "1: A api.example.com+ map"),
        Row(
            "Api.kt", "CertificatePinner.Builder().add(\"**.example.com\", \"sha256/{A}\", loaded())",
            "1: A example.com+ okhttp"),
        Row(
            "Engine.kt",
            "b.addPublicKeyPins(\"example.com\", setOf(Base64.decode(\"{A}\", 0), Base64.decode(\"AAAA\", 0)), true, "
                + "Date(1898761600000L))", "1: A example.com+ cronet"),
        Row(
            "config.xml",
            """
            <network-security-config><domain-config><domain includeSubdomains="true">example.com</domain><pin-set>
            <pin digest="SHA-256">{A}</pin><pin digest="SHA-256">AAAA</pin></pin-set></domain-config>
            </network-security-config>
            """, "2: A example.com+ android"),
    ]

    @Test("A damaged pin takes away neither host nor scope nor mode of the others", arguments: partlyKnown)
    func known(row: Row) {
        let search = SearchText(row.name, row.text).search()
        #expect(!search.problems.isEmpty)
        let lines = search.sightings.map { sighting in
            let host = sighting.host ?? "-"
            return SearchText.line(sighting).replacing(host, with: host + (sighting.scope == .exactAndBelow ? "+" : ""))
        }
        #expect(lines == row.expected)
    }

    @Test("Hosts that no server has, digests of nothing and open texts are problems, and no such pin is in force")
    func unusable() {
        let nothing = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let rows = [
            (
                "a.xml",
                "<network-security-config><domain-config><domain>example.com/</domain><pin-set>"
                    + "<pin digest='SHA-256'>{A}</pin></pin-set></domain-config></network-security-config>", 1
            ),
            ("Api.kt", "CertificatePinner.Builder().add(\"a.example.com\", \"\(nothing)\")", 1),
            ("pins.json", "{ \"a.example.com\": [\"\(nothing)\"] }", 1),
            (
                "Api.kt",
                "// pinctl-allow P002: a test\nCertificatePinner.Builder().add(\"a.test\", \"\(nothing)\")", 0
            ),
        ]
        for (name, text, count) in rows {
            let search = SearchText(name, text).search()
            #expect(search.unusablePins.count == count, "\(name): \(search.unusablePins)")
            #expect(search.sightings.filter(\.isInForce).isEmpty, "\(name)")
        }
        let open = "initializeSslPinning({ 'a.example.com': { publicKeyHashes: [\n'a dummy\n] } })"
        #expect(SearchText("pins.ts", open).search().problems.map(\.dialect) == [.map])
        #expect(SearchText("pins.ts", open.replacing("'a dummy", with: "dummy")).search().problems.isEmpty)
    }

    @Test("A pin that a list has twice is that of the reader, and a key of a table of names isn't in force")
    func again() {
        let list = "{ \"hosts\": [ { \"host\": \"a.example.com\", \"pins\": [\n\"{A}\",\n\"{A}\" ] } ] }"
        #expect(SearchText("pins.json", list).sightings == ["2: A a.example.com map", "3: A a.example.com map"])
        let table = "{ \"names\": {\n\"{A}\": \"Root 1\" },\n\"pins\": { \"a.example.com\": [\"{A}\"] } }"
        #expect(SearchText("pins.json", table).sightings == ["2: A - (ignored)", "3: A a.example.com map"])
    }

    @Test("Each pin that no call adds is ignored")
    func strays() {
        let text = """
            class Main { String key = "sha256/{A}";
              String second = "sha256/{B}";
              String third = "sha256/{C}";
              CertificatePinner pinner = new CertificatePinner.Builder().add("api.test", key).build(); }
            """
        #expect(
            SearchText("Main.java", text).sightings == [
                "1: A api.test okhttp", "2: B api.test (ignored)", "3: C api.test (ignored)",
            ])
    }

    @Test("A damaged pin with a prefix is a problem where it is in use, and a path isn't a pin")
    func damaged() {
        let damaged = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".dropLast()
        let rows = [
            ("pins.py", "pin = 'sha256/\(damaged)'", 1), ("pins.py", "# pin = 'sha256/\(damaged)'", 0),
            ("tests/pins.py", "pin = 'sha256/\(damaged)'", 0), ("pins.md", "`sha256/\(damaged)`", 0),
            ("nginx.conf", "add_header Public-Key-Pins 'pin-sha256=\"\(damaged)\"; max-age=1';", 2),
            ("pins.go", "const pin = \"sha256/\(damaged.replacing("A", with: "-"))\"", 1),
            ("pins.c", "CURLOPT_PINNEDPUBLICKEY, \"sha256//\(damaged.dropLast());sha256//x\"", 1),
            ("blob.go", "p := \"/v2/blobs/sha256/\(damaged)\" + \"crypto/sha256/\(damaged)\" + \"sha256/\" + x", 0),
            ("sums.py", "'sha256/0123456789abcdef'", 0),
            ("pins.py", "pin = 'sha256//+9iUAsKOxXPsvbFadtstHthc0mCTEUaSPr9ezecPUs='", 0),
        ]
        for (name, text, count) in rows {
            #expect(SearchText(name, text).search().problems.flatMap(\.problems).count == count, "\(name): \(text)")
        }
    }

    @Test("Pins that their system ignores, and empty files of pins, are problems where they are in use")
    func ignored() {
        let android =
            "<network-security-config><domain-config><domain>api.test</domain>{}</domain-config>"
            + "</network-security-config>"
        let apple =
            "<plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict><key>{}</key><dict>"
            + "<key>api.test</key><dict><key>NSPinnedCAIdentities</key><array><dict><key>SPKI-SHA256-BASE64</key>"
            + "<string>{A}</string></dict></array></dict></dict></dict></dict></plist>"
        let pinner = "CertificatePinner.Builder().add(\"api.test\", \"sha256/{A}\").build()"
        let rows = [
            ("a.xml", android.replacing("{}", with: "<pins><pin digest='SHA-256'>{A}</pin></pins>"), 1),
            ("a.xml", android.replacing("{}", with: "<pins></pins>"), 1),
            ("a.xml", android.replacing("{}", with: "<pin-set><pin digest='SHA-256'>{A}</pin></pin-set>"), 0),
            (
                "a.xml",
                android.replacing(
                    "{}",
                    with: "<pin-set><pin digest='SHA-256'>{A}</pin></pin-set></domain-config><domain-config>"
                        + "<domain>b.test</domain><pin-set></pin-set>"), 1
            ),
            ("Info.plist", apple.replacing("{}", with: "NSPinnedDomain"), 1),
            ("Info.plist", apple.replacing("{}", with: "NSPinnedDomains"), 0),
            ("A.kt", "\(pinner)\nval other = setOf(Pin(\"b.test\", \"sha256/{B}\"))", 1), ("A.kt", pinner, 0),
            ("pins.jsonc", "", 1), ("app/res/xml/network_security_config.xml", "\n", 1), ("TrustKit.plist", " ", 1),
            ("ssl-pinning.json", "", 1), ("tests/pins.json", "", 0), ("empty.json", "", 0), ("pins.md", "", 0),
            ("pins.json", "{}", 1), ("app/pins.json", "\u{FEFF}[ ]\n", 1), ("ssl-pins.yml", "---\n", 1),
            ("src/pins.ts", "\n", 1), ("Pins.swift", "\0\0\0\0", 1), ("Info.plist", "", 1),
            ("network_security_config.xml", "<?xml version=\"1.0\"?>\n", 1), ("Pins.kt", "package a", 0),
            ("res/layout/activity_pin.xml", "", 0), ("pin.json", "{}", 0), ("ssl_pin.json", "{}", 1),
            ("pins.json", "{ \"pins\": { \"api.test\": [] } }", 1), ("pins.json", "{ \"version\": 2 }", 0),
            ("Info.plist", "bplist00\u{1}", 1), ("Other.plist", "bplist00\u{1}", 0),
            ("pins.json", "{ \"api.test\": [\"sha2", 1), ("config.json", "{ \"api.test\": [\"sha2", 0),
            ("config.json", "{ \"api.test\": [\"sha256/{A}\"], \"b.test\": [\"sha256/{B}\"", 1),
            ("config.json5", "{ pins: { 'api.test': ['sha256/{A}'] }, x: .5 }", 0),
            ("tests/config.json", "{ \"api.test\": [\"sha256/{A}\"]", 0),
            (
                "a.xml",
                android.replacing(
                    "{}",
                    with: "<pin-set><pin digest='SHA-256'>{A}</pin></pin-set><trust-anchors>"
                        + "<certificates src='system' overridePins='true'/></trust-anchors>"), 1
            ),
            (
                "a.xml",
                android.replacing(
                    "{}",
                    with: "<pin-set><pin digest='SHA-256'>{A}</pin></pin-set>\n<!-- pinctl-allow P026: old -->"
                        + "\n<pins/>"), 0
            ),
        ]
        for (name, text, count) in rows {
            let search = SearchText(name, text).search()
            let found = search.unusablePins.prefix(1) + search.problems.flatMap(\.problems)
            #expect(found.count == count, "\(name): \(text): \(found)")
        }
    }

    @Test("A file in UTF-16 that its own system can't read is a problem, as in lint")
    func original() {
        func wide(_ text: String) -> [UInt8] {
            [0xFF, 0xFE]
                + SearchText("", text).text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        }
        let rows = [
            ("Net.kt", "CertificatePinner.Builder().add(\"api.test\", \"sha256/{A}\").build()", 1),
            (
                "config.xml",
                "<?xml version=\"1.0\" encoding=\"utf-16\"?><network-security-config><domain-config>"
                    + "<domain>api.test</domain><pin-set><pin digest=\"SHA-256\">{A}</pin></pin-set></domain-config>"
                    + "</network-security-config>", 0
            ),
        ]
        for (name, text, count) in rows {
            let search = PinSearch(wide(text).span, path: name, name: name, at: SearchText.time)
            #expect(search.problems.count == count && search.sightings.count == 1, "\(name): \(search.problems)")
        }
    }

    @Test("A line with thousands of pins is searched in linear time", .timeLimit(.minutes(1)))
    func longLine() {
        let text = String(repeating: "'sha256/{A}',a()?{'api.example.com':'sha256/{B}'}:[", count: 2_000)
        let found = SearchText("min.yaml", "x: { \npins: [" + text).search().sightings
        #expect(found.count == 4_000 && found.last?.location.column == 2_000 * 133 - 47)
    }

    @Test("Files that only look like one of a dialect aren't read as one")
    func lookalikes() {
        let rows = [
            ("schema.json", #"{ "$schema": "x", "properties": { "version": {}, "domains": {}, "pins": {} } }"#),
            ("page.xml", "<html><network-security-config/></html>"), ("Info.plist", "<plist><dict/></plist>"),
            ("App.kt", "import okhttp3.CertificatePinner"), ("zone.conf", "# TLSA {A.hex}"), ("a.json", "{"),
        ]
        for (name, text) in rows { #expect(SearchText(name, text).search().problems.isEmpty, "\(name)") }
    }

    @Test("Text in UTF-16 is searched")
    func wide() {
        let text = SearchText("pins.cs", "pins[\"api.example.com\"] = \"sha256/{A}\";").text
        let bytes: [UInt8] =
            [0xFF, 0xFE] + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let search = PinSearch(bytes.span, path: "pins.cs", name: "pins.cs", at: SearchText.time)
        #expect(search.sightings.map(SearchText.line) == ["1: A api.example.com"])
    }
}

@Suite("Digests by their form")
struct DigestShapeTests {
    private func digests(in text: String) -> [DigestShape] {
        let bytes = Array(text.utf8)
        return DigestShape.all(in: bytes.span)
    }

    @Test("A digest is found at any distance from others", arguments: 0..<70)
    func offsets(offset: Int) {
        let digest = SearchText("", "{A}").text
        let text =
            String(repeating: ".", count: offset) + "'" + digest + "'" + String(repeating: "-", count: offset % 7) + " "
        let shapes = digests(in: text + text)
        #expect(shapes.map(\.range.lowerBound) == [offset + 1, text.utf8.count + offset + 1])
        let short = String(repeating: " ", count: offset) + SearchText("", "sha1/{A.sha1}").text
        #expect(digests(in: short).map(\.range) == [offset..<offset + 33])
    }

    @Test("Longer, shorter and damaged texts aren't digests")
    func others() {
        for text in ["{A}A", "A{A}", "{A}=", "{A.hex}0", "0{A.hex}", "{A.colons}:00", "sha512/{A}"] {
            #expect(digests(in: SearchText("", text).text).isEmpty, "\(text)")
        }
        #expect(digests(in: SearchText("", "{A}").text.dropLast() + "-").isEmpty)
        #expect(digests(in: "").isEmpty)
    }
}
