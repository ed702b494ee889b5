import FoundationEssentials
import PinctlTestPKI
import Testing

/// The built program with shells, pipes and signals.
@Suite("The program as a process")
struct ProcessTests {
    let directory: TestDirectory
    let certificate: TestCertificate

    init() throws {
        directory = try TestDirectory()
        certificate = try TestCertificate.root("Test Root")
        _ = try directory.add(certificate.pemText, name: "c.pem")
        _ = try directory.add(certificate.derBytes, name: "c.der")
    }

    @Test("hash prints a pin from files, pipes and links, with an empty environment or closed descriptors")
    func plain() async throws {
        let pin = try certificate.key.pin + "\n"
        for script in [
            "pinctl hash c.pem", "pinctl hash - < c.pem", "cat c.pem | pinctl hash -", "pinctl hash <(cat c.pem)",
            "cp c.pem ./-c; pinctl hash -- -c", "ln -s c.pem link; pinctl hash link",
            "(while read -r line; do echo \"$line\"; done < c.pem) | pinctl hash -",
            "env -i \"$(command -v pinctl)\" hash c.pem", "mkfifo f; (cat c.pem > f) & pinctl hash f",
            "mkfifo late; (sleep 0.3; cat c.pem > late) & pinctl hash late", "pinctl hash c.pem 2>&-",
            "pinctl hash c.pem <&-", "pinctl hash c.pem < /dev/full",
            // A sanitizer gets its suppressions from the environment.
        ] where MemoryScan.isPossible || !script.hasPrefix("env -i ") {
            let run = try await shell(script, in: directory)
            #expect(run.output == pin, "\(script)")
            #expect(run.errors == "", "\(script)")
            #expect(run.status == 0, "\(script)")
        }
    }

    static let badInputs: [(script: String, message: String)] = [
        (": > in", "is empty"), ("printf x > in", "contains neither PEM nor DER"),
        ("printf '\\x30' > in", "ends inside"),
        ("printf '\\x00' > in", "binary data"), ("head -c 200 c.der > in", "short"),
        ("printf '\\x30\\x80\\x30\\x80\\x00\\x00\\x00\\x00' > in", "invalid DER length"),
        ("printf '\\x30\\x81\\x02\\x05\\x00' > in", "invalid DER length"),
        ("printf '\\x30\\x82\\x00\\x02\\x05\\x00' > in", "invalid DER length"),
        ("(cat c.der; printf x) > in", "1 bytes of trailing data"),
        ("truncate -s 1G in", "binary data"),
        ("printf '\\x30\\x84\\x3f\\xff\\xff\\xff' > in; truncate -s 1G in", "larger than"),
        (
            "(printf ' %.0s' {1..999}; truncate -s 1G /dev/stdout 2>/dev/null; true) > in; truncate -s 1G in",
            "binary data"
        ),
        ("mkdir in", "is an empty directory"), ("mkfifo in", "no process writes to this pipe"),
        ("ln -s /dev/zero in", "binary data"),
        ("ln -s nowhere in", "no such file"), ("ln -s in in", "symbolic links"),
        ("ln -s /proc/self/mem in", "cannot read it"),
        ("ln -s /dev/null in", "is empty"), ("head -n 5 c.pem > in", "no -----END CERTIFICATE----- line"),
        ("(cat c.pem; sed s/^MII/!II/ c.pem) > in", "has invalid base64"),
        ("yes > in & sleep 0.1; kill $!", "neither PEM nor DER"),
        (
            "(echo -----BEGIN CERTIFICATE-----; yes | head -c 3000000; echo -----END CERTIFICATE-----) > in",
            "larger than"
        ),
    ]

    @Test("CL3: Bad input is named and exits with 2, without a trap or a hang", arguments: badInputs)
    func badInput(script: String, message: String) async throws {
        let run = try await shell("\(script); pinctl hash in", in: directory)
        #expect(run.status == 2)
        #expect(run.errors.hasPrefix("pinctl: in"))
        #expect(run.errors.contains(message), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1)
        #expect(run.output == "" || script.contains("sed"))
    }

