import FoundationEssentials
import Testing

@Suite("Fuzz targets")
struct SeedTests {
    private static let seeds = String(#filePath.dropLast("Sources/fuzz/SeedTests.swift".count)) + "seeds/"

    @Test("Each target takes its seeds, of which it has at least one", arguments: FuzzTarget.all.map(\.name))
    func seeds(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.seeds + name)
        #expect(!files.isEmpty)
        for file in files {
            target.run(Array(try #require(FileManager.default.contents(atPath: "\(Self.seeds)\(name)/\(file)"))))
        }
    }

    @Test("No directory of seeds is without a target")
    func targets() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.seeds)
        #expect(Set(names) == Set(FuzzTarget.all.map(\.name)))
    }
}
