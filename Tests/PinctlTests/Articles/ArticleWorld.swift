import CertificateTrust
import FoundationEssentials
import PinctlTestPKI

/// The machine on which the articles' commands run. It has a network, `/etc` and a clock of its own, a repository with
/// an app's pins, servers for `example.com` at port 443, and a user with a home directory.
///
/// Certificates are valid from 2026-11-22, and pinctl's clock stays at 04:00 UTC of that day.
struct ArticleWorld {
    /// 2026-11-22T00:00:00Z.
    private static let today: Int64 = 1_795_305_600
    private static let day: Int64 = 86_400

    let directory: TestDirectory
    /// The digests in commands of the articles, by the names of the digested objects.
    private(set) var digests: [String: String] = [:]

    private var path: String { directory.path }

    /// Whether the tests are allowed to create such a machine.
    static let isPossible =
        isRoot
        ? TestCommand.isPresent("unshare", "-mn", "mount", "--bind", "/etc", "/etc")
        : TestCommand.isPresent("unshare", "-rmn", "unshare", "--user", "--map-user=65534", "true")
    private static let isRoot = TestCommand.isPresent("sh", "-c", "[ $(id -u) = 0 ]")

    static let programs = ["gcc", "git", "openssl", "perl", "script", "setpriv"]
    static let hasPrograms = programs.allSatisfy { TestCommand.isPresent("sh", "-c", "command -v \($0)") }

    init() throws {
        directory = try TestDirectory()
        for name in ["files", "bin", "home", "pins"] {
            try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: false)
        }
        try addCertificates()
        _ = try directory.add(Self.clock, name: "clock.c")
    }

    static func file(_ name: String) throws -> String {
        try String(contentsOfFile: Repository.root + "/Tests/PinctlTests/Scripts/Articles/" + name, encoding: .utf8)
    }

    /// The times that pinctl sees. Only the wall clock stands still.
    private static let clock = """
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int status = syscall(SYS_clock_gettime, clock, now);
            if (status == 0 && clock == CLOCK_REALTIME) *now = (struct timespec){\(today + 4 * 3_600), 0};
            return status;
        }
        """
}

// MARK: - Certificates

extension ArticleWorld {
    private func add(_ certificate: TestCertificate, _ name: String, behind issuers: [TestCertificate] = []) throws {
        let chain = ([certificate] + issuers).map(\.pemText).joined()
        _ = try directory.add(chain, name: "files/\(name).pem")
        _ = try directory.add(certificate.key.privateKeyPEM, name: "files/\(name).key")
        _ = try directory.add(certificate.key.pin, name: "pins/\(name)")
    }

    private func named(_ name: String) -> (inout TestCertificate.Settings) -> Void {
        { settings in
            settings.subject = TestName(.organization(name.prefix { $0 != " " } + " Trust"), .commonName(name))
            settings.notBefore = Self.today
        }
    }

    private func root(_ name: String) throws -> TestCertificate {
        try .root(name, key: TestKey(.p384)) {
            named(name)(&$0)
            $0.notAfter = Self.today + 3_650 * Self.day
        }
    }

    private func authority(_ name: String, below root: TestCertificate) throws -> TestCertificate {
        try root.intermediate(name) {
            named(name)(&$0)
            $0.notAfter = Self.today + 1_800 * Self.day
        }
    }

    private func leaf(
        _ hosts: String..., by issuer: TestCertificate, key: TestKey? = nil, days: Range<Int64> = 0..<89
    ) throws -> TestCertificate {
        try issuer.leaf(hosts[0], key: key) {
            $0.alternativeNames = hosts.map { .dns($0) }
            $0.notBefore = Self.today + days.lowerBound * Self.day
            $0.notAfter = Self.today + days.upperBound * Self.day
        }
    }

