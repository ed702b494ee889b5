import PinctlBasics

/// The reason why rules weren't added to a policy file.
package enum PolicyInsertionError: Error, Sendable {
    /// The file, or the file with the rules added, isn't a valid policy.
    case file(PolicyFileError)
    /// The result would mean something other than the old and the new rules together.
    case differs(path: String)
}

extension PolicyInsertionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let error): error.problems.map(\.description).joined(separator: "; ")
        case .differs(let path):
            "\(path): the rules can't be added without changing what the file means: write a separate policy with "
                + "--output"
        }
    }
}

/// Pins and rules to add to a policy file, as lines with a comma after each element.
package struct PolicyAdditions: Sendable {
    private let pins: [String]
    private let rules: [String]
    private let text: String

    /// Creates additions. `text` is a separate policy file with the same rules.
    package init(pins: [String], rules: [String], text: String) {
        self.pins = pins
        self.rules = rules
        self.text = text
    }

    /// Returns the bytes of a policy file with the pins and rules inserted before the existing ones. No other byte
    /// changes. The result is read again to check that it means the old and the new rules together.
    package func inserted(into bytes: [UInt8], path: String) throws(PolicyInsertionError) -> [UInt8] {
        let isStrict = JSONCReader.Dialect(ofFile: path) == .json
        let result: [UInt8]
        let (read, meant): (PinningPolicy, PinningPolicy?)
        do throws(PolicyFileError) {
            let old = try PolicyFile(bytes: bytes, path: path)
            let new = try PolicyFile(bytes: Array(text.utf8), path: path)
            result = insertions(into: old.root, isStrict).sorted { $0.position > $1.position }
                .reduce(into: bytes) { text, insertion in
                    guard let offset = Self.offset(of: insertion.position, in: bytes) else { return }
                    text.insert(contentsOf: Array(insertion.text.utf8), at: offset + 1)
                }
            read = try PolicyFile(bytes: result, path: path).policy
            meant = try? PinningPolicy(
                rules: old.policy.rules + new.policy.rules, unlisted: old.policy.unlisted, deny: old.policy.deny)
        } catch {
            throw .file(error)
        }
        guard read.digest == meant?.digest else { throw .differs(path: path) }
        return result
    }

    /// Returns the texts to insert, each with the position of the opening bracket it follows.
    private func insertions(
        into root: JSONValue, _ isStrict: Bool
    ) -> [(position: SourcePosition, text: String)] {
        var insertions: [(position: SourcePosition, text: String)] = []
        var missing: [String] = []
        for (key, lines, brackets) in [
            ("pins", pins, ("{", "}")),
            ("domains", rules, ("[", "]")),
        ] where !lines.isEmpty {
            if let list = root[key] {
                let isEmpty = (list.members?.isEmpty ?? true) && (list.elements?.isEmpty ?? true)
                let text = PolicyDraft.closed(lines, isStrict && isEmpty).joined(separator: "\n")
                insertions.append((list.position, "\n" + text))
            } else {
                let text = PolicyDraft.closed(lines, isStrict).joined(separator: "\n")
                missing.append("\n  \"\(key)\": \(brackets.0)\n\(text)\n  \(brackets.1),")
            }
        }
        // The root has at least a version, so a comma may follow.
        if !missing.isEmpty { insertions.append((root.position, missing.joined())) }
        return insertions
    }

    /// Returns the byte offset of a position. Counts like the reader: lines end with LF, CR LF or CR, and columns are
    /// characters.
    private static func offset(of position: SourcePosition, in bytes: [UInt8]) -> Int? {
        var (index, line, column) = (0, Int32(1), Int32(1))
        while index < bytes.count {
            if line == position.line, column == position.column { return index }
            let byte = bytes[index]
            index += 1
            if byte == 0x0A || byte == 0x0D {
                if byte == 0x0D, index < bytes.count, bytes[index] == 0x0A { index += 1 }
                (line, column) = (line + 1, 1)
            } else if index == bytes.count || bytes[index] & 0xC0 != 0x80 {
                column += 1
            }
        }
        return nil
    }
}
