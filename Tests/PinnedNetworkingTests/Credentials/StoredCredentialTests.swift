import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Credentials that are stored in a file: CS1, CS2, CS3 and CS8.
@Suite(.timeLimit(.minutes(10)))
struct StoredCredentialTests {
    private let parent: TestDirectory
    private let directory: URL
    private let space = URLProtectionSpace(
        host: "example.com", port: 443, protocol: "https", realm: "r\u{E9}alm, 3:x",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    init() throws {
        parent = try TestDirectory()
        directory = URL(filePath: parent.path + "/a/b")
    }

    private var file: String { directory.path + "/credentials" }

    private func open() throws -> URLCredentialStorage { try URLCredentialStorage(directory: directory) }

    private func credential(
        _ user: String = "me", _ password: String = "secret", _ persistence: URLCredential.Persistence = .permanent
    ) -> URLCredential {
        URLCredential(user: user, password: password, persistence: persistence)
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test(
        "HA21: A permanent or synchronizable credential exists in the next run, and others don't",
        arguments: [
            (URLCredential.Persistence.none, false), (.forSession, false), (.permanent, true), (.synchronizable, true),
        ])
    func persistence(persistence: URLCredential.Persistence, isKept: Bool) throws {
        let storage = try open()
        let credential = credential("m\u{E9}", "p\u{E4}ss\n,1:", persistence)
        storage.setDefaultCredential(credential, for: space)
        let later = try open()
        #expect(later.defaultCredential(for: space) == (isKept ? credential : nil))
        #expect(later.allCredentials == (isKept ? [space: ["m\u{E9}": credential]] : [:]))
        #expect(FileManager.default.fileExists(atPath: file) == isKept)
    }

    @Test("Every part of a space is stored, including proxies, their types, and spaces without a realm")
    func spaces() throws {
        let spaces = [
            space,
            URLProtectionSpace(host: "example.com", port: 443, protocol: nil, realm: nil, authenticationMethod: nil),
            URLProtectionSpace(host: "example.com", port: 443, protocol: "https", realm: "", authenticationMethod: "x"),
            URLProtectionSpace(
                proxyHost: "example.com", port: 443, type: NSURLProtectionSpaceHTTPSProxy, realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPDigest),
            URLProtectionSpace(proxyHost: "example.com", port: 0, type: nil, realm: nil, authenticationMethod: nil),
        ]
        let storage = try open()
        for (index, space) in spaces.enumerated() { storage.set(credential("\(index)"), for: space) }
        let later = try open()
        #expect(later.allCredentials.count == spaces.count)
        for (index, space) in spaces.enumerated() {
            #expect(later.credentials(for: space) == ["\(index)": credential("\(index)")])
        }
    }

    @Test("The default is stored, a choice for the session isn't, and a removed credential is gone")
    func defaults() throws {
        let storage = try open()
        storage.set(credential("one"), for: space)
        storage.set(credential("two"), for: space)
        #expect(try open().defaultCredential(for: space)?.user == "one")
        storage.setDefaultCredential(credential("two"), for: space)
        #expect(try open().defaultCredential(for: space)?.user == "two")
        storage.setDefaultCredential(credential("three", "x", .forSession), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "three")
        #expect(try open().defaultCredential(for: space)?.user == "two")
        storage.remove(credential("three", "x", .forSession), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "two")
        storage.remove(credential("two"), for: space)
        #expect(try open().allCredentials == [space: ["one": credential("one")]])
        // A password for the session replaces the stored one.
        storage.set(credential("one", "new", .forSession), for: space)
        #expect(try open().allCredentials.isEmpty)
        #expect(storage.credentials(for: space) == ["one": credential("one", "new", .forSession)])
    }

    @Test("A synchronizable credential is stored locally, and removed only with the option")
    func synchronizable() throws {
        let storage = try open()
        storage.set(credential("me", "secret", .synchronizable), for: space)
        storage.remove(credential("me", "secret", .synchronizable), for: space)
        #expect(try open().credentials(for: space)?.count == 1)
        storage.remove(
            credential("me", "secret", .synchronizable), for: space,
            options: [NSURLCredentialStorageRemoveSynchronizableCredentials: true])
        #expect(try open().credentials(for: space) == nil)
    }

    @Test("Two storages of one file see each other's credentials, and keep them")
    func shared() throws {
        let (one, two) = (try open(), try open())
        one.set(credential("one"), for: space)
        #expect(two.credentials(for: space)?.keys.sorted() == ["one"])
        two.set(credential("two"), for: space)
        #expect(one.credentials(for: space)?.keys.sorted() == ["one", "two"])
        one.remove(credential("one"), for: space)
        #expect(two.credentials(for: space)?.keys.sorted() == ["two"])
    }

    @Test("CS3: The file has mode 0600 in a directory with mode 0700, whatever the umask")
    func modes() throws {
        try open().set(credential(), for: space)
        #expect(try mode(file) == 0o600)
        #expect(try mode(directory.path) == 0o700)
        #expect(try mode(parent.path + "/a") == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(names == [".lock", "credentials"])
    }

    /// A change to a file that contains a credential.
    private enum Damage: CaseIterable {
        case readable, openDirectory, link, linkedDirectory, parent, pipe, cut, longer, garbage, empty, later
    }

    @Test("CS3: A file with wrong permissions, a link or changed contents is neither read nor replaced")
    func refused() throws {
        for damage in Damage.allCases {
            let parent = try TestDirectory()
            let directory = URL(filePath: parent.path + "/a/b")
            let file = directory.path + "/credentials"
            let storage = try URLCredentialStorage(directory: directory)
            storage.set(credential(), for: space)
            let whole = try Data(contentsOf: URL(filePath: file))
            let manager = FileManager.default
            switch damage {
            case .readable: try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
            case .openDirectory: try manager.setAttributes([.posixPermissions: 0o750], ofItemAtPath: directory.path)
            case .link:
                try manager.moveItem(atPath: file, toPath: parent.path + "/elsewhere")
                try manager.createSymbolicLink(atPath: file, withDestinationPath: parent.path + "/elsewhere")
            case .linkedDirectory:
                try manager.moveItem(atPath: directory.path, toPath: parent.path + "/elsewhere")
                try manager.createSymbolicLink(atPath: directory.path, withDestinationPath: parent.path + "/elsewhere")
            case .parent:
                try manager.removeItem(atPath: file)
                try manager.createDirectory(atPath: file, withIntermediateDirectories: false)
            case .pipe:
                try manager.removeItem(atPath: file)
                #expect(try TestCommand.run(["mkfifo", "-m", "600", file]).status == 0)
            case .cut: try rewrite(file, whole.dropLast(1))
            case .longer: try rewrite(file, whole + Data(repeating: 0x20, count: 1 << 20))
            case .garbage: try rewrite(file, whole + Data("nonsense".utf8))
            case .empty: try rewrite(file, Data())
            case .later: try rewrite(file, Data("PinnedNetworking credentials 2\n".utf8))
            }
            #expect(throws: CredentialStorageError.self, "\(damage)") {
                try URLCredentialStorage(directory: directory)
            }
            // A storage that was already open reports the error, uses nothing, and keeps new credentials for the
            // session.
            #expect(storage.credentials(for: space) == nil, "\(damage)")
            let error = try #require(storage.storageError, "\(damage)")
            #expect(!"\(error)".contains("secret"))
            storage.set(credential("you", "other"), for: space)
            #expect(storage.credentials(for: space) == ["you": credential("you", "other")], "\(damage)")
            let damaged = try? Data(contentsOf: URL(filePath: file))
            #expect(damaged?.range(of: Data("other".utf8)) == nil, "\(damage)")
        }
    }

    private func rewrite(_ file: String, _ contents: Data) throws {
        try contents.write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    @Test("Every prefix of a file, and every file with one changed byte, is rejected or parses as valid")
    func mutations() throws {
        try open().set(credential(), for: space)
        let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
        let saved = try SavedCredentials(SecretBytes(whole))
        #expect(try saved.file() == SecretBytes(whole))
        for count in 0..<whole.count where count != 31 {
            #expect(throws: CredentialStorageError.Reason.self) {
                try SavedCredentials(SecretBytes(Array(whole[..<count])))
            }
        }
        for index in whole.indices {
            for byte in [0, 0x2C, 0x30, 0x31, 0x39, 0x3A, 0x2D, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = byte
                guard let read = try? SavedCredentials(SecretBytes(changed)) else { continue }
                #expect(try SavedCredentials(read.file()) == read)
            }
        }
    }

    @Test("A file that writes one space in two ways is rejected", arguments: ["A.test", "a.test."])
    func spellings(host: String) throws {
        func line(_ host: String, _ user: String) -> String {
            "\(host.utf8.count):\(host),1:0,-,-,0:,1:0,-,1:\(user),0:,1:0,1:0,\n"
        }
        let title = "PinnedNetworking credentials 1\n"
        let same = try SavedCredentials(SecretBytes((title + line("a.test", "u") + line("a.test", "v")).utf8))
        #expect(same.spaces.values.map(\.users.count) == [2])
        let other = SecretBytes((title + line("a.test", "u") + line(host, "v")).utf8)
        #expect(throws: CredentialStorageError.Reason.malformed(line: 3)) { try SavedCredentials(other) }
    }

    @Test("A full file of one space is read completely")
    func manyUsers() throws {
        var text = "PinnedNetworking credentials 1\n"
        for number in 10_000..<35_000 { text += "0:,1:0,-,-,0:,1:0,-,5:\(number),0:,1:0,1:0,\n" }
        let file = SecretBytes(text.utf8)
        let saved = try SavedCredentials(file)
        #expect(saved.spaces.values.map(\.users.count) == [25_000])
    }

    @Test("A file that has no room is left unchanged, and the credential lasts for the session")
    func full() throws {
        let storage = try open()
        storage.set(credential(), for: space)
        let large = credential("large", String(repeating: "x", count: 1 << 20))
        storage.set(large, for: space)
        #expect(storage.credentials(for: space) == ["me": credential(), "large": large])
        #expect(storage.storageError != nil)
        #expect(try open().credentials(for: space) == ["me": credential()])
    }

    @Test("A change that can't be written is reported until one is written, however often the file is read")
    func unwritten() throws {
        let storage = try open()
        // Takes the place of the temporary file.
        let obstacle = directory.path + "/.new"
        try FileManager.default.createDirectory(atPath: obstacle + "/in", withIntermediateDirectories: true)
        storage.set(credential(), for: space)
        for _ in 0..<2 {
            #expect(storage.credentials(for: space) == ["me": credential()])
            let error = try #require(storage.storageError)
            #expect("\(error)".contains("File exists"))
        }
        #expect(try open().credentials(for: space) == nil)
        try FileManager.default.removeItem(atPath: obstacle)
        storage.set(credential("you"), for: space)
        #expect(storage.storageError == nil)
        #expect(try open().credentials(for: space)?["you"] == credential("you"))
    }

    @Test("Without a home directory there is no default location, and a relative path or another URL is rejected")
    func homeless() throws {
        let rows: [([String: String], String, String?)] = [
            (["XDG_DATA_HOME": "/d", "HOME": "/h"], "p", "/d/PinnedNetworking/p"),
            (["XDG_DATA_HOME": "d", "HOME": "/h"], "p", "/h/.local/share/PinnedNetworking/p"),
            (["HOME": "/h"], "p", "/h/.local/share/PinnedNetworking/p"),
            (["HOME": ""], "p", nil), ([:], "p", nil), (["HOME": "/h"], "..", nil), (["HOME": "/h"], "a/b", nil),
        ]
        for (environment, program, parent) in rows {
            #expect(CredentialFile.standardDirectory(environment: environment, program: program) == parent)
        }
        for directory in ["relative", "https://example.com/a"] {
            let url = try #require(URL(string: directory))
            #expect(throws: CredentialStorageError.self) { try URLCredentialStorage(directory: url) }
        }
    }

    // MARK: CS1, CS2

    @Test(
        "CS1: Saving and reading passwords leaves no copy in memory",
        .enabled(if: MemoryScan.isPossible, "a sanitizer keeps what was freed"))
    func memory() throws {
        // The scan looks at each place with the first byte, and other tests leave memory full of one letter.
        let key = [UInt8(ascii: "~")] + (1..<32).map { _ in UInt8.random(in: 0x61...0x7A) }
        let needle = key.map { ~$0 }
        let password = String(decoding: key, as: UTF8.self)
        // The caller's own copies: the text, and the bytes it was made from.
        let before = try MemoryScan.count(inverted: needle)
        #expect(before >= 1)
        try keepAndForget(password)
        #expect(try MemoryScan.count(inverted: needle) <= before)
        withExtendedLifetime((key, password)) {}
    }

    private func keepAndForget(_ password: String) throws {
        let storage = try open()
        storage.set(credential("me", password), for: space)
        for _ in 0..<3 {
            // Reads the whole file, and writes it with another user's password.
            let later = try open()
            later.set(
                credential("you"),
                for: URLProtectionSpace(
                    host: "example.org", port: 443, protocol: "https", realm: nil, authenticationMethod: nil))
        }
        storage.remove(credential("me", password), for: space)
        #expect(try open().credentials(for: space) == nil)
    }

    @Test("CS2: Users and passwords don't appear in any text of a storage or of its errors")
    func texts() throws {
        let storage = try open()
        storage.set(credential("alice-canary", "xyzzy-canary"), for: space)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let error = try #require(storage.storageError)
        for value in [storage, error, SecretBytes(Array("xyzzy-canary".utf8))] as [Any] {
            var text = ""
            dump(value, to: &text)
            #expect(!(text + "\(value)" + String(reflecting: value)).contains("canary"))
        }
    }

    // MARK: CS3, CS8

    @Test("CS3: Concurrent processes keep the file valid, and each finds its own credentials")
    func writers() async throws {
        let program = try await CompiledProgram("Saver", languageMode: 6)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in ["one", "two", "three"] {
                group.addTask {
                    let lines = try await program.output(["save", "url:", directory.path, user, "50"], roots: [])
                    #expect(lines == ["done"])
                }
            }
            try await group.waitForAll()
        }
        let users = try #require(try open().credentials(for: space0))
        #expect(users.mapValues { $0.password?.hasPrefix("50 ") } == ["one": true, "two": true, "three": true])
    }

