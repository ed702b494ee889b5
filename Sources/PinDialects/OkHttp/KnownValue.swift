import PinctlBasics

/// The value of an expression when the program runs.
indirect enum KnownValue: Equatable {
    case text(String)
    /// A collection of texts and pairs.
    case list([KnownValue])
    case pair(KnownValue, KnownValue)
    /// An object of a data class with its properties, in the order of its constructor.
    case object([KnownProperty])
    case bytes([UInt8])
    case number(Int64)
    case flag(Bool)
    /// A time as the number of milliseconds since 1970-01-01T00:00:00Z.
    case time(Int64)

    /// The texts of a text or a list.
    var texts: [String]? {
        let texts = elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
        return texts.count == elements.count ? texts : nil
    }

    /// The texts in this value, at any depth.
    var allTexts: [String] {
        switch self {
        case .text(let text): [text]
        case .bytes, .number, .flag, .time: []
        case .list(let values): values.flatMap(\.allTexts)
        case .pair(let first, let second): first.allTexts + second.allTexts
        case .object(let properties): properties.flatMap(\.value.allTexts)
        }
    }

    /// Whether it is a number or bytes, which can't be joined with a text.
    var isScalar: Bool {
        switch self {
        case .bytes, .number, .flag, .time: true
        case .text, .list, .pair, .object: false
        }
    }

    /// Whether it could be changed under its name.
    var canChange: Bool {
        switch self {
        case .list, .bytes: true
        case .text, .pair, .object, .number, .flag, .time: false
        }
    }

    /// The first two parts, as for the names of a loop in parentheses.
    var pair: (KnownValue, KnownValue)? {
        switch self {
        case .pair(let first, let second): (first, second)
        case .object(let properties) where properties.count > 1: (properties[0].value, properties[1].value)
        default: nil
        }
    }

    /// The elements that a loop takes in turn.
    var elements: [KnownValue] { if case .list(let values) = self { values } else { [self] } }

    /// Returns the part of a part, and so on.
    func part(_ names: ArraySlice<String>) -> KnownValue? {
        names.reduce(self as KnownValue?) { $0?.part($1) }
    }

    /// Returns the part of a pair by the name of a property or function, or the value itself.
    func part(_ name: String) -> KnownValue? {
        if case .object(let properties) = self {
            let property = name.hasSuffix("()") ? String(name.dropLast(2)) : name
            return properties.first { $0.name == property }?.value
        }
        guard case .pair(let first, let second) = self else {
            return SourceValue.transparent.contains(name) ? self : nil
        }
        return switch name {
        case "key", "first", "getKey", "getFirst", "component1": first
        case "value", "second", "getValue", "getSecond", "component2": second
        default: nil
        }
    }
}

/// A property of an object.
struct KnownProperty: Equatable {
    let name: String
    let value: KnownValue
}
