import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Linked programs")
struct LinkedProgramTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func add(_ file: TestELF, _ name: String) throws -> String { try directory.add(file.bytes, name: name) }

    private func modules(_ path: String, _ variables: [String: String] = [:]) throws -> [String: [String]] {
        try LinkedProgram(path, variables: variables).modules
    }

    @Test("The libraries of a program are found as the loader finds them, with their own")
    func libraries() throws {
        _ = try TestCommand.run(["mkdir", directory.path + "/lib", directory.path + "/more"])
        let program = try add(TestELF(needed: ["libone.so"], runpath: "$ORIGIN/lib", modules: ["Program"]), "program")
        let one = try add(
            TestELF(needed: ["libtwo.so"], runpath: "${ORIGIN}/../more", modules: ["One"]), "lib/libone.so")
        _ = try add(TestELF(modules: ["Two"]), "more/libtwo.so")
        #expect(
            try modules(program) == [
                "Program": [program], "One": [one], "Two": [directory.path + "/lib/../more/libtwo.so"],
            ])
    }

    @Test("DT_RPATH counts for the libraries of libraries, and DT_RUNPATH doesn't")
    func inheritance() throws {
        let library = TestELF(needed: ["libtwo.so"], modules: ["One"])
        _ = try add(library, "libone.so")
        _ = try add(TestELF(modules: ["Two"]), "libtwo.so")
        let old = try add(TestELF(needed: ["libone.so"], rpath: "$ORIGIN"), "old")
        #expect(try modules(old).keys.sorted() == ["One", "Two"])
        let new = try add(TestELF(needed: ["libone.so"], rpath: "$ORIGIN", runpath: "$ORIGIN"), "new")
        #expect(throws: LinkError.self) { try modules(new) }
        #expect(try modules(new, ["LD_LIBRARY_PATH": directory.path]).keys.sorted() == ["One", "Two"])
    }

    @Test("A library for another processor is skipped")
    func machine() throws {
        _ = try TestCommand.run(["mkdir", directory.path + "/other", directory.path + "/own"])
        _ = try add(TestELF(modules: ["Other"], machine: 183), "other/libone.so")
        _ = try add(TestELF(modules: ["Own"]), "own/libone.so")
        let program = try add(TestELF(needed: ["libone.so"], runpath: "$ORIGIN/other:$ORIGIN/own"), "program")
        #expect(try modules(program).keys.sorted() == ["Own"])
    }

    @Test("A library that isn't found is an error, because it may be any")
    func missingLibrary() throws {
        let program = try add(TestELF(needed: ["libnosuch.so.1"], modules: ["PinnedNetworking"]), "program")
        let error = #expect(throws: LinkError.self) { try modules(program) }
        #expect(error.map { "\($0)".hasPrefix("libnosuch.so.1, which \(program) needs, wasn't found") } == true)
    }

    struct Case: Sendable {
        let what: String
        let modules: [String]
        let library: [String]
        let status: Int32
        let lines: [String]
    }

    static let cases = [
        Case(
            what: "a pinned program", modules: ["PinnedNetworking"], library: ["Foundation"], status: 0,
            lines: ["ok    PROGRAM  contains PinnedNetworking, and doesn't link FoundationNetworking"]),
        Case(
            what: "a static program with both", modules: ["PinnedNetworking", "FoundationNetworking"], library: [],
            status: 1,
            lines: [
                "FAIL  PROGRAM  contains FoundationNetworking: build it and its dependencies with $(pinctl swift-flags)"
            ]),
        Case(
            what: "a program whose library is FoundationNetworking", modules: ["PinnedNetworking"],
            library: ["FoundationNetworking"], status: 1,
            lines: [
                "FAIL  PROGRAM  links FoundationNetworking (DIRECTORY/libone.so): build it and its dependencies with "
                    + "$(pinctl swift-flags)"
            ]),
        Case(
            what: "a program without either", modules: ["Program"], library: [], status: 1,
            lines: ["FAIL  PROGRAM  doesn't contain PinnedNetworking: nothing in it is pinned by PinnedNetworking"]),
        Case(
            what: "a program that was built without the flags", modules: ["Program"],
            library: ["FoundationNetworking"], status: 1,
            lines: [
                "FAIL  PROGRAM  links FoundationNetworking (DIRECTORY/libone.so): build it and its dependencies with "
                    + "$(pinctl swift-flags)",
                "FAIL  PROGRAM  doesn't contain PinnedNetworking: nothing in it is pinned by PinnedNetworking",
            ]),
    ]

    @Test("Only a program with PinnedNetworking and without FoundationNetworking is good", arguments: cases)
    func check(_ row: Case) async throws {
        _ = try add(TestELF(modules: row.library), "libone.so")
        let program = try add(TestELF(needed: ["libone.so"], runpath: "$ORIGIN", modules: row.modules), "program")
        let run = await pinctl(["swift-flags", "--check", program])
        #expect(run.status == row.status, "\(row.what)")
        let lines = row.lines.map {
            $0.replacing("PROGRAM", with: program).replacing("DIRECTORY", with: directory.path) + "\n"
        }
        #expect(run.output == lines.joined())
    }

    /// The directory of the Swift runtime's libraries of this process, or `nil` if they are linked statically.
    private static let runtime: String? = {
        let maps = String(
            decoding: (try? InputFile.contents(ofFile: "/proc/self/maps", limit: 1 << 24)) ?? [], as: UTF8.self)
        return maps.split(separator: "\n").lazy.compactMap { $0.split(separator: " ").last.map(String.init) }
            .first { $0.hasSuffix("/libFoundationEssentials.so") }
            .map { String($0.dropLast("/libFoundationEssentials.so".count)) }
    }()

    @Test("The toolchain's FoundationNetworking is recognized, whatever its name", .enabled(if: runtime != nil))
    func toolchain() throws {
        let runtime = try #require(Self.runtime)
        let copy = directory.path + "/libanything.so"
        _ = try TestCommand.run(["cp", runtime + "/libFoundationNetworking.so", copy])
        #expect(try modules(copy, ["LD_LIBRARY_PATH": runtime])["FoundationNetworking"] == [copy])
        #expect(try modules(runtime + "/libFoundation.so")["FoundationNetworking"] == nil)
    }
}
