@testable import CertificateTrust
@testable import PinctlBasics
@testable import PinctlCommands
@testable import PinctlHTTPMessages
@testable import PinnedNetworking

extension FuzzTarget {
    /// A linked program, whose libraries and Swift modules are read.
    static let elf = FuzzTarget(name: "elf") { bytes in
        guard let file = try? ELFFile(bytes) else { return }
        precondition(file.needed.count < bytes.count && file.swiftModules.count < bytes.count)
    }

    /// Resume data: what can be read is written as it was read.
    static let resume = FuzzTarget(name: "resume") { bytes in
        guard let resumption = try? ResumeData(Data(bytes)) else { return }
        precondition(resumption.count > 0)
        guard let again = try? ResumeData(resumption.encoded) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again == resumption)
        precondition(resumption.request.value(forHTTPHeaderField: "If-Range") == resumption.validator)
    }

    /// What a server answers to the request for the rest: the value of Content-Range, an ETag on the line behind it.
    static let range = FuzzTarget(name: "range") { bytes in
        let lines = bytes.prefix(HTTPResponseParser.headLimit).split(separator: 0x0A, maxSplits: 1).map {
            String(decoding: $0, as: UTF8.self)
        }
        var fields = ["Content-Range": lines.first ?? ""]
        if lines.count > 1 { fields["ETag"] = lines[1] }
        guard
            let response = HTTPURLResponse(
                url: resumption.url, statusCode: 206, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        guard (try? resumption.continues(with: response)) == true else { return }
        // Blanks, zeros in front and a plus say nothing else.
        let value = (fields["Content-Range"] ?? "").lowercased().filter { !" 0+".contains($0) }
        precondition(value.hasPrefix("bytes5-"), "the rest of something else")
    }

    private static let resumption: ResumeData = {
        let text = """
            {"version": 1, "url": "https://a.test/f", "validator": "\\"v1\\"", "count": 5, \
            "file": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}
            """
        guard let data = try? ResumeData(Data(text.utf8)) else { preconditionFailure("resume data was refused") }
        return data
    }()

    /// A file of credentials: what can be read is written with as many bytes.
    static let credentials = FuzzTarget(name: "credentials") { bytes in
        guard bytes.count <= SavedCredentials.sizeLimit, let saved = try? SavedCredentials(SecretBytes(bytes)) else {
            return
        }
        guard let file = try? saved.file(), let again = try? SavedCredentials(file) else {
            preconditionFailure("what was written cannot be read")
        }
        precondition(again == saved)
        // The order of lines alone may be another.
        precondition(file.withBytes { $0.sorted() == bytes.sorted() }, "it reads what it does not write")
    }
}
