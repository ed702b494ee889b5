import PinnedNetworking

/// Sends a file or downloads one: `transfers upload|download URL [FILE]`. Prints the body, or the error.
@main
struct Main {
    static func main() async {
        let session = URLSession(configuration: .default)
        guard let url = Site.url else { return print("no URL") }
        do {
            if Site.command == "upload" {
                var request = URLRequest(url: url)
                request.httpMethod = "PUT"
                let (body, _) = try await session.upload(for: request, fromFile: URL(filePath: Site.login[0]))
                print(String(decoding: body, as: UTF8.self))
            } else {
                let (file, _) = try await session.download(from: url)
                defer { try? FileManager.default.removeItem(at: file) }
                print(try String(contentsOf: file, encoding: .utf8))
            }
        } catch {
            print("error:", error.localizedDescription)
        }
    }
}
