import PinnedNetworking

// client ACTION PORT
//
// Sends requests to localhost with the trust store root.pem and the policy pins.jsonc of this directory, and prints
// what came. Exits with 0 only if everything did, and otherwise prints why not. Then it exits with 4 if the server was
// refused, and with 1 if anything else failed.
do {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let port = UInt16(arguments[2]) else {
        throw ClientError("usage: client ACTION PORT: see tools/torture/run, which starts it")
    }
    try await run(arguments[1], port)
} catch {
    print("failed: \(error.localizedDescription)")
    let refusals: [URLError.Code] = [.serverCertificateUntrusted, .serverCertificateHasUnknownRoot]
    exit(refusals.contains { $0 == (error as? URLError)?.code } ? 4 : 1)
}

func run(_ action: String, _ port: UInt16) async throws {
    let configuration = URLSessionConfiguration.default
    configuration.trustStore = try TrustStore(files: ["root.pem"])
    configuration.pinning = try PinningPolicy(contentsOfFile: action == "get-other" ? "other.jsonc" : "pins.jsonc")
    // Short, because an injected failure can end in it.
    configuration.timeoutIntervalForRequest = 2
    configuration.timeoutIntervalForResource = 4
    let here = URL(filePath: FileManager.default.currentDirectoryPath)
    guard let url = URL(string: "https://localhost:\(port)/"), let second = URL(string: "second", relativeTo: url),
        let socket = URL(string: "wss://localhost:\(port)/")
    else { throw ClientError("no URL") }
    switch action {
    case "get", "get-other":
        print(try await text(of: url, URLSession(configuration: configuration)))
    case "twice":
        let session = URLSession(configuration: configuration)
        print(try await text(of: url, session))
        print(try await text(of: second, session))
    case "replaced":
        let session = URLSession(configuration: configuration)
        print(try await text(of: url, session))
        session.pinning = try PinningPolicy(contentsOfFile: "other.jsonc")
        print(try await text(of: second, session))
    case "download":
        let (file, _) = try await URLSession(configuration: configuration).download(from: url)
        do {
            try FileManager.default.moveItem(at: file, to: here.appending(path: "downloaded"))
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw ClientError("cannot move the download")
        }
        print("downloaded")
    case "upload":
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let (body, _) = try await URLSession(configuration: configuration).upload(
            for: request, fromFile: here.appending(path: "body"))
        print(String(decoding: body, as: UTF8.self))
    case "web-socket":
        let task = URLSession(configuration: configuration).webSocketTask(with: socket)
        task.resume()
        try await task.send(.string("hello"))
        guard case .string(let text) = try await task.receive() else { throw ClientError("another message") }
        print(text)
    case "identity":
        let delegate = Answers(identity: try SecIdentity(contentsOfFile: "identity.pem"))
        print(try await text(of: url, URLSession(configuration: configuration), delegate))
    case "login":
        let storage = try URLCredentialStorage(directory: here.appending(path: "logins"))
        configuration.urlCredentialStorage = storage
        print(try await text(of: url, URLSession(configuration: configuration), Answers(identity: nil)))
        if let error = storage.storageError { throw error }
    case "cookies":
        let storage = try HTTPCookieStorage(directory: here.appending(path: "cookies"))
        configuration.httpCookieStorage = storage
        print(try await text(of: url, URLSession(configuration: configuration)))
        if let error = storage.storageError { throw error }
    default: throw ClientError("there is no action \(action)")
    }
}

func text(of url: URL, _ session: URLSession, _ delegate: Answers? = nil) async throws -> String {
    let (body, response) = try await session.data(from: url, delegate: delegate)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw ClientError("another status") }
    return String(decoding: body, as: UTF8.self)
}

/// Answers challenges with an identity or a password, which is to be stored.
final class Answers: NSObject, URLSessionTaskDelegate {
    private let identity: SecIdentity?

    init(identity: SecIdentity?) { self.identity = identity }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        switch challenge.protectionSpace.authenticationMethod {
        case NSURLAuthenticationMethodClientCertificate:
            guard let identity else { return (.performDefaultHandling, nil) }
            return (.useCredential, URLCredential(identity: identity, certificates: nil, persistence: .forSession))
        case NSURLAuthenticationMethodHTTPBasic where challenge.previousFailureCount == 0:
            return (.useCredential, URLCredential(user: "reader", password: "secret", persistence: .permanent))
        default: return (.performDefaultHandling, nil)
        }
    }
}

struct ClientError: LocalizedError {
    let errorDescription: String?
    init(_ text: String) { errorDescription = text }
}