    private mutating func addCertificates() throws {
        let root = try root("Example Root")
        let intermediate = try authority("Example Intermediate", below: root)
        let other = try self.root("Other Root")
        let otherIntermediate = try authority("Other Intermediate", below: other)
        let debug = try self.root("Debug Root")
        let (first, next) = (try self.root("ISRG Root X1"), try self.root("Root YE"))
        let cross = try first.crossSign(next) { $0.notAfter = Self.today + 1_800 * Self.day }
        for (name, certificate) in [
            ("root", root), ("other-root", other), ("debug-root", debug), ("isrg-root-x1", first),
        ] { try add(certificate, name) }
        try add(intermediate, "intermediate")
        try add(otherIntermediate, "other-intermediate")
        try add(cross, "root-ye")
        let (key, backup, rsa) = (try TestKey(), try TestKey(), try TestKey.shared(.rsa2048))
        let api = try leaf("api.example.com", by: intermediate, key: key)
        try add(api, "api")
        try add(api, "chain", behind: [intermediate])
        try add(try leaf("api.example.com", by: intermediate, key: rsa), "api-rsa")
        try add(try leaf("api.example.com", by: intermediate), "renewed")
        try add(try leaf("api.example.com", "www.example.com", by: otherIntermediate), "moved")
        try add(try leaf("api.example.com", by: intermediate, days: -60..<29), "first")
        try add(try leaf("api.example.com", by: intermediate, days: -30..<59), "second")
        let new = try leaf("api.example.com", "pay.example.com", by: otherIntermediate, key: backup)
        try add(new, "new-chain", behind: [otherIntermediate])
        try add(new, "next-chain", behind: [otherIntermediate])
        try add(try leaf("api.example.com", by: cross), "le-chain", behind: [cross])
        for name in ["www", "pay", "two", "ended", "news"] {
            try add(try leaf("\(name).example.com", by: intermediate), name)
        }
        try add(try leaf("example.com", by: intermediate), "example")
        try add(try leaf("two.example.com", by: intermediate, key: rsa), "two-rsa")
        try add(try leaf("debug.example.com", by: debug), "debug")
        try add(try leaf("static.example.net", by: intermediate), "shop")
        try add(try leaf("old.example.com", by: intermediate, days: -60 ..< -23), "old")
        try add(try leaf("soon.example.com", by: intermediate, days: -85..<5), "soon")
        _ = try directory.add(backup.privateKeyPEM, name: "files/backup.key")
        _ = try directory.add(TestSigningRequest("api.example.com", key: backup).pemText, name: "files/backup.csr")
        _ = try directory.add(backup.pin, name: "pins/backup")
        digests["the certificate of api.example.com"] = Data(sha256Digest(api.derBytes.span)).base64EncodedString()
    }
}

// MARK: - Running

/// The output and exit statuses of the commands of one block.
struct BlockRun: Sendable {
    struct Command: Sendable {
        let lines: [String]
        let status: Int32
    }

    var commands: [Command] = []
    /// The output of the preparation, if it failed.
    var failure: String?
}

extension ArticleWorld {
    /// Runs blocks, each in a clone of its own, or all in one. Returns nothing for a block that didn't run to its end.
    func run(_ blocks: [(block: ArticleBlock, situation: ArticleSituation)], inOneClone: Bool, columns: Int)
        async throws
        -> [BlockRun]
    {
        for (number, entry) in blocks.enumerated() {
            let clone = "\(path)/project-\(inOneClone ? 0 : number)"
            let enter = "[ -d \(clone) ] || git clone --quiet \(path)/origin \(clone)\ncd \(clone)\n"
            let header = ". \"$HELPERS\"\n" + enter
            _ = try directory.add(header + entry.situation.setUp, name: "before-\(number)")
            _ = try directory.add(header + entry.situation.after, name: "after-\(number)")
            var script = "stty cols \(columns) -echo -onlcr\ncd \(clone)\n\(entry.situation.environment)\n"
            for (index, command) in entry.block.commands.enumerated() {
                var text = command.text
                if entry.block.form == .script {
                    text = "sh " + (try directory.add(command.text + "\n", name: "script-\(number)-\(index)"))
                }
                text = replacingDigests(text, entry.situation)
                let places = command.isForCron ? ["/", "$HOME"] : [""]
                for place in places {
                    if !place.isEmpty { script += "cd \(place)\n" }
                    // The next command sees this one's exit status.
                    script += "\(text)\n{ status=$?; printf '\\036%d\\036' $status; (exit $status); }\n"
                }
            }
            _ = try directory.add(script, name: "block-\(number)")
        }
        for name in ["helpers.sh", "repository.sh"] { _ = try directory.add(try Self.file(name), name: name) }
        let calls = blocks.enumerated().map { number, entry in
            let addresses = entry.situation.addresses.map { "\($1) \($0)\n" }.sorted().joined()
            return "run \(number) '\(addresses)'\n"
        }
        _ = try directory.add(try Self.file("machine.sh") + calls.joined(), name: "machine.sh")
        let options = Self.isRoot ? "-mn" : "-rmn"
        // libdispatch needs the /proc of the namespace.
        let result = try await shell(
            "unshare \(options) --pid --fork --kill-child --mount-proc bash machine.sh \(path) "
                + "\(try TestBuild.directory()) \(Repository.root)", in: directory, patience: 900)
        guard result.status == 0 else { throw ScriptError("the machine didn't start: \(result)") }
        return try blocks.indices.map { number in try found(number) }
    }

    /// Returns a command with this world's digests.
    func replacingDigests(_ command: String, _ situation: ArticleSituation) -> String {
        situation.digests.reduce(command) { $0.replacing($1.key, with: digests[$1.value] ?? "") }
    }

    private func found(_ number: Int) throws -> BlockRun {
        func text(_ name: String) -> String {
            String(
                decoding: FileManager.default.contents(atPath: "\(path)/\(name)-\(number).out") ?? Data(), as: UTF8.self
            )
        }
        var run = BlockRun()
        for name in ["before", "after"] where text(name) != "ok\n" { run.failure = "\(name): \(text(name))" }
        var parts = text("block").split(separator: "\u{1E}", omittingEmptySubsequences: false)[...]
        while let output = parts.popFirst(), let status = parts.popFirst().flatMap({ Int32($0) }) {
            var lines = output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if lines.last == "" { lines.removeLast() }
            run.commands.append(BlockRun.Command(lines: lines, status: status))
        }
        return run
    }
}
