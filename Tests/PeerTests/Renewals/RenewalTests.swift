import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

/// The recipes of the article on renewals, run with the programs that they are for.
@Suite("The renewal recipes", PeerProgram.pebble.isNeeded, .timeLimit(.minutes(10)), .serialized)
struct RenewalTests {
    /// A program that renews certificates, and how the article uses it.
    enum Client: CaseIterable {
        case certbot, lego, acmeSh, cron, certManager

        /// The listing of the article that sets the program up.
        func setUp(_ site: RenewalSite) async throws -> (chain: String, key: String) {
            switch self {
            case .certbot:
                _ = try site.directory.add(
                    """
                    server = \(site.pebble.directory)
                    config-dir = \(site.directory.path)/letsencrypt
                    work-dir = \(site.directory.path)/work
                    logs-dir = \(site.directory.path)/logs
                    agree-tos = true
                    register-unsafely-without-email = true
                    non-interactive = true
                    no-random-sleep-on-renew = true

                    """, name: "config/letsencrypt/cli.ini")
                try await succeed(site, try site.listing(0, of: "certbot"))
                let live = "letsencrypt/live/api.example.com/"
                return (live + "fullchain.pem", live + "privkey.pem")
            case .lego:
                let hook = try site.listing(0, of: "lego")
                _ = try site.directory.add(Array(hook.utf8), name: "bin/lego-hook", mode: 0o755)
                let renewal = try lego(site)
                let start = try #require(renewal.firstRange(of: " renew "))
                try await succeed(site, renewal[..<start.lowerBound] + " run")
                return ("lego/certificates/api.example.com.crt", "lego/certificates/api.example.com.key")
            case .acmeSh:
                let directory = site.directory.path
                let wrapper =
                    "#!/bin/sh\nexec \(PeerProgram.acmeSh.path) --home \(directory)/acme --server "
                    + "\(site.pebble.directory) --ca-bundle \(site.pebble.roots) \"$@\"\n"
                _ = try site.directory.add(Array(wrapper.utf8), name: "bin/acme.sh", mode: 0o755)
                try await succeed(site, "mkdir acme; " + (try site.listing(0, of: "acme.sh")))
                let files = "acme/api.example.com_ecc/"
                return (files + "fullchain.cer", files + "api.example.com.key")
            case .cron:
                try await addTiny(site)
                let script = try site.listing(0, of: "A script for cron")
                _ = try site.directory.add(Array(script.utf8), name: "bin/renew-certificate", mode: 0o755)
                try await succeed(site, "\(Self.newKey) >first.key && obtain first.key first.pem")
                return ("first.pem", "first.key")
            case .certManager:
                try await addTiny(site)
                try await succeed(
                    site, "mkdir issued && \(Self.newKey) >issued/tls.key && obtain issued/tls.key issued/tls.crt")
                return ("issued/tls.crt", "issued/tls.key")
            }
        }

        private static let newKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"

        /// Adds acme-tiny, and a script that obtains a certificate for a key with it.
        private func addTiny(_ site: RenewalSite) async throws {
            let wrapper =
                "#!/bin/sh\nexec \(PeerProgram.acmeTiny.path) --disable-check --directory-url "
                + "\(site.pebble.directory) \"$@\"\n"
            _ = try site.directory.add(Array(wrapper.utf8), name: "bin/acme-tiny", mode: 0o755)
            let obtain = """
                #!/bin/sh -e
                openssl req -new -key "$1" -subj / -addext subjectAltName=DNS:api.example.com -out request.pem
                acme-tiny --quiet --account-key acme/account.key --csr request.pem \
                    --acme-dir www/.well-known/acme-challenge >"$2"

                """
            _ = try site.directory.add(Array(obtain.utf8), name: "bin/obtain", mode: 0o755)
            try await succeed(
                site, "mkdir -p acme www/.well-known/acme-challenge && openssl genrsa -out acme/account.key 2048")
        }

        private func lego(_ site: RenewalSite) throws -> String {
            try site.listing(1, of: "lego").replacing(
                "lego --path", with: "lego --server \(site.pebble.directory) --path")
        }

        private func succeed(_ site: RenewalSite, _ script: some StringProtocol) async throws {
            let result = try await site.run(String(script))
            try #require(result.status == 0, "\(result.text)")
        }