    private var space0: URLProtectionSpace {
        URLProtectionSpace(
            host: "example.com", port: 443, protocol: "https", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    }

    @Test("CS8: A process that is killed while it saves leaves the old file or the new one")
    func kills() async throws {
        let program = try await CompiledProgram("Saver", languageMode: 6)
        let storage = try open()
        var last = 0
        // Most of the time is the program's start, which takes longer beside other programs.
        var longest = 0.08
        for round in 0..<200 {
            let before = last
            defer { longest = last > before ? max(0.08, longest * 0.9) : min(5, longest * 1.2) }
            let pause = Double.random(in: 0.01...longest)
            let command = "\(program.path) save url: \(directory.path) me 100000 & sleep \(pause); kill -9 $!; wait"
            _ = try await CompiledProgram.run(["bash", "-c", command])
            #expect(storage.storageError == nil, "round \(round)")
            guard let password = storage.credentials(for: space0)?["me"]?.password else { continue }
            let numbers = Set(password.split(separator: " ").compactMap { Int($0) })
            #expect(password.split(separator: " ").count == 2000)
            #expect(numbers.count == 1)
            let number = try #require(numbers.first)
            #expect(number >= last, "round \(round)")
            last = number
        }
        // It was saving in most rounds.
        #expect(last > 50)
    }
}
