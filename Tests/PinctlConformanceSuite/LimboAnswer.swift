package import FoundationEssentials

/// The output of a harness for x509-limbo.
package struct LimboAnswer: Codable, Sendable {
    package struct Result: Codable, Sendable {
        package let id: String
        package let actualResult: Verdict
        package let context: String?
        /// The processor time, which isn't part of x509-limbo's format.
        package let milliseconds: Double?

        package init(id: String, actualResult: Verdict, context: String?, milliseconds: Double?) {
            self.id = id
            self.actualResult = actualResult
            self.context = context
            self.milliseconds = milliseconds
        }
    }

    private let version: Int
    private let harness: String
    package let results: [Result]

    package init(results: [Result]) {
        version = 1
        harness = "pinctl"
        self.results = results
    }

    package init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(LimboAnswer.self, from: json)
    }

    package func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}
