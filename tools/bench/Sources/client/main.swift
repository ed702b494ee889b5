import Dispatch
import PinnedNetworking

// client requests COUNT WORKERS URL [ANCHORS [POLICY]]
// client bytes|delegate URL [ANCHORS]
//
// An asynchronous main program would end the first thread, and valgrind with it.
let ended = DispatchSemaphore(value: 0)
Task.detached {
    do {
        try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
        print("client: \(error)")
        exit(2)
    }
    ended.signal()
}
ended.wait()

func run(_ arguments: [String]) async throws {
    if arguments.first == "requests", (4...6).contains(arguments.count),
        let count = Int(arguments[1]), let workers = Int(arguments[2]), let url = URL(string: arguments[3])
    {
        let configuration = try configuration(arguments.dropFirst(4))
        configuration.httpMaximumConnectionsPerHost = workers
        try await URLSession(configuration: configuration).fetch(url, count: count, atOnce: workers)
    } else if let way = arguments.first.flatMap(StreamWay.init), (2...3).contains(arguments.count),
        let url = URL(string: arguments[1])
    {
        print(try await stream(way, url, configuration(arguments.dropFirst(2))))
    } else {
        throw ClientError("see tools/bench/run, which starts it")
    }
}

/// The certificates to trust and the pins to hold, each a file.
func configuration(_ files: ArraySlice<String>) throws -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.default
    if let anchors = files.first { configuration.trustStore = try TrustStore(files: [anchors]) }
    if let policy = files.dropFirst().first { configuration.pinning = try PinningPolicy(contentsOfFile: policy) }
    return configuration
}
