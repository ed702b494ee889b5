import FoundationEssentials
import PinctlTestPKI
import Testing

/// What `tools/package` writes about a tarball, and the comparison of `tools/verify-package`, with a small tarball.
@Suite(
    "Documents of packages", .serialized,
    .enabled(if: TestCommand.isPresent("dpkg-query", "--version"), "dpkg is not installed"))
struct PackageDocumentTests {
    let directory: TestDirectory

    init() async throws { directory = try await Self.release.value }

    /// The files of a release in `built`, made once, since the digest of the compiler takes a second.
    private static let release = Task {
        let directory = try TestDirectory()
        let made = try await shell(
            """
            set -e
            mkdir -p pinctl-1.2.3/bin pinctl-1.2.3/share built
            printf program >pinctl-1.2.3/bin/pinctl
            printf text >'pinctl-1.2.3/share/a "quoted" name'
            tar -czf built/pinctl-1.2.3.tar.gz pinctl-1.2.3
            (cd built && sha256sum pinctl-1.2.3.tar.gz >pinctl-1.2.3.tar.gz.sha256)
            source \(Repository.root)/tools/package-documents
            export SOURCE_DATE_EPOCH=1790000000
            spdx built/pinctl-1.2.3.tar.gz pinctl-1.2.3 1.2.3 DYNAMIC_LINK=libc6 >built/pinctl-1.2.3.spdx.json
            cd built
            provenance 0123456789abcdef0123456789abcdef01234567 'A Name <name@example.org>' * >../statement
            mv ../statement pinctl-1.2.3.intoto.json
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        return directory
    }

    private struct BillOfMaterials: Decodable {
        struct Checksum: Decodable, Hashable {
            let algorithm: String
            let checksumValue: String
        }
        struct File: Decodable {
            let fileName: String
            let checksums: Set<Checksum>
        }
        struct Package: Decodable {
            let name: String
            let versionInfo: String
            let checksums: [Checksum]?
        }
        let spdxVersion: String
        let packages: [Package]
        let files: [File]
    }

    private struct Statement: Decodable {
        struct Subject: Decodable {
            let name: String
            let digest: [String: String]
        }
        let subject: [Subject]
        let predicateType: String
    }

    private func decoded<Document: Decodable>(_ name: String, as type: Document.Type) throws -> Document {
        let path = "\(directory.path)/built/\(name)"
        return try JSONDecoder().decode(type, from: try #require(FileManager.default.contents(atPath: path)))
    }

    private func digest(_ algorithm: String, _ file: String) async throws -> String {
        let run = try await shell("\(algorithm)sum <'\(file)' | cut -d ' ' -f 1", in: directory)
        return String(run.output.dropLast())
    }

    @Test("The bill of materials has the digests of the tarball and of each file in it")
    func billOfMaterials() async throws {
        let document = try decoded("pinctl-1.2.3.spdx.json", as: BillOfMaterials.self)
        #expect(document.spdxVersion == "SPDX-2.3")
        #expect(document.files.map(\.fileName) == ["./bin/pinctl", "./share/a \"quoted\" name"])
        for file in document.files {
            let expected = [
                BillOfMaterials.Checksum(
                    algorithm: "SHA1", checksumValue: try await digest("sha1", "pinctl-1.2.3/\(file.fileName)")),
                .init(algorithm: "SHA256", checksumValue: try await digest("sha256", "pinctl-1.2.3/\(file.fileName)")),
            ]
            #expect(file.checksums == Set(expected))
        }
        let whole = try await digest("sha256", "built/pinctl-1.2.3.tar.gz")
        #expect(document.packages.map(\.name) == ["pinctl", "swift", "libc6"])
        #expect(document.packages[0].checksums == [.init(algorithm: "SHA256", checksumValue: whole)])
        #expect(document.packages.allSatisfy { !$0.versionInfo.isEmpty })
    }

    @Test("The provenance has the digest of each file of the release")
    func provenance() async throws {
        let statement = try decoded("pinctl-1.2.3.intoto.json", as: Statement.self)
        #expect(statement.predicateType == "https://slsa.dev/provenance/v1")
        #expect(statement.subject.count == 3)
        for subject in statement.subject {
            #expect(subject.digest == ["sha256": try await digest("sha256", "built/\(subject.name)")])
        }
    }

    private func verify(_ change: String) async throws -> Run {
        try await shell(
            """
            rm -rf download; cp -r built download; (cd download; \(change)) || exit 99
            HOME=$PWD \(Repository.root)/tools/verify-package --against built download
            """, in: directory)
    }

    @Test("verify-package accepts a download with the same bytes, whole or in part")
    func same() async throws {
        let whole = try await verify("true")
        #expect(whole.status == 0, "\(whole.output)\(whole.errors)")
        #expect(whole.lines.last == "the release is what commit 0123456789abcdef0123456789abcdef01234567 builds")
        let part = try await verify("rm *.spdx.json *.sha256")
        #expect(part.status == 0, "\(part.output)\(part.errors)")
    }

    @Test(
        "verify-package refuses a download in which one byte of a file is different",
        arguments: [".tar.gz", ".tar.gz.sha256", ".spdx.json", ".intoto.json"])
    func changed(suffix: String) async throws {
        let run = try await verify("printf X | dd of=pinctl-1.2.3\(suffix) bs=1 seek=40 conv=notrunc status=none")
        #expect(run.status == 1, "\(run.output)\(run.errors)")
        #expect(run.lines.contains("FAIL  pinctl-1.2.3\(suffix) differs from the one that was built"))
    }

    static let refused: [(change: String, status: Int32, message: String)] = [
        ("printf x >more", 1, "more isn't part of the release"),
        ("ln -s /dev/null more.tar.gz", 1, "more.tar.gz isn't part of the release"),
        ("rm *.tar.gz", 2, "has no tarball or Debian package"),
        ("rm *.intoto.json", 2, "needs exactly one file .intoto.json"),
        ("cp *.intoto.json more.intoto.json", 2, "needs exactly one file .intoto.json"),
        ("sed -i 's/\"commit\": \"0/\"commit\": \"$(id)/' *.intoto.json", 2, "has no commit"),
    ]

    @Test("CL1: verify-package escapes what it prints of a download")
    func escapes() async throws {
        let run = try await verify(
            "printf x >\"$(printf 'a\\033[2Kb')\"; sed -i \"s/Swift version/$(printf 'Swift\\033[2K')/\" *.intoto.json")
        #expect(run.status == 1)
        #expect(
            run.output.contains("a?[2Kb isn't part of the release") && run.output.contains("other tools or libraries"))
        #expect(!run.output.contains("\u{1B}"))
    }

    @Test("verify-package refuses more files, fewer, and a statement without a commit", arguments: refused)
    func refuses(change: String, status: Int32, message: String) async throws {
        let run = try await verify(change)
        #expect(run.status == status, "\(run.output)\(run.errors)")
        #expect((run.output + run.errors).contains(message), "\(run.output)\(run.errors)")
    }
}