        /// Renews the certificate once, and returns the exit status.
        func renew(_ site: RenewalSite, withNewKey isNew: Bool) async throws -> TestCommand.Result {
            switch self {
            case .certbot:
                // This is the article's command for a renewal.
                let renewal = try #require(
                    try site.listing(1, of: "certbot").split(separator: "\n").last { $0.hasPrefix("certbot renew ") })
                return try await site.run(String(renewal) + (isNew ? " --new-key" : ""))
            case .lego:
                let renewal =
                    try lego(site).replacing("\\\n", with: "").replacing("\n", with: "")
                    + " --days 9999 --no-random-sleep"
                return try await site.run(isNew ? renewal.replacing(" --reuse-key", with: "") : renewal)
            case .acmeSh:
                let file = "acme/api.example.com_ecc/api.example.com.conf"
                let force = isNew ? "echo \"Le_ForceNewDomainKey='1'\" >>\(file)" : "sed -i /Le_Force/d \(file)"
                return try await site.run("\(force); acme.sh --renew -d api.example.com --ecc --force")
            case .cron:
                guard isNew else { return try await site.run("renew-certificate") }
                return try await site.run(
                    """
                    \(Self.newKey) >new.key
                    sed "s|^key=.*|key=$PWD/new.key|" bin/renew-certificate >new-certificate
                    sh new-certificate
                    """)
            case .certManager:
                // Only the init container of the manifest is run. There is no cluster that could fill the Secret.
                let manifest = try site.listing(0, of: "cert-manager")
                let line = try #require(manifest.split(separator: "\n").first { $0.contains(" command: [") })
                let command = String(line.drop { $0 != "[" }.dropFirst().prefix { $0 != "]" }).replacing(",", with: "")
                try await succeed(
                    site,
                    (isNew ? Self.newKey : "cat served/current/privkey.pem") + " >issued/tls.key && "
                        + "obtain issued/tls.key issued/tls.crt")
                return try await site.run(command.replacing("/issued/", with: site.directory.path + "/issued/"))
            }
        }

