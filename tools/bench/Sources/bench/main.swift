import Foundation

/// The programs that are measured as such.
struct Tools {
    let runner: String
    let cHasher: String
    let pinctl: String
    let staticPinctl: String
    /// This program without symbols: valgrind gives up over Swift's.
    let strippedBench: String
    let peers: [Peer]
}

let arguments = CommandLine.arguments
do {
    switch arguments.dropFirst().first {
    case "pins" where arguments.count == 3:
        print(try swiftPins(arguments[2]))
    case "pins-c" where arguments.count == 3:
        print(plainLoopPins(arguments[2]))
    case "verify-c" where arguments.count == 6:
        try verify(CVerification.self)
    case "verify-swift" where arguments.count == 6:
        try verify(SwiftVerification.self)
    case "worst-case" where arguments.count == 6:
        let ordinary = MeasuredChain(name: "ordinary", chain: arguments[4], anchors: arguments[5])
        print(try worstCase(file: arguments[2], profile: arguments[3], ordinary: ordinary))
    case "report" where arguments.count >= 9:
        let tools = Tools(
            runner: arguments[4], cHasher: arguments[5], pinctl: arguments[6], staticPinctl: arguments[7],
            strippedBench: arguments[8], peers: peers(arguments.dropFirst(9)))
        finish(try measure(system: arguments[2], directory: arguments[3], tools))
    case "client" where arguments.count == 10:
        let field = ClientField(
            directory: arguments[2], http: arguments[3], https: arguments[4], closing: arguments[5],
            runner: arguments[6], client: arguments[7], strippedClient: arguments[8],
            foundationClient: arguments[9])
        finish(try measure(field))
    case "probes" where (8...9).contains(arguments.count):
        let field = try ProbeField(
            directory: arguments[2], port: arguments[3], count: Int(arguments[4]) ?? 0, runner: arguments[5],
            delay: arguments[6], pinctl: arguments[7])
        finish(try measure(field, sslyze: arguments.dropFirst(8).first))
    default:
        print("bench: see tools/bench/run, which starts it")
        exit(2)
    }
} catch {
    print("bench: \(error)")
    exit(2)
}

private func finish(_ report: Report) -> Never {
    print(report.failures == 0 ? "\nall targets met" : "\ntargets missed: \(report.failures)")
    exit(report.failures == 0 ? 0 : 1)
}

private func verify(_ way: (some Verification).Type) throws {
    guard let form = ChainForm(rawValue: arguments[2]), let times = Int(arguments[5]) else {
        throw BenchError("no such verification")
    }
    print(try way.init(chain: arguments[3], anchors: arguments[4]).verify(form, times: times))
}

/// What stands behind the other arguments: a Go program and a script for a Python, or nothing.
private func peers(_ paths: ArraySlice<String>) -> [Peer] {
    guard let go = paths.first, paths.count == 3 else { return [] }
    return [
        Peer(name: "crypto/x509, Go", command: [go]),
        Peer(name: "pyca/cryptography, Python", command: Array(paths.dropFirst())),
    ]
}

private func measure(system: String, directory: String, _ tools: Tools) throws -> Report {
    var report = Report()
    try pinsFromDER("roots of the system's store", system, &report)
    try pinsFromDER("leaves, half RSA 2048, half P-256", directory + "/leaves.pem", &report)
    try pinsFromPEM("roots of the system's store", directory + "/roots-10k.pem", &report)
    try pinsFromPEM("leaves, half RSA 2048, half P-256", directory + "/leaves-10k.pem", &report)
    for kind in ["RSA 2048", "P-256"] {
        for form in [ChainForm.parsed, .der] {
            try verification(MeasuredChain(kind, in: directory), form, tools, &report)
        }
        try twoThreads(MeasuredChain(kind, in: directory), &report)
    }
    try lookups(&report)
    try worstCases(directory + "/worst", ordinary: MeasuredChain("P-256", in: directory), &report)
    try startUp(tools, certificate: directory + "/one.pem", &report)
    try labelledLines(tools, bundle: directory + "/roots-100k.pem", &report)
    try largeFile(tools, large: directory + "/roots-100k.pem", one: directory + "/one.pem", &report)
    try searches(tools, &report)
    return report
}

private func measure(_ field: ClientField) throws -> Report {
    var report = Report()
    for security in [ClientField.Security.http, .https] {
        for atOnce in [1, 16] { try requests(security, atOnce: atOnce, field, &report) }
    }
    try newConnections(field, &report)
    try pinsOfHandshake(field, &report)
    try streams(field, &report)
    return report
}

private func measure(_ field: ProbeField, sslyze: String?) throws -> Report {
    var report = Report()
    for anchors in ["anchors.pem", "root.pem"] { try manyServers(field, anchors: anchors, &report) }
    try oneServer(field, &report)
    try farServers(field, &report)
    try manyTargets(field, &report)
    try scanners(field, sslyze: sslyze, &report)
    return report
}
