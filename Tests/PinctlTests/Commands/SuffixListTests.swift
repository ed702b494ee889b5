import PinctlTestPKI
import Testing

/// The setting that names the public suffix list, and the warning about its age.
@Suite("The public suffix list")
struct SuffixListTests {
    @Test("Only a list that refused something, or lint, is warned about, and a named list has any age")
    func warning() async throws {
        let directory = try TestDirectory()
        _ = try directory.add("// VERSION: 2015-01-01\n// ===BEGIN ICANN DOMAINS===\ncom\nco.test\n", name: "old.dat")
        _ = try directory.add("", name: "empty.dat")
        for (host, name) in [("api.example.com", "good.jsonc"), ("co.test", "suffix.jsonc")] {
            _ = try directory.add(
                """
                { "version": 1, "domains": [{ "host": "\(host)", "subdomains": true,
                  "pins": ["\(unknownPin)", \
                { "pin": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "backup": true }] }] }
                """, name: name)
        }
        let run = try await shell(
            """
            explain() { pinctl explain a.api.example.com --policy $1 > /dev/null; echo $?; }
            explain good.jsonc; explain suffix.jsonc 2> /dev/null
            export PINCTL_PUBLIC_SUFFIXES=old.dat; explain good.jsonc; explain suffix.jsonc 2> /dev/null
            explain suffix.jsonc 2>&1 | grep -c 'warning:'
            for file in empty.dat /no/such; do PINCTL_PUBLIC_SUFFIXES=$file explain good.jsonc; done
            """, in: directory)
        #expect(run.lines == ["0", "1", "0", "2", "0", "2", "2"], "\(run)")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("pinctl: PINCTL_PUBLIC_SUFFIXES: ") }, "\(run)")
    }
}
