import PinctlBasics

/// The values that are allowed at a position of a policy file, as far as a table can express them.
package indirect enum PolicyShape: Sendable {
    case string
    case boolean
    /// An integer in this range.
    case number(ClosedRange<Int>)
    /// One of these strings.
    case choice([String])
    case array(of: PolicyShape, minimum: Int = 0)
    case object([PolicyKey])
    /// An object whose keys are arbitrary names.
    case map(to: PolicyShape)
    /// One of two shapes that have different JSON types.
    case either(PolicyShape, PolicyShape)
}

/// A key that an object can have.
package struct PolicyKey: Sendable {
    package let name: String
    package let shape: PolicyShape
    package let isRequired: Bool

    init(_ name: String, _ shape: PolicyShape, isRequired: Bool = false) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
    }

    /// Whether a key is free for any use, in every object.
    static func isFree(_ name: String) -> Bool { name.hasPrefix("x-") }
}

extension PolicyShape {
    /// Reports everything in `value` that doesn't have this shape. `name` is the name of the value in messages.
    func check(_ value: JSONValue, _ name: String, _ problems: inout PolicyProblems) {
        switch (self, value.kind) {
        case (.string, .string), (.boolean, .bool): break
        case (.number(let range), .number(let text)) where value.integer.map(range.contains) != true:
            problems.add("\(name) must be \(description), found \(text.prefix(20))", at: value.position)
        case (.number, .number): break
        case (.choice(let choices), .string(let text)):
            // mutant unknown-word: false by PolicyProblemTests
            guard !choices.contains(text) else { break }
            problems.add(
                "\(name) must be \(description), found \(quoted(text))"
                    + (suggestion(for: text, among: choices).map { ": did you mean \"\($0)\"?" } ?? ""),
                at: value.position)
        case (.array(let element, let minimum), .array(let elements)):
            if elements.count < minimum {
                problems.add("\(name) is empty: add at least \(minimum) element", at: value.position)
            }
            for value in elements { element.check(value, "an element of \(name)", &problems) }
        case (.object(let keys), .object(let members)): Self.check(members, keys, of: value, name, &problems)
        case (.map(let shape), .object(let members)):
            for member in members where !PolicyKey.isFree(member.key) {
                shape.check(member.value, quoted(member.key), &problems)
            }
        case (.either(let first, let second), _):
            if first.hasKind(of: value) {
                first.check(value, name, &problems)
            } else if second.hasKind(of: value) {
                second.check(value, name, &problems)
            } else {
                fallthrough
            }
        // mutant wrong-type: {} by PolicyProblemTests
        default: problems.add("\(name) must be \(description), found \(value.kindName)", at: value.position)
        }
    }

    private static func check(
        _ members: [JSONValue.Member], _ keys: [PolicyKey], of object: JSONValue, _ name: String,
        _ problems: inout PolicyProblems
    ) {
        var suggested: Set<String> = []
        for member in members where !PolicyKey.isFree(member.key) {
            // mutant unknown-key: keys.first(where: { $0.name == member.key }) ?? keys.first by PolicyUnknownKeyTests
            guard let key = keys.first(where: { $0.name == member.key }) else {
                if let place = PolicySchema.places[member.key], keys.allSatisfy({ PolicySchema.places[$0.name] != nil })
                {
                    problems.add(
                        "\(quoted(member.key)) isn't a key of \(name): move it to \(place)", at: member.keyPosition,
                        rule: .misplacedSetting)
                    continue
                }
                let synonym = PolicySchema.synonyms[member.key.lowercased()]
                let meant =
                    keys.first { $0.name == synonym }?.name ?? suggestion(for: member.key, among: keys.map(\.name))
                if let meant { suggested.insert(meant) }
                problems.add(
                    "unknown key \(quoted(member.key)): "
                        + (meant.map { "did you mean \"\($0)\"?" } ?? "remove it, or start it with x-"),
                    at: member.keyPosition, rule: .duplicate)
                continue
            }
            key.shape.check(member.value, "\"\(key.name)\"", &problems)
        }
        // A key that is only misspelled isn't reported as missing too.
        // mutant required-key: false for `key.isRequired && object[key.name] == nil` by PolicyProblemTests
        for key in keys where key.isRequired && object[key.name] == nil && !suggested.contains(key.name) {
            problems.add("\(name) has no \"\(key.name)\": add it", at: object.position)
        }
    }

    private func hasKind(of value: JSONValue) -> Bool {
        switch (self, value.kind) {
        case (.string, .string), (.choice, .string), (.boolean, .bool), (.number, .number), (.array, .array),
            (.object, .object), (.map, .object):
            true
        default: false
        }
    }

    /// The name of the shape in messages.
    private var description: String {
        switch self {
        case .string: "a string"
        case .boolean: "true or false"
        case .number(let range) where range.count == 1: "\(range.lowerBound)"
        case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let choices): alternatives(choices)
        case .array: "an array"
        case .object, .map: "an object"
        case .either(let first, let second): "\(first.description) or \(second.description)"
        }
    }
}
