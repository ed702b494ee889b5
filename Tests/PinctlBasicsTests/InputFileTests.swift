import PinctlBasics
import PinctlTestPKI
import Testing

@Suite struct InputFileTests {
    @Test("CL3: a file as large as the limit is read whole, and one more byte is an error")
    func limit() throws {
        let directory = try TestDirectory()
        let bytes = [UInt8](repeating: 7, count: 200_000)
        let path = try directory.add(bytes)
        #expect(try InputFile.contents(ofFile: path, limit: bytes.count) == bytes)
        #expect(throws: InputFileError(path: path, reason: .tooLarge(limit: bytes.count - 1))) {
            try InputFile.contents(ofFile: path, limit: bytes.count - 1)
        }
    }
}
