import PinnedNetworking

// Around the listing of "Authentication Challenges" (2010).
final class ConnectionDelegate: NSObject, NSURLConnectionDataDelegate {
    enum Event: Sendable {
        case response(URLResponse)
        case data(Data)
        case end((any Error)?)
    }

    let preferencesName = Site.login[0]
    let preferencesPassword = Site.login[1]
    let (events, source) = AsyncStream<Event>.makeStream()

    func showPreferencesCredentialsAreIncorrectPanel(_ sender: Any) { print("panel") }

    // 004 in Swift: from "-(void)connection:" through "}"

    func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {
        source.yield(.response(response))
    }

    func connection(_ connection: NSURLConnection, didReceive data: Data) { source.yield(.data(data)) }

    func connectionDidFinishLoading(_ connection: NSURLConnection) { source.yield(.end(nil)) }

    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { source.yield(.end(error)) }
}

func fetchByConnection() async throws -> (Data, URLResponse) {
    let delegate = ConnectionDelegate()
    guard let url = Site.url, NSURLConnection(request: URLRequest(url: url), delegate: delegate) != nil else {
        throw URLError(.badURL)
    }
    var body = Data()
    var answer: URLResponse?
    for await event in delegate.events {
        switch event {
        case .response(let response): answer = response
        case .data(let data): body += data
        case .end(let error?): throw error
        case .end(nil):
            guard let answer else { throw URLError(.badServerResponse) }
            return (body, answer)
        }
    }
    throw URLError(.unknown)
}
