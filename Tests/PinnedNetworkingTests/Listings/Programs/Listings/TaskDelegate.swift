// swift-format-ignore-file: AlwaysUseLowerCamelCase

import PinnedNetworking

// Around the calls of "HTTP authentication challenges with Swift concurrency", whose URLs lead to the test's server.
private typealias Address = URL

func fetchWithoutDelegate() async throws -> (Data, URLResponse) {
    func URL(string: String) -> Address? { Site.url }
    // 001: from "let url" through "let (body, response)"
    return (body, response)
}

func fetchWithDelegate() async throws -> (Data, URLResponse) {
    func URL(string: String) -> Address? { Site.url }
    // 001: from "let url" through "let request"
    // 001: from "let delegate" through "let (body, response)"
    return (body, response)
}

// 001: from "final class BasicAuthDelegate" through "}"
