import HTTPMessages
import TLSTransport

/// Where a request goes and what is sent there, taken from its URL once: the name that is verified, told as SNI and
/// written as Host is one value.
struct RequestTarget: Sendable {
    let url: URL
    let name: ServerName
    let port: UInt16
    let method: String
    let head: HTTPRequestHead

    init(_ request: URLRequest) throws(RequestTargetError) {
        guard let url = request.url?.absoluteURL else { throw .noURL }
        switch url.scheme?.lowercased() {
        case "https": break
        case "http": throw .plainHTTP
        case let scheme: throw .unsupportedScheme(scheme ?? "")
        }
        // Percent-decoded and in A-labels; `host()` would be neither.
        guard let host = url.host(percentEncoded: false) else { throw .noHost }
        guard let port = UInt16(exactly: url.port ?? 443), port > 0 else { throw .noPort(url.port ?? 0) }
        let method = request.httpMethod ?? "GET"
        guard method == "GET" || method == "HEAD" else { throw .unsupportedMethod(method) }
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        let name: ServerName
        do throws(ServerNameError) { name = try ServerName(host) } catch { throw .malformedHost(error) }
        do throws(HTTPRequestError) {
            head = try HTTPRequestHead(
                method: method, target: (path.isEmpty ? "/" : path) + query, host: name, port: port,
                fields: request.fields)
        } catch {
            throw .malformedRequest(error)
        }
        self.url = url
        self.name = name
        self.port = port
        self.method = method
    }
}

/// Why a request is not sent at all.
enum RequestTargetError: Error, Hashable {
    case noURL
    case unsupportedScheme(String)
    /// `http` would send the request, and take the answer, from whoever is on the way.
    case plainHTTP
    case noHost
    case malformedHost(ServerNameError)
    case noPort(Int)
    case unsupportedMethod(String)
    case malformedRequest(HTTPRequestError)
}

extension RequestTargetError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noURL: "the request has no URL: give it one"
        case .unsupportedScheme(let scheme): "the scheme \(HTTPExcerpt(scheme)) is not supported: use https"
        case .plainHTTP: "plain http is refused, since nobody is verified: use https"
        case .noHost: "the URL names no host: write https://host/path"
        case .malformedHost(let error): error.description
        case .noPort(let port): "\(port) is no port: give one from 1 to 65535"
        case .unsupportedMethod(let method): "the method \(HTTPExcerpt(method)) is not supported: use GET or HEAD"
        case .malformedRequest(let error): error.description
        }
    }
}
