import Foundation
import FoundationNetworking

// foundation-client requests COUNT WORKERS URL
let arguments = CommandLine.arguments
do {
    guard arguments.count == 5, arguments[1] == "requests", let count = Int(arguments[2]),
        let workers = Int(arguments[3]), let url = URL(string: arguments[4])
    else { throw ClientError("see tools/bench/run, which starts it") }
    let configuration = URLSessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = workers
    configuration.urlCache = nil
    try await URLSession(configuration: configuration).fetch(url, count: count, atOnce: workers)
} catch {
    print("foundation-client: \(error)")
    exit(2)
}
