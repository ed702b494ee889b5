import PinnedNetworking

/// Where the program's server is: its first argument is what to do, its second the server's URL.
enum Site {
    static let command = CommandLine.arguments[1]
    static let url = URL(string: CommandLine.arguments[2])
    /// User name and password of those listings that have none of their own.
    static let login = Array(CommandLine.arguments.dropFirst(3))

    /// Prints the status and body that a request ends with, or the code of its `URLError`.
    static func report(_ request: @Sendable () async throws -> (Data, URLResponse)) async {
        do {
            let (body, response) = try await request()
            print((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: body, as: UTF8.self))
        } catch {
            print("error", (error as? URLError)?.code.rawValue ?? 0)
        }
    }

    /// The same for a GET in a session with a delegate.
    static func get(_ delegate: any URLSessionDelegate, queue: OperationQueue? = nil) async {
        let session = URLSession(configuration: .default, delegate: delegate, delegateQueue: queue)
        guard let url else { return print("no URL") }
        await report { try await session.data(from: url) }
    }
}
