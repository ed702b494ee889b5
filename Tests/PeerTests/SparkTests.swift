import Foundation
import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("pinctl check under Apache Spark", .enabled(if: Spark.isInstalled, Spark.absence))
struct SparkTests {
    @Test("Spark's pipe maps each line of a partition to one result line, and an empty partition to none")
    func pipe() async throws {
        let directory = try TestDirectory()
        let root = try TestCertificate.root("Test Root")
        let leaf = try root.leaf("api.test")
        _ = try directory.add(root.pemText, name: "root.pem")
        _ = try directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(try root.key.pin)"] }] }
            """, name: "pins.jsonc")
        try await LoopbackServer(chain: [leaf]).run { server in
            _ = try directory.add(
                """
                import json, os
                from pyspark import SparkContext
                context = SparkContext("local[2]", "pinctl")
                context.setLogLevel("ERROR")
                lines = ["api.test:%d@127.0.0.1:\(server.port)" % (n + 1) for n in range(40)] + ["other.test"] * 4
                command = "%s check --targets - --ndjson --exit-zero --at 2026-11-20 --timeout 60" \
                % os.environ["PINCTL"]
                # More partitions than lines, so that some are empty.
                piped = context.parallelize(lines, 60).pipe(command, env=dict(os.environ), checkCode=True)
                results = [json.loads(line) for line in piped.collect()]
                summaries = [result for result in results if result["type"] == "summary"]
                checks = [result for result in results if result["type"] == "check"]
                print(len(summaries), [check["input"] for check in checks] == lines,
                    sum(check["verdict"] == "ok" for check in checks),
                    sum(check["verdict"] == "not_covered" for check in checks))
                context.stop()
                """, name: "job.py")
            let script = "cd \(directory.path) && exec \(Spark.python) job.py 2> errors"
            let result = try await TestCommand.runAside(
                ["timeout", "240", "bash", "-c", script],
                environment: [
                    "LC_ALL=C", "PINCTL=\(try TestBuild.directory())/pinctl",
                    "PINCTL_POLICY=\(directory.path)/pins.jsonc",
                    "SSL_CERT_FILE=\(directory.path)/root.pem", "SPARK_LOCAL_IP=127.0.0.1",
                ])
            #expect(
                String(decoding: result.output, as: UTF8.self) == "60 True 40 4\n",
                "\((try? String(contentsOfFile: directory.path + "/errors", encoding: .utf8))?.suffix(2_000) ?? "")")
        }
    }
}

/// PySpark in a separate environment, which `tools/test --peers` creates on request.
private enum Spark {
    static var python: String {
        let environment = ProcessInfo.processInfo.environment
        let caches = environment["XDG_CACHE_HOME"] ?? NSHomeDirectory() + "/.cache"
        return caches + "/pinctl/pyspark/bin/python"
    }

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python) }

    static let absence: Comment = "pyspark is not installed (PINCTL_TEST_SPARK=yes tools/test --peers installs it)"
}
