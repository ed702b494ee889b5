import Testing

@testable import PinctlCommands

@Suite("ELF files")
struct ELFFileTests {
    private static let whole = TestELF(
        needed: ["libone.so.1", "libtwo.so"], rpath: "/a:$ORIGIN/b", runpath: "/c", modules: ["Program", "Library"])

    @Test("A file shows the libraries that it needs, where they are looked for, and its modules")
    func read() throws {
        let file = try ELFFile(Self.whole.bytes)
        #expect(file.needed == ["libone.so.1", "libtwo.so"])
        #expect(file.rpath == ["/a", "$ORIGIN/b"])
        #expect(file.runpath == ["/c"])
        #expect(file.swiftModules == ["Program", "Library"])
        #expect(file.machine == 62)
    }

    struct Damage: Sendable {
        let what: String
        /// Bytes that replace those at an offset. A negative offset counts from the end.
        let offset: Int
        let bytes: [UInt8]
        let error: ELFError
    }

    /// The sections' headers are the last 192 bytes, and `swift5_type_metadata` is the last of them.
    static let damages: [Damage] = [
        Damage(what: "another magic number", offset: 1, bytes: [0x46], error: .notELF),
        Damage(
            what: "32 bits", offset: 4, bytes: [1], error: .unsupported("it isn't 64-bit and little-endian")),
        Damage(what: "an object file", offset: 16, bytes: [1], error: .unsupported("it isn't linked")),
        Damage(
            what: "small headers", offset: 54, bytes: [55], error: .unsupported("it has headers of another kind")),
        Damage(
            what: "headers behind the end", offset: 32, bytes: [0, 0, 0, 0, 1],
            error: .damaged("it ends in its headers")),
        Damage(
            what: "an offset of 63 bits", offset: TestELF.programHeaders + 8,
            bytes: [0, 0, 0, 0, 0, 0, 0, 0x7F], error: .damaged("a part of it is missing")),
        Damage(
            what: "an address without an end", offset: TestELF.programHeaders + 16,
            bytes: [UInt8](repeating: 0xFF, count: 8), error: .damaged("a segment has no end")),
        Damage(
            what: "a name behind the end", offset: TestELF.dynamic + 8, bytes: [0xFF, 0xFF, 0xFF, 0x7F],
            error: .damaged("it refers to what isn't in the file")),
        Damage(
            what: "libraries without names", offset: TestELF.dynamic + 64, bytes: [6],
            error: .damaged("its libraries have no names")),
        Damage(
            what: "types behind the end", offset: -64 + 32, bytes: [0xFF, 0xFF, 0xFF],
            error: .damaged("a part of it is missing")),
        Damage(
            what: "types at an address of 64 bits", offset: -64 + 16, bytes: [UInt8](repeating: 0xFF, count: 8),
            error: .damaged("an address is too large")),
        Damage(
            what: "a section without a name", offset: -64, bytes: [0xFF, 0xFF],
            error: .damaged("a section has no name")),
    ]

    @Test("A damaged file is an error, and not a file without modules", arguments: damages)
    func damaged(_ damage: Damage) {
        var bytes = Self.whole.bytes
        let start = damage.offset < 0 ? bytes.count + damage.offset : damage.offset
        bytes.replaceSubrange(start..<start + damage.bytes.count, with: damage.bytes)
        #expect(throws: damage.error, "\(damage.what)") { try ELFFile(bytes) }
    }

    @Test("A file whose section headers were removed is an error, because its modules can't be seen")
    func unseen() {
        var file = Self.whole
        file.hasSections = false
        #expect(throws: ELFError.unsupported("its section headers were removed")) { try ELFFile(file.bytes) }
    }

    @Test("Types that are nested in themselves end", .timeLimit(.minutes(1)))
    func endless() {
        var file = Self.whole
        file.isEndless = true
        #expect(throws: ELFError.damaged("a type is nested in itself")) { try ELFFile(file.bytes) }
    }

    @Test("Every shorter file is an error")
    func cutOff() {
        let bytes = Self.whole.bytes
        for count in 0..<bytes.count {
            #expect(throws: ELFError.self) { try ELFFile(Array(bytes[..<count])) }
        }
    }

    @Test("No byte of a file makes the reader trap")
    func changed() {
        let bytes = Self.whole.bytes
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF, bytes[index] ^ 4, bytes[index] &+ 1] {
                var changed = bytes
                changed[index] = value
                _ = try? ELFFile(changed)
            }
        }
    }
}
