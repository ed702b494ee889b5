import Glibc
import PinctlTestPKI
import Testing

/// The environment of a program whose owner is another user than its caller.
@Suite(
    .enabled("these tests need root, setpriv, and a /tmp that allows set-user-ID programs") {
        geteuid() == 0 && TestCommand.isPresent("setpriv", "--version")
            && TestCommand.isPresent("bash", "-c", "! findmnt -nT /tmp -o OPTIONS | grep -q nosuid")
    })
struct SetUserIDTests {
    @Test(
        "A set-user-ID program takes neither its roots nor its policy from its caller's environment",
        arguments: ["755", "4755"])
    func environment(mode: String) async throws {
        let site = try TestSite("api.test", isValidNow: true)
        let directory = try TestDirectory()
        let root = try directory.add(Array(site.root.pemText.utf8), name: "root.pem", mode: 0o644)
        let chain = try directory.add(Array(site.chain.map(\.pemText).joined().utf8), name: "chain.pem", mode: 0o644)
        let run = try await shell(
            """
            cp "$(command -v pinctl)" copy
            chmod 711 .
            chmod \(mode) copy
            setpriv --reuid=65534 --regid=65534 --clear-groups env SSL_CERT_FILE=\(root) \\
                ./copy verify \(chain) --host api.test
            first=$?
            setpriv --reuid=65534 --regid=65534 --clear-groups env PINCTL_POLICY=\(root) ./copy check >&2
            exit $first
            """, in: directory)
        let isSetUserID = mode == "4755"
        #expect(run.status == (isSetUserID ? 4 : 0), "\(run)")
        #expect(run.errors.contains(isSetUserID ? "pins/pins.jsonc" : root), "\(run)")
    }
}
