import CertificatePinning
import PinctlBasics
import PinctlHTTPMessages

/// The data to resume a download: the version of the resource, the number of bytes loaded and their location. A JSON
/// object with a version. It contains no header field of the request and no credentials.
struct ResumeData: Equatable, Sendable {
    let url: URL
    /// A strong ETag or a Last-Modified, which identifies the version of the resource (RFC 9110, section 13.1.5).
    let validator: String
    /// The number of bytes in the file.
    let count: Int64
    /// The name of the directory.
    let file: String

    private static let version = 1
    static let sizeLimit = 64 * 1024

    /// Creates the data after a response. Returns `nil` if the server sent nothing that identifies the version, or
    /// doesn't support ranges. Also if the body was encoded: ranges count encoded bytes (RFC 9110, section 14.1), and
    /// the file has decoded ones.
    init?(_ request: URLRequest, _ response: HTTPURLResponse, _ file: DownloadFile) {
        guard request.httpMethod == "GET", request.content == nil, let url = request.url?.absoluteURL.withoutUser,
            [200, 206].contains(response.statusCode), file.count > 0, ContentCoding.applied(to: response).isEmpty,
            response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none",
            let validator = Self.validator(of: response)
        else { return nil }
        (self.url, self.validator, count, self.file) = (url, validator, file.count, file.name)
    }

    static func validator(of response: HTTPURLResponse) -> String? {
        // A weak ETag doesn't identify the bytes.
        if let tag = response.value(forHTTPHeaderField: "ETag"), tag.hasPrefix("\""), tag.hasSuffix("\""), tag.count > 1
        {
            return tag
        }
        return response.value(forHTTPHeaderField: "Last-Modified")
    }

    /// Parses data produced by ``encoded``, and nothing else.
    init(_ data: Data) throws(DownloadError) {
        guard data.count <= Self.sizeLimit else { throw .malformedResumeData }
        let document = JSONCReader.read(Array(data), dialect: .json)
        guard document.problems.isEmpty, let root = document.root, let members = root.members,
            members.map(\.key) == ["version", "url", "validator", "count", "file"],
            root["version"]?.integer == Self.version,
            let text = root["url"]?.string, let url = URL(string: text), url.withoutUser == url,
            url.absoluteString == text,
            let scheme = url.scheme, HTTPScheme(rawValue: scheme.lowercased()) != nil, url.host != nil,
            let validator = root["validator"]?.string, !validator.isEmpty,
            validator.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 >= 0x80 }),
            let count = root["count"]?.integer, count > 0,
            let file = root["file"]?.string, UUID(uuidString: file)?.uuidString == file
        else { throw .malformedResumeData }
        (self.url, self.validator, self.count, self.file) = (url, validator, Int64(count), file)
    }

    /// The encoded form, for the program to store.
    var encoded: Data {
        let json: JSON = [
            "version": .integer(Self.version), "url": .string(url.absoluteString), "validator": .string(validator),
            "count": .integer(Int(count)), "file": .string(file),
        ]
        return Data(json.text.utf8)
    }

    /// The request for the rest.
    var request: URLRequest {
        var request = URLRequest(url: url)
        request.setValue("bytes=\(count)-", forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
        return request
    }

    /// Whether a response contains the rest. False if it contains the whole resource. Throws if it contains neither.
    func continues(with response: HTTPURLResponse) throws(DownloadError) -> Bool {
        guard response.statusCode == 206 else { return false }
        // The bytes before it aren't encoded.
        // mutant resumed-encoded: true by DownloadTests ContentCodingTests
        guard ContentCoding.applied(to: response).isEmpty else { throw .otherPart }
        let range = response.value(forHTTPHeaderField: "Content-Range")?.split(separator: " ") ?? []
        guard range.count == 2, range[0].lowercased() == "bytes" else { throw .otherPart }
        let parts = range[1].split(separator: "/", omittingEmptySubsequences: false)
        let ends = parts.first?.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) } ?? []
        // mutant resumed-start: true for 5 by DownloadTests/otherStart
        guard parts.count == 2, ends.count == 2, let start = ends[0], let end = ends[1], start == count,
            (start..<Int64.max).contains(end), parts[1] == "*" || Int64(parts[1]) == end + 1
        else { throw .otherPart }
        // Another version, even if the server ignored If-Range.
        // mutant resumed-version: false for 3 by DownloadTests/otherVersion
        if let tag = response.value(forHTTPHeaderField: "ETag"), validator.hasPrefix("\""), tag != validator {
            throw .otherPart
        }
        return true
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The key of the resume data in the `userInfo` of a failed download's `URLError`.
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

// swift-format-ignore: AlwaysUseLowerCamelCase
/// FoundationNetworking's name of ``NSURLSessionDownloadTaskResumeData``.
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData

extension URLError {
    /// The resume data of the failed download, or `nil` if it can't be resumed.
    public var downloadTaskResumeData: Data? { errorUserInfo[NSURLSessionDownloadTaskResumeData] as? Data }
}
