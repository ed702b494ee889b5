import Glibc
import PinctlTestPKI
import Testing

@testable import PinctlBasics

/// Tests of who can replace a private directory or its contents. `StoredCredentialTests` covers the modes and links of
/// files.
@Suite struct PrivateDirectoryTests {
    private let directory: TestDirectory
    private static let unrelated = "54321"
    private static let isRoot = geteuid() == 0

    init() throws { directory = try TestDirectory() }

    private var path: String { directory.path + "/a/b" }

    private func run(_ command: String...) throws {
        #expect(try TestCommand.run(command).status == 0)
    }

    private func refusal(_ path: String? = nil, creates: Bool = false) -> PrivateDirectoryError? {
        do throws(PrivateDirectoryError) {
            _ = try PrivateDirectory(path: path ?? self.path, creates: creates)
            return nil
        } catch {
            return error
        }
    }

    @Test("A missing private directory is created with mode 0700, and so are its missing parents")
    func made() throws {
        #expect(refusal()?.reason == .failed(operation: "open", errno: ENOENT))
        // Nothing is stored there yet, whichever directory of the path is missing.
        #expect(refusal()?.path == path)
        for _ in 1...2 { #expect(refusal(creates: true) == nil) }
        #expect(refusal() == nil)
        #expect(refusal(directory.path + "//a/./b/../b/") == nil)
        let modes = try TestCommand.run(["stat", "-c", "%a", directory.path + "/a", path])
        #expect(String(decoding: modes.output, as: UTF8.self) == "700\n700\n")
        _ = try directory.add("", name: "file")
        #expect(refusal(directory.path + "/file/b", creates: true)?.reason == .otherKind)
        #expect(refusal(directory.path + "/file", creates: true)?.reason == .failed(operation: "open", errno: ENOTDIR))
        #expect(refusal("relative", creates: true)?.reason == .relative)
    }

    @Test(
        "A parent directory that others can write to is rejected, unless the sticky bit protects its entries",
        arguments: [
            ("0755", true), ("0711", true), ("0700", true), ("1777", true), ("1770", true), ("0775", false),
            ("0770", false), ("0777", false), ("0757", false), ("0702", false), ("2775", false),
        ])
    func writableParent(mode: String, isAccepted: Bool) throws {
        #expect(refusal(creates: true) == nil)
        try run("chmod", mode, directory.path + "/a")
        for creates in [false, true] {
            let error = refusal(creates: creates)
            #expect((error == nil) == isAccepted)
            if let error {
                #expect(error == PrivateDirectoryError(path: directory.path + "/a", reason: .openParent))
                #expect(error.description.contains("chmod go-w"))
            }
        }
        // The same applies further up.
        let below = directory.path + "/a/c/d/e"
        #expect((refusal(below, creates: true) == nil) == isAccepted)
    }

    @Test(
        "A private directory, file or lock that belongs to another user is rejected",
        .enabled(if: isRoot, "only root can give files away"))
    func foreign() throws {
        let opened = try PrivateDirectory(path: path, creates: true)
        try opened.change { () throws(PrivateDirectoryError) in try opened.replace("file", with: [1]) }
        try run("chown", Self.unrelated, path + "/file")
        #expect(throws: PrivateDirectoryError(path: path + "/file", reason: .foreign)) {
            try opened.contents(of: "file", limit: 9)
        }
        try run("chown", Self.unrelated, path + "/.lock")
        #expect(throws: PrivateDirectoryError(path: path + "/.lock", reason: .foreign)) {
            try opened.change { () throws(PrivateDirectoryError) in }
        }
        try run("chown", Self.unrelated, path)
        for creates in [false, true] {
            #expect(refusal(creates: creates) == PrivateDirectoryError(path: path, reason: .foreign))
        }
    }

    @Test(
        "A private directory below another user's directory is rejected at any depth",
        .enabled(if: isRoot, "only root can give directories away"))
    func foreignParent() throws {
        let deep = path + "/c/d"
        #expect(refusal(deep, creates: true) == nil)
        for parent in [directory.path + "/a", path, path + "/c"] {
            try run("chown", Self.unrelated, parent)
            for creates in [false, true] {
                let error = refusal(deep, creates: creates)
                #expect(error == PrivateDirectoryError(path: parent, reason: .foreignParent))
                #expect(error?.description.contains("belongs to another user") == true)
            }
            try run("chown", "0", parent)
            #expect(refusal(deep) == nil)
        }
        // The sticky bit keeps other users from renaming, but not the owner.
        try run("chmod", "1777", path)
        try run("chown", Self.unrelated, path)
        #expect(refusal(deep)?.reason == .foreignParent)
    }

    @Test("A link in the path is followed, and the directories that it leads through are checked like parents")
    func links() throws {
        #expect(refusal(creates: true) == nil)
        let link = directory.path + "/link"
        for target in [directory.path + "/a", "a", "./a/b/..", "../" + directory.path.dropFirst(5) + "/a"] {
            try run("ln", "-sfn", target, link)
            #expect(refusal(link + "/b") == nil, "\(target)")
        }
        // Through a link to a link, to a directory that doesn't exist yet.
        try run("ln", "-sfn", "link", directory.path + "/link2")
        #expect(refusal(directory.path + "/link2/new/x", creates: true) == nil)
        // The last component isn't allowed to be a link.
        #expect(refusal(link)?.reason == .failed(operation: "open", errno: ENOTDIR))
        // A safe link into a directory that others can write to.
        try run("chmod", "0777", directory.path + "/a")
        #expect(refusal(link + "/b") == PrivateDirectoryError(path: directory.path + "/a", reason: .openParent))
        try run("chmod", "0700", directory.path + "/a")
        #expect(refusal(link + "/b") == nil)
        // A loop of links ends in an error.
        try run("ln", "-sfn", "link2", link)
        #expect(refusal(link + "/b", creates: true)?.reason == .failed(operation: "open", errno: ELOOP))
    }

    @Test(
        "A link that belongs to another user is rejected, wherever it leads",
        .enabled(if: isRoot, "only root can give links away"))
    func foreignLink() throws {
        #expect(refusal(creates: true) == nil)
        let link = directory.path + "/link"
        try run("ln", "-s", "a", link)
        #expect(refusal(link + "/b") == nil)
        try run("chown", "-h", Self.unrelated, link)
        #expect(refusal(link + "/b") == PrivateDirectoryError(path: link, reason: .foreignParent))
    }
}
