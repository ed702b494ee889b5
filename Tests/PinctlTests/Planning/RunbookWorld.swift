import FoundationEssentials
import PinctlTestPKI
import Testing

/// The directory in which the runbook's commands run: keys, chains, a repository with two releases, and a server.
struct RunbookWorld {
    private let directory: TestDirectory
    private let server: TestDaemon
    private let port: UInt16
    /// The variables that commands have exported.
    private var exports: [String] = []

    init(overview: [(name: String, lines: [String])]) async throws {
        directory = try TestDirectory()
        port = TestDaemon.freePorts(1)[0]
        let script = try Self.deployment()
        _ = try directory.add(Array(script.utf8), name: "deploy-certificate", mode: 0o755)
        let made = try await shell(
            """
            set -e
            key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key
                openssl pkey -in $1.key -pubout -out $1.pub; }
            root() { key $1; openssl req -x509 -new -key $1.key -subj "/CN=$2" -days 3650 -out $1.pem; }
            request() { openssl req -new -key $1.key -subj / -addext subjectAltName=DNS:$2 -out $1.csr; }
            leaf() { request $1 $2; openssl x509 -req -in $1.csr -CA $3.pem -CAkey $3.key -days 199 \
                -copy_extensions copy -out $4; }
            for name in api-2026 api-2027 api-2028 lost www www-backup; do key $name; done
            root root "Example Root"; root next-root "Next Root"
            leaf api-2026 api.example.com root chain.pem; leaf api-2027 api.example.com root new-chain.pem
            leaf www www.example.com root www-chain.pem; leaf www www.example.com next-root next-chain.pem
            request www-backup www.example.com
            cat root.pem next-root.pem >roots.pem
            mkdir pins served served/first
            cp chain.pem served/first/fullchain.pem; cp api-2026.key served/first/privkey.pem; \
            ln -s first served/current
            git init --quiet; git config user.name tester; git config user.email tester@example.com
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let path = directory.path
        server = try await TestDaemon(
            [
                "openssl", "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-cert", path + "/new-chain.pem",
                "-key",
                path + "/api-2027.key",
            ], ports: [port])
        for policy in overview { try await write(policy) }
        let tagged = try await shell(
            """
            set -e
            cp pins/pins.jsonc now.jsonc
            sed "s|\\"api-2027\\": .*|\\"lost\\": { \\"pin\\": \\"$(pinctl hash lost.pub)\\", \
            \\"role\\": \\"leaf\\", \\"backup\\": true }|
                s|\\"api-2027\\"|\\"lost\\"|" now.jsonc >pins/pins.jsonc
            git add pins; git commit --quiet --message one; git tag ios-5.0
            mv now.jsonc pins/pins.jsonc
            git commit --quiet --all --message two; git tag ios-5.1
            """, in: directory)
        try #require(tagged.status == 0, "\(tagged.errors)")
    }

    /// The script of the article on renewals.
    static func deployment() throws -> String {
        let path = Repository.root + "/Sources/PinctlCommands/PinctlCommands.docc/RenewCertificates.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let start = try #require(text.firstRange(of: "```sh\n"))
        return String(text[start.upperBound...].prefix { $0 != "`" })
    }

    /// Writes a policy of the article with the pins of this world's keys. A pin belongs to the name before it, or in a
    /// comment after it.
    func write(_ policy: (name: String, lines: [String])) async throws {
        var lines: [String] = []
        for line in policy.lines {
            guard let pin = line.firstRange(of: "sha256/…") else {
                lines.append(line)
                continue
            }
            let comment = line.firstRange(of: "// ").map { line[$0.upperBound...] }
            let name = try #require(comment ?? line.split(separator: "\"").dropFirst().first)
            let isRoot = name.hasSuffix("root")
            let hash = try await shell("pinctl hash \(name).\(isRoot ? "pem" : "pub")", in: directory)
            lines.append(line.replacingCharacters(pin, with: try #require(hash.lines.first)))
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(
            to: URL(fileURLWithPath: directory.path + "/" + policy.name))
    }

    /// Runs commands, and returns them with what they print, as a terminal shows it.
    mutating func run(_ commands: [String]) async throws -> [String] {
        var shown: [String] = []
        for command in commands where command != "echo $?" {
            shown.append("$ " + command)
            let target = command.replacing("check api.example.com", with: "check api.example.com:\(port)@127.0.0.1")
            let path = directory.path
            let set =
                ["SSL_CERT_FILE=\(path)/roots.pem", "TLS_SERVED=\(path)/served", "TLS_RELOAD=true", "PATH=$PWD:$PATH"]
                .map { "export " + $0 } + exports
            let run = try await shell("{ \(set.joined(separator: "\n"))\n\(target)\n} 2>&1", in: directory)
            if command.hasPrefix("export ") { exports.append(command) }
            shown += run.lines.map(generalized)
            if run.status != 0 { shown += ["$ echo $?", "\(run.status)"] }
        }
        return shown
    }

    /// A line without what differs between two runs.
    private func generalized(_ line: String) -> String {
        line.replacing(":\(port)", with: ":443").replacing(directory.path + "/", with: "")
            .replacing(#/sha256/[A-Za-z0-9+/]{43}=/#, with: "sha256/…")
            .replacing(#/served/[A-Za-z0-9]{8}/#, with: "served/…")
    }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + self[range.upperBound...]
    }
}