        /// Whether the program fails if its hook does.
        var tellsFailure: Bool { self != .certbot }
    }

    /// A renewal, and the pin in each app that is out.
    struct Rotation: Sendable, Equatable {
        /// `leaf` for the key that is served, `issuer` for that of its issuer, `root` for the CA's root, or `other`.
        let pinned: [String]
        let hasNewKey: Bool
        let breaks: Bool
    }

    /// The rotations that each program makes, in order: with five programs, fifteen that break an app and fifteen that
    /// don't.
    static let rotations = [
        Rotation(pinned: ["leaf"], hasNewKey: false, breaks: false),
        Rotation(pinned: ["leaf"], hasNewKey: true, breaks: true),
        Rotation(pinned: ["root"], hasNewKey: true, breaks: false),
        Rotation(pinned: ["other"], hasNewKey: false, breaks: true),
        Rotation(pinned: ["root", "leaf"], hasNewKey: true, breaks: true),
        Rotation(pinned: ["root", "issuer"], hasNewKey: true, breaks: false),
    ]

    @Test("certbot serves a renewed certificate exactly if no release breaks", PeerProgram.certbot.isNeeded)
    func certbot() async throws { try await rotate(.certbot) }

    @Test("lego serves a renewed certificate exactly if no release breaks", PeerProgram.lego.isNeeded)
    func lego() async throws { try await rotate(.lego) }

    @Test("acme.sh serves a renewed certificate exactly if no release breaks", PeerProgram.acmeSh.isNeeded)
    func acmeSh() async throws { try await rotate(.acmeSh) }

    @Test(
        "The script for cron serves a renewed certificate exactly if no release breaks", PeerProgram.acmeTiny.isNeeded)
    func cron() async throws { try await rotate(.cron) }

    @Test("The init container copies an issued certificate exactly if no release breaks", PeerProgram.acmeTiny.isNeeded)
    func certManager() async throws { try await rotate(.certManager) }

    private func rotate(_ client: Client) async throws {
        let site = try await RenewalSite()
        let files = try await client.setUp(site)
        try await site.serve(files.chain, files.key)
        for rotation in Self.rotations {
            let before = try site.served()
            try site.release(try rotation.pinned.map { [try pin($0, site)] })
            let result = try await client.renew(site, withNewKey: rotation.hasNewKey)
            let after = try site.served()
            let name = Comment(rawValue: "\(client) \(rotation): \(result.text)")
            #expect((after.certificate == before.certificate) == rotation.breaks, name)
            #expect((after.key == before.key) == (rotation.breaks || !rotation.hasNewKey), name)
            #expect((result.status == 0) == (!rotation.breaks || !client.tellsFailure), name)
            let reloaded = try await site.run("rm reloaded")
            #expect((reloaded.status == 0) == !rotation.breaks, name)
            // A refused copy is removed.
            let left = try FileManager.default.contentsOfDirectory(atPath: site.directory.path + "/served")
            let link = try FileManager.default.destinationOfSymbolicLink(
                atPath: site.directory.path + "/served/current")
            #expect(left.contains(link) && left.count == Self.count(of: rotation) + 2, "\(left)")
        }
    }

    /// The number of certificates that were deployed up to a rotation.
    private static func count(of rotation: Rotation) -> Int {
        let index = rotations.firstIndex(of: rotation) ?? 0
        return rotations[...index].count { !$0.breaks }
    }

    private func pin(_ name: String, _ site: RenewalSite) throws -> String {
        switch name {
        case "leaf": try site.served().key.description
        case "issuer":
            try #require(CertificateFile.read(site.servedChain).dropFirst().first).spkiFingerprint.description
        case "root": try #require(CertificateFile.read(site.pebble.roots).last).spkiFingerprint.description
        default: try TestKey().pin
        }
    }

    @Test("A chain isn't served with the key of another one", PeerProgram.acmeTiny.isNeeded)
    func mismatch() async throws {
        let site = try await RenewalSite()
        let files = try await Client.certManager.setUp(site)
        try await site.serve(files.chain, files.key)
        try site.release([[try pin("root", site)]])
        let before = try site.served()
        let result = try await site.run(
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.key"
                + " && deploy-certificate \(files.chain) other.key --host api.example.com")
        #expect(result.status == 1, "\(result.text)")
        #expect(try site.served() == before)
        let right = try await site.run("deploy-certificate \(files.chain) \(files.key) --host api.example.com")
        #expect(right.status == 0, "\(right.text)")
    }

    @Test("After a stopped renewal, certbot continues with the served key", PeerProgram.certbot.isNeeded)
    func recovery() async throws {
        let site = try await RenewalSite()
        let files = try await Client.certbot.setUp(site)
        try await site.serve(files.chain, files.key)
        let before = try site.served()
        try site.release([[before.key.description]])
        _ = try await Client.certbot.renew(site, withNewKey: true)
        #expect(try site.served() == before)
        let result = try await site.run(try site.listing(1, of: "certbot"))
        #expect(result.status == 0, "\(result.text)")
        let after = try site.served()
        #expect(after.key == before.key && after.certificate != before.certificate)
    }

    @Test("lint finds in certbot's own file whether it keeps the key", PeerProgram.certbot.isNeeded)
    func certbotFile() async throws {
        try await lint(.certbot, "letsencrypt/renewal", changing: "certbot renew --no-reuse-key --force-renewal")
    }

    @Test("certbot keeps the key if cli.ini says so, as lint finds", PeerProgram.certbot.isNeeded)
    func certbotOptions() async throws {
        let site = try await RenewalSite()
        let files = try await Client.certbot.setUp(site)
        try await site.serve(files.chain, files.key)
        let before = try site.served()
        try site.release([[before.key.description]])
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [
              { "host": "api.example.com", "pins": [{ "pin": "\(before.key)", "role": "leaf" }] } ] }
            """, name: "pins.jsonc")
        let lint = "pinctl lint --rule P003=off --issuance letsencrypt/renewal \(policy)"
        let renew = "certbot --config letsencrypt/cli.ini renew --force-renewal"
        // The file of the certificate says nothing, and cli.ini decides.
        let kept = try await site.run(
            """
            sed -i /reuse_key/d letsencrypt/renewal/api.example.com.conf
            \(lint) >before.txt && exit 9
            { cat config/letsencrypt/cli.ini; echo 'reuse-key = True'; } >letsencrypt/cli.ini
            \(lint) && \(renew)
            """)
        #expect(kept.status == 0, "\(kept.text)")
        let after = try site.served()
        #expect(after.key == before.key && after.certificate != before.certificate)
        let changed = try await site.run(
            "sed -i 's/^reuse-key.*/new-key = True/' letsencrypt/cli.ini; \(renew); \(lint)")
        #expect(changed.status == 1 && changed.text.contains("cli.ini:9:1: new-key"), "\(changed.text)")
        #expect(try site.served() == after)
    }

    @Test("lint finds in acme.sh's own file whether it keeps the key", PeerProgram.acmeSh.isNeeded)
    func acmeShFile() async throws {
        try await lint(
            .acmeSh, "acme/api.example.com_ecc",
            changing: "acme.sh --issue -d api.example.com -w www --always-force-new-domain-key --force")
    }

    @Test(
        "lint finds in certbot's archive that renewals change the key, against settings", PeerProgram.certbot.isNeeded)
    func certbotArchive() async throws {
        let site = try await RenewalSite()
        let (chain, key) = try await Client.certbot.setUp(site)
        try await site.serve(chain, key)
        let lint = lintCommand("letsencrypt/renewal", pinning: "letsencrypt/live/api.example.com/cert.pem")
        let renew = "certbot renew --force-renewal >>log 2>&1"
        // A new key that is planned, and is kept afterwards.
        let planned = try await site.run("\(renew); \(renew) --new-key; \(lint) && \(renew) && \(lint)")
        #expect(planned.status == 0 && !planned.text.contains("P035"), "\(planned.text)")
        let changed = try await site.run("\(renew) --new-key; \(renew) --new-key; \(lint)")
        #expect(changed.status == 1 && changed.text.contains("against reuse_key = True"), "\(changed.text)")
        let file = try await site.run("cat letsencrypt/renewal/api.example.com.conf")
        #expect(file.text.contains("reuse_key = True") && file.text.contains("archive_dir = "), "\(file.text)")
        let again = try await site.run("\(renew); \(lint)")
        #expect(again.status == 0 && !again.text.contains("P035"), "\(again.text)")
    }

    @Test("lint finds in the certificates that were served whether lego keeps the key", PeerProgram.lego.isNeeded)
    func legoArchive() async throws {
        let site = try await RenewalSite()
        let (chain, key) = try await Client.lego.setUp(site)
        try await site.serve(chain, key)
        try site.release([[try pin("root", site)]])
        let lint = lintCommand("served")
        let single = try await site.run("\(lint); \(lintCommand("lego/certificates"))")
        #expect(single.text.split(separator: "one certificate doesn't show").count == 3, "\(single.text)")
        for isNew in [false, true, true] {
            let result = try await Client.lego.renew(site, withNewKey: isNew)
            #expect(result.status == 0, "\(result.text)")
            // The next certificate is a second younger.
            let found = try await site.run("sleep 1; \(lint)")
            let served = try FileManager.default.contentsOfDirectory(atPath: site.directory.path + "/served").count - 1
            switch served {
            case 2: #expect(found.status == 0 && !found.text.contains("P035"), "\(found.text)")
            case 3: #expect(found.status == 0 && found.text.contains("warning[P035]"), "\(found.text)")
            default: #expect(found.status == 1 && found.text.contains("3 different keys"), "\(found.text)")
            }
        }
        // The recipe's command is not a file of settings.
        let script = try await site.run("echo 'lego renew --reuse-key' >renew; \(lintCommand("renew"))")
        #expect(script.status == 2, "\(script.text)")
    }

    /// Returns a command that lints a policy with the key that a file has at that time.
    private func lintCommand(_ files: String, pinning file: String = "served/current/fullchain.pem") -> String {
        """
        { echo '{ "version": 1, "domains": [ { "host": "api.example.com", "pins": [{ "role": "leaf", "pin":' \
        "\\"$(pinctl hash --leaf \(file))\\"" '}] } ] }' >pins.jsonc
        pinctl lint --rule P003=off --issuance \(files) pins.jsonc; }
        """
    }

    private func lint(_ client: Client, _ files: String, changing change: String) async throws {
        let site = try await RenewalSite()
        let served = try await client.setUp(site)
        try await site.serve(served.chain, served.key)
        let command = lintCommand(files)
        let kept = try await site.run(command)
        #expect(kept.status == 0 && !kept.text.contains("P035"), "\(kept.text)")
        let changed = try await site.run("\(change) >log 2>&1; \(command)")
        #expect(changed.status == 1 && changed.text.contains("error[P035]"), "\(changed.text)")
    }
}
