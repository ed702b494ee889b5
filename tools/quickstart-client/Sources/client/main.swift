import PinnedNetworking

do {
    let configuration = URLSessionConfiguration.default
    configuration.pinning = try PinningPolicy(contentsOfFile: CommandLine.arguments[1])
    guard let url = URL(string: CommandLine.arguments[2]) else { exit(2) }
    let (body, _) = try await URLSession(configuration: configuration).data(from: url)
    print("served:", String(decoding: body, as: UTF8.self))
} catch {
    print("failed:", error.localizedDescription)
    exit(1)
}
