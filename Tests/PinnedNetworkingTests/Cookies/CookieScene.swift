import CertificateTrust
import PinctlBasics
import Testing

@testable import PinnedNetworking

/// A jar with a clock and a list of public suffixes, for tests without a session.
struct CookieScene {
    /// The time of the public suites' rows, which have dates from 1970 to 2037.
    static let start = Date(timeIntervalSince1970: 1_280_000_000)

    var jar = CookieJar()
    var now = Self.start
    var suffixes = PublicSuffixes(
        list: Array(
            "com\norg\ntest\nuk\nco.uk\n*.ck\n!www.ck\n// ===BEGIN PRIVATE DOMAINS===\nhosted.test\ndeep.sub.test\n"
                .utf8))

    /// Processes `Set-Cookie` fields of a response, and returns whether all of them changed the jar.
    @discardableResult
    mutating func receive(_ values: String..., from url: String, for document: String? = nil) throws -> Bool {
        try receive(values.map { Array($0.utf8) }, from: url, for: document)
    }

    @discardableResult
    mutating func receive(_ values: [[UInt8]], from url: String, for document: String? = nil) throws -> Bool {
        let request = try request(url, for: document)
        return values.map { value in
            guard let set = SetCookie(value), let cookie = HTTPCookie(set, from: request, suffixes, at: now) else {
                return false
            }
            return jar.store(cookie, from: request, suffixes, at: now)
        }.allSatisfy(\.self)
    }

    /// Returns the `Cookie` field of a request, empty if there is none.
    mutating func sent(to url: String, for document: String? = nil) throws -> String {
        let cookies = jar.cookies(for: try request(url, for: document), suffixes, at: now)
        return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"] ?? ""
    }

    private func request(_ url: String, for document: String?) throws -> CookieRequest {
        let url = try #require(URL(string: url))
        return try #require(CookieRequest(url, mainDocument: document.flatMap { URL(string: $0) }))
    }
}

/// Values that a site sets, and the field that a request then carries.
struct CookieRow: CustomTestStringConvertible, Sendable {
    let name: String
    let values: [String]
    let source: String
    let target: String
    let expected: String

    var testDescription: String { name }

    init(_ name: String, _ values: [String], from source: String, at target: String, _ expected: String) {
        self.name = name
        self.values = values
        self.source = source
        self.target = target
        self.expected = expected
    }

    func check() throws {
        var scene = CookieScene()
        for value in values { try scene.receive(value, from: source) }
        #expect(try scene.sent(to: target) == expected)
    }
}