    @Test("The program ends quietly when the reader closes the pipe")
    func closedPipe() async throws {
        _ = try await shell("for i in {1..2000}; do cat c.pem; done > many.pem", in: directory)
        for script in [
            "pinctl hash many.pem | head -n 1 > first", "pinctl hash --json many.pem | head -n 1 > first",
            "trap '' PIPE; pinctl hash many.pem | head -n 1 > first",
            "env --block-signal=PIPE pinctl hash many.pem | head -n 1 > first",
            "(while cat c.pem; do :; done) 2> /dev/null | pinctl hash - | head -n 1 > first",
        ] {
            let run = try await shell("\(script); echo ${PIPESTATUS[*]}; wc -l < first", in: directory)
            #expect(run.output.contains("141 0\n1\n"), "\(script)")
            #expect(run.errors == "", "\(script)")
        }
    }

    @Test("Output that can't be written is reported, with exit code 2")
    func fullDisk() async throws {
        for command in ["hash c.pem", "hash --json c.pem", "--help", "--version", "hash -l c.pem c.pem"] {
            let full = try await shell("pinctl \(command) > /dev/full", in: directory)
            #expect(full.errors == "pinctl: cannot write to standard output: No space left on device\n")
            #expect(full.status == 2)
            let closed = try await shell("pinctl \(command) >&-", in: directory)
            #expect(closed.errors == "pinctl: cannot write to standard output: Bad file descriptor\n")
            #expect(closed.status == 2)
            #expect(try await shell("pinctl \(command) > /dev/full 2> /dev/full", in: directory).status == 2)
        }
    }

    @Test("CL8: With closed descriptors the program neither crashes nor writes into a file that it opened")
    func closedDescriptors() async throws {
        let before = try await shell("sha256sum c.pem", in: directory).output
        for closed in ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
            let run = try await shell("pinctl hash c.pem /no/such - \(closed)", in: directory)
            #expect(run.status == 2, "\(closed)")
            let isOutputClosed = closed.split(separator: " ").contains(">&-")
            #expect(run.output.contains("sha256/") != isOutputClosed, "\(closed)")
            #expect(try await shell("sha256sum c.pem", in: directory).output == before)
        }
        let input = try await shell("pinctl hash - <&-", in: directory)
        #expect(input.errors == "pinctl: standard input: cannot read it: Bad file descriptor\n")
    }

    @Test("A filename that isn't UTF-8 doesn't open another file")
    func namesOfOtherBytes() async throws {
        // Arguments arrive as text, in which U+FFFD replaces bytes that aren't UTF-8.
        let run = try await shell("cp c.pem $'\\xEF\\xBF\\xBD'; pinctl hash $'\\xFF' c.pem", in: directory)
        #expect(run.status == 2)
        #expect(run.lines.count == 1)
        #expect(run.errors.contains("its name is not UTF-8"))
    }

    @Test("SIGINT ends with 130, SIGTERM with 143, SIGQUIT with 131, and a trap is reported as an internal error")
    func signals() async throws {
        // The FIFO has a writer that writes nothing, so the reader waits for it.
        let wait = "mkfifo quiet; exec 3<>quiet; timeout --preserve-status -s SIGNAL 0.5 pinctl hash quiet"
        for (signal, status) in [("INT", Int32(130)), ("TERM", 143), ("QUIT", 131), ("ILL", 70), ("TRAP", 70)] {
            let run = try await shell(
                wait.replacing("SIGNAL", with: signal).replacing("quiet", with: signal), in: directory)
            #expect(run.status == status)
            #expect(run.output == "")
            #expect((status == 70) == run.errors.hasPrefix("pinctl: internal error: "))
        }
    }

    @Test("CL9: Five thousand operands are accepted")
    func manyOperands() async throws {
        let run = try await shell("pinctl hash $(yes c.pem | head -n 5000) | sort | uniq -c", in: directory)
        #expect(run.output.hasPrefix("   5000 sha256/"))
        #expect(run.lines.count == 1)
    }

    @Test("A server that breaks the connection is reported, and doesn't kill the program")
    func brokenConnection() async throws {
        let site = try PinctlSite()
        for script in [LoopbackServer.Script.closeAfterAccept, .closeAfterHandshake] {
            try await site.serve(script: script) { server in
                let run = try await shell("pinctl check --pin \(unknownPin) \(server.target())")
                #expect([3, 4].contains(run.status))
            }
        }
    }
}
