import CertificateTrust
import Foundation

@testable import PinctlBasics
@testable import PinctlHTTPMessages
@testable import PinnedNetworking

extension FuzzTarget {
    /// The values of Set-Cookie fields, one a line, of responses from several servers: what is stored, what is sent
    /// back, and what a file keeps.
    static let cookies = FuzzTarget(name: "cookies") { bytes in
        let suffixes = PublicSuffixes(list: Array("test\nco.test\n".utf8))
        let now = Date(timeIntervalSince1970: 1_795_000_000)
        var jar = CookieJar()
        for (index, line) in bytes.split(separator: 0x0A).prefix(1000).enumerated() {
            _ = CookieDate.parse(line)
            let request = requests[index % requests.count]
            guard let set = SetCookie(Array(line)) else { continue }
            precondition(!set.name.isEmpty && set.name.count + set.value.count <= SetCookie.pairLimit)
            guard let cookie = HTTPCookie(set, from: request, suffixes, at: now) else { continue }
            precondition(cookie.canBeSet(by: request, suffixes), "set for another host")
            precondition(request.host.matches(domain: cookie.content.host), "set for another host")
            precondition(cookie.content.isHostOnly || !suffixes.contains(cookie.content.host), "set for everybody")
            precondition(request.isSecure || !cookie.isSecure, "set without TLS")
            precondition(cookie.expiresDate.map { $0 <= now + SetCookie.lifetimeLimit } ?? true, "lasts too long")
            jar.store(cookie, from: request, suffixes, at: now)
        }
        precondition(jar.count == jar.entries.count && jar.count <= CookieJar.limit)
        send(&jar, suffixes, now)
        keep(jar)
        // A response has no longer field.
        let text = String(decoding: bytes.prefix(HTTPResponseParser.headLimit), as: UTF8.self)
        for cookie in HTTPCookie.cookies(
            withResponseHeaderFields: ["Set-Cookie": text], for: target("https://a.b.test/c"))
        {
            let again = cookie.properties.flatMap { HTTPCookie(properties: $0) }
            precondition(again == cookie, "its properties make another cookie")
        }
    }

    private static let requests = ["https://a.b.test/c/d", "http://b.test/", "https://127.0.0.1/", "https://co.test/c"]
        .compactMap { CookieRequest(target($0)) }

    private static func target(_ text: String) -> URL {
        guard let url = URL(string: text) else { preconditionFailure("a URL was refused") }
        return url
    }

    /// What is sent fits into a request, and nothing Secure is sent in the clear.
    private static func send(_ jar: inout CookieJar, _ suffixes: PublicSuffixes, _ now: Date) {
        for request in requests {
            let cookies = jar.cookies(for: request, suffixes, at: now)
            precondition(request.isSecure || !cookies.contains(where: \.isSecure), "a Secure cookie without TLS")
            let field = HTTPCookie.field(with: cookies)
            precondition(field.bytes.count <= CookieJar.requestByteLimit)
            let origin = HTTPOrigin(scheme: .https, name: request.host, port: 443)
            let head = try? HTTPRequestHead(
                method: "GET", target: .origin("/"), origin: origin, credentials: cookies.isEmpty ? [] : [field])
            precondition(head != nil, "cookies that cannot be sent")
        }
    }

    /// What is written is read as it was.
    private static func keep(_ jar: CookieJar) {
        let saved = SavedCookies(jar.persistent)
        guard let file = try? saved.file(), let again = try? SavedCookies(file) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again == saved)
    }

    /// A file of cookies: what can be read is written with the same bytes.
    static let cookieFile = FuzzTarget(name: "cookie-file") { bytes in
        guard let saved = try? SavedCookies(SecretBytes(bytes)) else { return }
        guard let file = try? saved.file() else { preconditionFailure("what was read cannot be written") }
        precondition(file.withBytes { $0 == bytes }, "it reads what it does not write")
    }
}
