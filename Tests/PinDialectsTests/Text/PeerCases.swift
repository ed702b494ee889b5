import FoundationEssentials

/// What the tests of other systems expect, gathered in `peer-cases.json`; read when the tests run, and no part of the
/// project.
@dynamicMemberLookup
struct PeerCases: Sendable {
    enum Value: Sendable, Decodable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([Value])
        case object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let string = try? container.decode(String.self) {
                self = .string(string)
            } else if let array = try? container.decode([Value].self) {
                self = .array(array)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }
    }

    let json: Value?

    static let path =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
        + "/../shared/conformance/peer-cases.json"
    static let all: PeerCases? = (try? Data(contentsOf: URL(filePath: path)))
        .flatMap { try? JSONDecoder().decode(Value.self, from: $0) }.map(PeerCases.init)
    /// What a skipped test says.
    static let absence = "peer-cases.json is not at \(path)"

    subscript(dynamicMember key: String) -> PeerCases { self[key] }

    subscript(key: String) -> PeerCases {
        guard case .object(let members)? = json else { return PeerCases(json: nil) }
        return PeerCases(json: members[key])
    }

    var string: String? { if case .string(let string)? = json { string } else { nil } }
    var bool: Bool? { if case .bool(let bool)? = json { bool } else { nil } }
    var integer: Int? { if case .number(let number)? = json { Int(number) } else { nil } }
    var elements: [PeerCases] {
        if case .array(let elements)? = json { elements.map { PeerCases(json: $0) } } else { [] }
    }
    var members: [(key: String, value: PeerCases)] {
        guard case .object(let members)? = json else { return [] }
        return members.sorted { $0.key < $1.key }.map { ($0.key, PeerCases(json: $0.value)) }
    }
}
