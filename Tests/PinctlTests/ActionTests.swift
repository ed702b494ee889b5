import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// `tools/action`, whose steps run as GitHub's runner runs them, with releases served from a directory.
@Suite("The GitHub action", .enabled(if: TestCommand.isPresent("curl", "--version"), "curl is not installed"))
struct ActionTests {
    let directory: TestDirectory
    /// The action's script.
    static let install = Repository.root + "/tools/action/install"

    /// A release 1.2.3 that contains the program under test.
    init() async throws {
        directory = try TestDirectory()
        let made = try await shell(
            """
            name=pinctl-1.2.3-linux-$(uname -m)
            mkdir -p releases/v1.2.3 tree/$name/bin temporary
            printf '#!/bin/sh\\nexec %s "$@"\\n' "$(command -v pinctl)" >tree/$name/bin/pinctl
            chmod 755 tree/$name/bin/pinctl
            tar -C tree -czf releases/v1.2.3/$name.tar.gz $name
            cd releases/v1.2.3 && sha256sum $name.tar.gz >$name.tar.gz.sha256
            """, in: directory)
        #expect(made.status == 0, "\(made.errors)")
    }

    private func run(_ variables: String, before: String = "", after: String = "") async throws -> Run {
        try await shell(
            """
            \(before)
            export RUNNER_TEMP=$PWD/temporary GITHUB_PATH=$PWD/path GITHUB_OUTPUT=$PWD/output
            export PINCTL_VERSION=1.2.3 PINCTL_RELEASES=file://$PWD/releases PINCTL_SHA256=
            : >path; : >output
            \(variables) \(Self.install) || exit
            \(after)
            """, in: directory)
    }

    @Test("The action adds a release to the PATH of the following steps")
    func installs() async throws {
        let run = try await run("", after: "PATH=$(cat path):$PATH; pinctl --version; cat output")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        try #require(run.lines.count == 3)
        #expect(run.lines[0].hasPrefix("pinctl ") && run.lines[0] == run.lines[1])
        #expect(run.lines[2].hasPrefix("path=\(directory.path)/temporary/"))
    }

    @Test("The action accepts a release with the given checksum and rejects any other")
    func checksum() async throws {
        let given = try await run("PINCTL_SHA256=$(sha256sum releases/v1.2.3/*.gz | cut -d' ' -f1)", before: "")
        #expect(given.status == 0, "\(given.output)\(given.errors)")
        let other = try await run("PINCTL_SHA256=\(String(repeating: "0", count: 64))", after: "cat path")
        #expect(other.status == 1)
        #expect(other.output.contains("::error title=pinctl::pinctl-1.2.3-linux-"))
    }

    static let refused: [(variables: String, before: String, message: String)] = [
        ("", "printf x >>releases/v1.2.3/pinctl-1.2.3-linux-$(uname -m).tar.gz", "checksum mismatch"),
        ("", "rm releases/v1.2.3/*.sha256", "sha256 can't be downloaded"),
        (
            "", "echo nonsense >releases/v1.2.3/pinctl-1.2.3-linux-$(uname -m).tar.gz.sha256",
            "malformed checksum file"
        ),
        ("PINCTL_VERSION=9.9.9", "", "can't be downloaded"), ("PINCTL_VERSION=../1", "", "isn't a version"),
        ("PINCTL_VERSION=", "", "isn't a version"), ("PINCTL_SHA256=xyz", "", "isn't 64 lower-case"),
        ("PINCTL_RELEASES=ftp://127.0.0.1:9", "", "can't be downloaded"),
    ]

    @Test("A damaged, missing or misnamed release isn't added to the PATH", arguments: refused)
    func refuses(variables: String, before: String, message: String) async throws {
        let run = try await run(variables, before: before)
        #expect(run.status == 1)
        #expect(run.output.contains("::error title=pinctl::") && run.output.contains(message), "\(run.output)")
        #expect(try await shell("cat path output", in: directory).output == "")
    }

    @Test(
        "The action's YAML uses no third-party action and doesn't expand its inputs in the shell",
        .enabled(if: TestCommand.isPresent("python3", "-c", "import yaml"), "python3-yaml is not installed"))
    func definition() async throws {
        let reader = """
            import sys, yaml
            action = yaml.safe_load(open(sys.argv[1]))
            assert action["runs"]["using"] == "composite"
            assert all("uses" not in step and step["shell"] == "bash" for step in action["runs"]["steps"])
            # What is given reaches the shell by the environment alone.
            assert all("${{" not in step["run"] for step in action["runs"]["steps"])
            assert action["runs"]["steps"][0]["run"] == '"$GITHUB_ACTION_PATH/install"'
            print(action["runs"]["steps"][1]["run"])
            """
        let path = Self.install.replacing("/install", with: "/action.yml")
        let read = try TestCommand.run(["python3", "-c", reader, path])
        #expect(read.status == 0, "\(read.text)")
        _ = try directory.add(read.output, name: "step")
        let run = try await shell(
            "PINCTL_RUN='hash --as hex * $(touch bad) ;' bash --noprofile --norc -eo pipefail step; ls bad",
            in: directory)
        #expect(run.errors.contains("pinctl: *: no such file"))
        #expect(run.errors.contains("pinctl: $(touch: no such file"))
        #expect(run.errors.contains("cannot access 'bad'"))
        // Input on several lines is passed on whole: a dropped flag may be the one that makes the run strict.
        let lines = try await shell(
            "PINCTL_RUN=$(printf 'hash\\n  --long\\n--unknown') bash --noprofile --norc -eo pipefail step",
            in: directory)
        #expect(lines.status == 2)
        #expect(lines.errors.contains("--unknown"))
    }
}
