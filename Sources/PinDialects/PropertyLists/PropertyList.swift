package import CertificatePinning
package import PinctlBasics

/// A value of a property list, with its position.
///
/// A binary list has no lines. All of its values are at line 0, which means the whole file.
package struct PropertyList: Sendable {
    package enum Kind: Sendable {
        /// A dictionary with its members in the order of the file. No key appears twice.
        case dictionary([Member])
        case array([PropertyList])
        case string(String)
        case integer(Int64)
        case bool(Bool)
        case data(ArraySlice<UInt8>)
        /// A real number, a date or a reference, which nothing uses, with its name in messages.
        case other(String)
    }

    package struct Member: Sendable {
        package let key: String
        package let position: SourcePosition
        package let value: PropertyList
        /// The bytes from the key's element to the end of the value's, empty in a binary list.
        let range: Range<Int>

        package init(_ key: String, _ value: PropertyList, at position: SourcePosition = PropertyList.nowhere) {
            self.init(key, value, at: position, range: 0..<0)
        }

        init(_ key: String, _ value: PropertyList, at position: SourcePosition, range: Range<Int>) {
            self.key = key
            self.position = position
            self.value = value
            self.range = range
        }
    }

    package let kind: Kind
    package let position: SourcePosition
    /// The bytes of the value's element, empty in a binary list.
    package let range: Range<Int>

    package init(_ kind: Kind, at position: SourcePosition = nowhere, range: Range<Int> = 0..<0) {
        self.kind = kind
        self.position = position
        self.range = range
    }

    /// Creates nested dictionaries of one key each around a value.
    init(nesting keys: some Sequence<String>, _ value: PropertyList) {
        self = keys.reversed().reduce(value) { PropertyList(.dictionary([Member($1, $0)])) }
    }

    package static let nowhere = SourcePosition(line: 0, column: 0)
}

extension PropertyList {
    /// Reads a property list, XML or binary.
    package static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> PropertyList {
        var problems = PolicyProblems(path: path)
        do throws(MarkupProblem) {
            if bytes.starts(with: "bplist".utf8) { return try BinaryPropertyListReader.read(bytes) }
            let root = try XMLReader.read(bytes, allowsPropertyListType: true)
            let list = PropertyList(document: root, &problems)
            if let list, problems.isEmpty { return list }
        } catch {
            problems.add(error.message, at: error.position, rule: error.rule)
        }
        throw PolicyFileError(problems: problems.sorted)
    }

    package var members: [Member]? {
        if case .dictionary(let members) = kind { members } else { nil }
    }

    package var elements: [PropertyList]? {
        if case .array(let elements) = kind { elements } else { nil }
    }

    package var string: String? {
        if case .string(let string) = kind { string } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let bool) = kind { bool } else { nil }
    }

    /// The value of the key, if there is one.
    package subscript(key: String) -> PropertyList? {
        members?.first { $0.key == key }?.value
    }

    /// The name of this kind of value in messages.
    package var kindName: String {
        switch kind {
        case .dictionary: "a dictionary"
        case .array: "an array"
        case .string: "a string"
        case .integer: "a number"
        case .bool: "a Boolean"
        case .data: "data"
        case .other(let name): name
        }
    }
}
