import PinctlTestPKI
import Testing

@Suite("Files that name other files", .enabled(if: TestCommand.isPresent("strace", "-V"), "strace is not installed"))
struct ForeignEntityTests {
    @Test(
        "XI1: pinctl opens the file it was given, and no file that its contents refer to",
        arguments: [
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>"
                + "<network-security-config>&x;</network-security-config>",
            "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:9/passwd\"> %p;]><network-security-config/>",
            "<!DOCTYPE plist SYSTEM \"ftp://127.0.0.1:9/passwd\"><plist><dict/></plist>",
            "<?xml-stylesheet href=\"/etc/passwd\"?><network-security-config/>",
            "<network-security-config><xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"/etc/passwd\"/>"
                + "</network-security-config>",
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
                + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\"><plist><dict/></plist>",
        ])
    func otherFiles(document: String) async throws {
        let directory = try TestDirectory()
        _ = try directory.add(document, name: "given.xml")
        let run = try await shell(
            "strace -f -e trace=%file,%network -o trace pinctl import given.xml; cat trace", in: directory)
        #expect(run.output.contains("\"given.xml\""))
        for word in ["passwd", "socket(", "connect(", "PropertyList-1.0"] {
            #expect(!run.output.contains(word), "\(word)")
        }
        #expect(run.errors.contains("given.xml"))
    }
}
