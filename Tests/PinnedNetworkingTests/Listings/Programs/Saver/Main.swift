import PinnedNetworking

/// Keeps credentials in a directory, over and over: `saver URL DIRECTORY USER COUNT`.
@main
struct Main {
    static func main() throws {
        let user = CommandLine.arguments[4]
        let storage = try URLCredentialStorage(directory: URL(filePath: CommandLine.arguments[3]))
        let space = URLProtectionSpace(
            host: "example.com", port: 443, protocol: "https", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        // Goes on where one that was killed has ended.
        let last =
            storage.credentials(for: space)?[user]?.password?.split(separator: " ").first.flatMap { Int($0) } ?? 0
        for number in last..<(last + (Int(CommandLine.arguments[5]) ?? 0)) {
            let password = String(repeating: "\(number + 1) ", count: 2000)
            storage.set(URLCredential(user: user, password: password, persistence: .permanent), for: space)
        }
        print(storage.storageError.map { "\($0)" } ?? "done")
    }
}
