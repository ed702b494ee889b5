import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Tests of the copies that reading a private key makes. Each key has the same secret, and another size, so that the
/// next one doesn't take the place of a copy that was left.
@Suite("CS2: Copies of private keys in memory", .enabled(if: MemoryScan.isPossible, "a sanitizer keeps what was freed"))
struct WipedKeyTests {
    /// The secret, inverted, because the scan would find it otherwise.
    private let needle = (0..<42).map { _ in UInt8.random(in: 1...254) }

    /// Private keys of a version of PKCS #8, into which the secret is written without a copy. It begins where four
    /// characters of Base64 begin.
    private func keys(version: UInt8) -> [[UInt8]] {
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("1.2.3.4"))
        return (0..<24).map { number in
            let content = [UInt8](repeating: 0, count: 200 + 48 * number)
            let publicKey = version == 1 ? TestDER.primitive(1, [0, 4, 5, 6]) : []
            var key = TestDER.sequence(
                TestDER.integer(octets: [version]), algorithm, TestDER.octetString(content), publicKey)
            let start = (key.count - publicKey.count - content.count + 66) / 3 * 3
            for index in needle.indices { key[start + index] = ~needle[index] }
            return key
        }
    }

    /// The digits of the secret in Base64, inverted.
    private func digits() -> [UInt8] {
        var secret = needle.map { ~$0 }
        defer { wipe(&secret) }
        return Base64.encode(secret.span).utf8.map { ~$0 }
    }

    @Test("A private key in bare Base64 is overwritten after it was read, alone, with others and with other text")
    func bareBase64() throws {
        let keys = keys(version: 0)
        let lines = keys.map { Base64.encode($0.span) }
        let joined = lines.joined(separator: "\n")
        // After each round, before another text takes the place of a copy that was left.
        let rounds = [[joined + "\nand a word"], lines, [joined]].map { $0.map { Array($0.utf8) } }
        let digits = digits()
        let before = (try MemoryScan.count(inverted: needle), try MemoryScan.count(inverted: digits))
        #expect(before.0 >= keys.count && before.1 >= keys.count)
        for (number, texts) in rounds.enumerated() {
            var (count, isText) = (0, false)
            for text in texts {
                do throws(KeyFile.Failure) {
                    try KeyFile.readObjects(text) { _, _, _, der in count += der.count > 200 ? 1 : 0 }
                } catch {
                    isText = error == .format(.noBlock)
                }
            }
            #expect(isText ? number == 0 && count == 0 : count == keys.count, "\(number)")
            #expect(try MemoryScan.count(inverted: needle) <= before.0, "\(number)")
            #expect(try MemoryScan.count(inverted: digits) <= before.1, "\(number)")
        }
        withExtendedLifetime((keys, lines, joined, rounds)) {}
    }

    @Test("A private key of version 2 is overwritten after it was read as version 1")
    func versionTwo() throws {
        let keys = keys(version: 1)
        let before = try MemoryScan.count(inverted: needle)
        #expect(before >= keys.count)
        var count = 0
        for key in keys {
            PrivateKeyInfo.withFirstVersion(of: key.span) { der, publicKey in
                count += publicKey != nil && der.count < key.count ? 1 : 0
            }
        }
        #expect(count == keys.count)
        #expect(try MemoryScan.count(inverted: needle) <= before)
        withExtendedLifetime(keys) {}
    }
}
