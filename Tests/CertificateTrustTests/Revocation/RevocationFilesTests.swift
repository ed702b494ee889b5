import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Revocation list files")
struct RevocationFilesTests {
    let directory: TestDirectory
    let root: TestCertificate
    let list: [UInt8]

    init() throws {
        directory = try TestDirectory()
        root = try TestCertificate.root("Root")
        list = try root.revocationList(.init([0x41]))
    }

    private var pem: String { TestPEM.block("X509 CRL", list) }

    @Test("Lists and the certificates next to them are read from PEM and DER")
    func formats() throws {
        let other = try root.revocationList()
        let evidence = try RevocationEvidence(files: [
            try directory.add("a list\n" + pem + root.pemText + "\n" + TestPEM.block("X509 CRL", other)),
            try directory.add(list),
        ])
        #expect(evidence.lists.map(\.derBytes) == [list, other, list])
        #expect(evidence.certificates.map(\.derBytes) == [root.derBytes])
        #expect(evidence.lists[0] == evidence.lists[2])
        #expect(evidence.lists[0] != evidence.lists[1])
        #expect(evidence.lists[0].issuer.description == "CN=Root")
        #expect(evidence.lists[0].thisUpdate.timeIntervalSince1970 == 1_799_000_000)
        #expect(evidence.lists[0].nextUpdate?.timeIntervalSince1970 == 1_801_000_000)
    }

    @Test("A broken list makes its file an error, and so does a file without lists")
    func brokenFiles() throws {
        let broken = TestPEM.block("X509 CRL", list.dropLast())
        for text in [broken, pem + broken, pem.replacing("-----END", with: "----END"), root.pemText, "", "a text"] {
            let file = try directory.add(text)
            #expect(throws: RevocationFileError.self) { try RevocationEvidence(files: [file]) }
        }
        let error = #expect(throws: RevocationFileError.self) {
            try RevocationEvidence(files: [try directory.add(pem + broken, name: "lists.pem")])
        }
        let line = pem.count { $0 == "\n" } + 1
        #expect(error?.description.hasPrefix("\(directory.path)/lists.pem:\(line): CRL or certificate ") == true)
        #expect(throws: RevocationFileError.self) { try RevocationEvidence(files: [directory.path + "/none"]) }
    }

    @Test("A directory is read whole: a text file is ignored, and a broken list is an error")
    func directories() throws {
        #expect(throws: RevocationFileError.noList(path: directory.path)) {
            try RevocationEvidence(directory: directory.path)
        }
        _ = try directory.add("what is here", name: "README")
        _ = try directory.add(pem, name: "root.pem")
        _ = try directory.add(root.derBytes, name: "root.der")
        let evidence = try RevocationEvidence(directory: directory.path)
        #expect(evidence.lists.map(\.derBytes) == [list])
        #expect(evidence.certificates.map(\.derBytes) == [root.derBytes])
        _ = try directory.add(list.dropLast(), name: "broken.crl")
        #expect(throws: RevocationFileError.self) { try RevocationEvidence(directory: directory.path) }
        #expect(throws: RevocationFileError.self) { try RevocationEvidence(directory: directory.path + "/none") }
    }

    @Test("A list larger than the limit for other objects is read")
    func large() throws {
        let entries = (0..<60_000).map { TestRevocationList.Entry([0x40, UInt8($0 >> 8), UInt8($0 & 0xFF)]) }
        let large = try root.revocationList { $0.entries = entries }
        #expect(large.count > PEMReader.objectLimit)
        let files = [try directory.add(TestPEM.block("X509 CRL", large)), try directory.add(large)]
        #expect(try RevocationEvidence(files: files).lists.count == 2)
    }

    @Test("Bytes that aren't the DER of a valid list are rejected")
    func malformed() throws {
        var variants = [list + [0], Array(list.dropLast()), root.derBytes, []]
        // The first identifier is that of the inner algorithm, which must equal the outer one.
        var other = list
        other[try #require(other.firstIndex(of: 0x06)) + 8] ^= 1
        variants.append(other)
        variants.append(try root.revocationList(.init([0x00, 0x41])))
        variants.append(try root.revocationList(.init([])))
        variants.append(try root.revocationList { $0.extensions = [.init("2.5.29.20", TestDER.integer(1))] })
        variants.append(
            try root.revocationList {
                $0.number = nil
                $0.extensions = [.init("2.5.29.20", TestDER.integer(octets: [0xFF]))]
            })
        variants.append(try root.revocationList { $0.scope = TestDER.primitive(1, [0x01]) })
        for variant in variants {
            #expect(throws: DERError.self) { try CertificateRevocationList(derBytes: variant) }
        }
    }
}
