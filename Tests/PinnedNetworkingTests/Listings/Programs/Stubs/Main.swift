import PinnedNetworking

/// The error of a test's own network.
enum MockError: Error { case offline }

/// Stubs the network: `stubs COMMAND URL`.
@main
struct Main {
    static func main() async throws {
        guard let url = Site.url else { return print("no URL") }
        switch Site.command {
        case "mock": try await mock(url)
        case "marks": try await marks(url)
        default: try await pinned(url)
        }
    }

    /// A mock in the configuration, and then registered for the shared session.
    private static func mock(_ url: URL) async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MockURLProtocol.self] + (configuration.protocolClasses ?? [])
        let session = URLSession(configuration: configuration)
        MockURLProtocol.requestHandler = { request in
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 202, httpVersion: nil, headerFields: nil)
            else { throw MockError.offline }
            return (response, request.httpBody ?? Data("no body".utf8))
        }
        await Site.report { try await session.data(from: url) }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        let post = request
        await Site.report { try await session.data(for: post) }
        MockURLProtocol.requestHandler = { _ in throw MockError.offline }
        do {
            _ = try await session.data(from: url)
        } catch MockError.offline {
            print("offline")
        }
        MockURLProtocol.requestHandler = nil
        await Site.report { try await session.data(from: url) }
        URLProtocol.registerClass(MockURLProtocol.self)
        await Site.report { try await URLSession.shared.data(from: url) }
        URLProtocol.unregisterClass(MockURLProtocol.self)
        await Site.report { try await URLSession.shared.data(from: url) }
    }

    private static func marks(_ url: URL) async throws {
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = [MarkingURLProtocol.self]
        let session = URLSession(configuration: configuration)
        guard let marked = URL(string: "mark://host/") else { return }
        let (data, response) = try await session.data(from: marked)
        print(response.mimeType ?? "", String(decoding: data, as: UTF8.self))
        await Site.report { try await session.data(from: url) }
    }

    /// Pins and mocks in one configuration, for two requests of two sessions.
    private static func pinned(_ url: URL) async throws {
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = [MockURLProtocol.self]
        let pin = try Pin("sha256/" + String(repeating: "A", count: 43) + "=", role: .any)
        configuration.pinning = try PinningPolicy(rules: [PinningRule(host: try ServerName("a.test"), pins: [pin])])
        for session in [URLSession(configuration: configuration), URLSession(configuration: configuration)] {
            for _ in 1...2 { await Site.report { try await session.data(from: url) } }
        }
    }
}
