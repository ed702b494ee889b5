import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// The cookies that an ``HTTPCookieStorage`` keeps in a file: a title line, and then one line of twelve fields for each
/// cookie, in the order in which they were created. The fields are those of ``PrivateFileReader``.
struct SavedCookies: PrivateFileContents {
    struct Cookie: Equatable, Sendable {
        let cookie: HTTPCookie
        /// The time when the cookie was set, in whole seconds.
        let stored: Date
    }

    var cookies: [Cookie] = []

    static let name = "cookies"
    /// Room for as many cookies as a storage has, each as long as it may be.
    static let sizeLimit = CookieJar.limit * (SetCookie.pairLimit + SetCookie.attributeLimit + 512)

    private static let title = Array("PinnedNetworking cookies 1\n".utf8)

    init() {}

    init(_ entries: [CookieJar.Entry]) {
        cookies = entries.map { Cookie(cookie: $0.cookie.inWholeSeconds, stored: $0.stored.inWholeSeconds) }
    }

    /// Parses a file. Nothing is ignored: any deviation from the format that this type writes is an error.
    init(_ file: SecretBytes) throws(CredentialStorageError.Reason) {
        cookies = try file.withBytes { bytes throws(CredentialStorageError.Reason) in
            guard bytes.starts(with: Self.title) else { throw .otherVersion }
            var reader = PrivateFileReader(rest: bytes[Self.title.count...])
            var cookies: [Cookie] = []
            while !reader.rest.isEmpty {
                reader.line += 1
                guard cookies.count < CookieJar.limit else { throw reader.malformed }
                cookies.append(try Cookie(&reader))
            }
            return cookies
        }
    }

    /// Returns the file's contents.
    func file() throws(CredentialStorageError.Reason) -> SecretBytes {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(cookies.reduce(Self.title.count) { $0 + $1.size })
        bytes += Self.title
        for cookie in cookies { cookie.append(to: &bytes) }
        let file = SecretBytes(taking: &bytes)
        guard file.withBytes({ $0.count }) <= Self.sizeLimit else { throw .full(limit: Self.sizeLimit) }
        return file
    }
}

extension SavedCookies.Cookie {
    fileprivate init(_ reader: inout PrivateFileReader) throws(CredentialStorageError.Reason) {
        guard let name = try reader.field(), let value = try reader.field() else { throw reader.malformed }
        let host = try reader.text()
        let isHostOnly = try reader.flag()
        let path = try reader.text()
        let expires = try reader.time()
        let isSecure = try reader.flag()
        let isHTTPOnly = try reader.flag()
        let sameSite = try reader.optionalText()
        let ports = try reader.optionalText()
        let version = try reader.flag()
        let stored = try reader.time()
        try reader.endLine()

        let numbers = ports.map { $0.split(separator: ",").compactMap { UInt16($0) } }
        guard !name.isEmpty, !name.contains(UInt8(ascii: "=")),
            [name, value, Array(path.utf8)[...]].allSatisfy({
                HTTPGrammar.isFieldContent($0) && !$0.contains(UInt8(ascii: ";"))
            }),
            let owner = try? ServerName(host), owner.description == host,
            sameSite.map({ SetCookie.SameSite(rawValue: $0) != nil }) ?? true,
            numbers.map(SavedCookies.Cookie.text) == ports
        else { throw reader.malformed }
        self.init(
            cookie: HTTPCookie(
                HTTPCookie.Content(
                    name: Array(name), value: Array(value), host: owner, isHostOnly: isHostOnly, path: path,
                    expires: expires, isSecure: isSecure, isHTTPOnly: isHTTPOnly,
                    sameSite: sameSite.flatMap { SetCookie.SameSite(rawValue: $0) }, version: version ? 1 : 0,
                    ports: numbers)),
            stored: stored)
    }

    fileprivate func append(to bytes: inout [UInt8]) {
        let content = cookie.content
        bytes.appendField(content.name)
        bytes.appendField(content.value)
        bytes.appendField(content.host.description)
        bytes.appendField(content.isHostOnly ? "1" : "0")
        bytes.appendField(content.path)
        bytes.appendField((content.expires ?? .distantPast).seconds)
        bytes.appendField(content.isSecure ? "1" : "0")
        bytes.appendField(content.isHTTPOnly ? "1" : "0")
        bytes.appendField(content.sameSite?.rawValue)
        bytes.appendField(content.ports.map(SavedCookies.Cookie.text))
        bytes.appendField(content.version == 1 ? "1" : "0")
        bytes.appendField(stored.seconds)
        bytes += "\n".utf8
    }

    /// An upper bound for the length of the line, in bytes.
    fileprivate var size: Int {
        let content = cookie.content
        // The lengths, separators, flags and times.
        return content.name.count + content.value.count + content.path.utf8.count + content.host.description.utf8.count
            + (content.ports?.count ?? 0) * 6 + 256
    }

    private static func text(_ ports: [UInt16]) -> String { ports.map(String.init).joined(separator: ",") }
}

extension HTTPCookie {
    /// The cookie as a file has it: the time to the second, and without its comments.
    fileprivate var inWholeSeconds: HTTPCookie {
        var content = content
        content.expires = content.expires?.inWholeSeconds
        content.comment = nil
        content.commentURL = nil
        return HTTPCookie(content)
    }
}

extension Date {
    fileprivate var inWholeSeconds: Date { Date(timeIntervalSince1970: Double(wholeSeconds)) }

    fileprivate var seconds: String { String(wholeSeconds) }

    /// The seconds since 1970, limited to the years that a calendar has.
    private var wholeSeconds: Int64 { Int64(max(-1e12, min(timeIntervalSince1970, 1e12)).rounded(.down)) }
}

extension PrivateFileReader {
    fileprivate mutating func time() throws(CredentialStorageError.Reason) -> Date {
        let digits = try text()
        guard let seconds = Int64(digits), String(seconds) == digits, abs(seconds) <= 1_000_000_000_000 else {
            throw malformed
        }
        return Date(timeIntervalSince1970: Double(seconds))
    }
}
