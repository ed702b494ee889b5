import CertificatePinning
import CertificateTrust
import PinctlBasics

// The elements of Apple's PropertyList-1.0.dtd.
extension PropertyList {
    /// Creates the value of a document. If it has none, reports a problem and returns `nil`.
    init?(document root: XMLElement, _ problems: inout PolicyProblems) {
        guard root.name == "plist" else {
            problems.add("the root element isn't plist: use a property list", at: root.position)
            return nil
        }
        let values = root.elements
        guard values.count == 1, let value = values.first, !root.hasLooseText else {
            problems.add("a plist must contain exactly one value: put everything into one dict", at: root.position)
            return nil
        }
        self.init(value, &problems)
    }

    private init?(_ element: XMLElement, _ problems: inout PolicyProblems) {
        func found(_ kind: Kind) -> PropertyList {
            PropertyList(kind, at: element.position, range: element.range)
        }
        let text = element.text
        switch element.name {
        case "dict":
            self = found(.dictionary(Self.members(of: element, &problems)))
            return
        case "array":
            if element.hasLooseText {
                problems.add("unexpected text in an array: put it into a string", at: element.position)
            }
            self = found(.array(element.elements.compactMap { PropertyList($0, &problems) }))
            return
        case "string":
            if let text {
                self = found(.string(text))
                return
            }
        case "true", "false":
            if text == "" {
                self = found(.bool(element.name == "true"))
                return
            }
        case "integer":
            if let number = text.flatMap(Self.integer) {
                self = found(.integer(number))
                return
            }
        case "real":
            if let text, Double(Self.trimmed(text)) != nil {
                self = found(.other("a number"))
                return
            }
        case "date":
            if let text, Self.isDate(Self.trimmed(text)) {
                self = found(.other("a date"))
                return
            }
        case "data":
            let digits = text?.utf8.filter { !isXMLSpace($0) }
            if let digits, let bytes = digits.isEmpty ? [] : Base64.decodeCanonical(digits) {
                self = found(.data(bytes[...]))
                return
            }
        default:
            problems.add("\(quoted(element.name)) isn't a value of a property list: remove it", at: element.position)
            return nil
        }
        problems.add("invalid \(element.name): write a value that property lists allow", at: element.position)
        return nil
    }

    private static func members(of element: XMLElement, _ problems: inout PolicyProblems) -> [Member] {
        if element.hasLooseText {
            problems.add("unexpected text in a dict: put it into a string", at: element.position)
        }
        var members: [Member] = []
        var places: [String: SourcePosition] = [:]
        var key: (text: String, position: SourcePosition, start: Int)?
        for child in element.elements {
            if child.name == "key", key == nil {
                guard let text = child.text else {
                    problems.add("a key may contain only text: remove the elements in it", at: child.position)
                    return members
                }
                key = (text, child.position, child.range.lowerBound)
            } else if let (text, position, start) = key, child.name != "key" {
                key = nil
                if let earlier = places.updateValue(position, forKey: text) {
                    problems.add(
                        "duplicate key \(quoted(text)), first at \(earlier.line):\(earlier.column): keep one",
                        at: position, rule: .duplicate)
                }
                guard let value = PropertyList(child, &problems) else { continue }
                members.append(Member(text, value, at: position, range: start..<child.range.upperBound))
            } else {
                problems.add("a key or value is missing here: alternate keys and values in a dict", at: child.position)
                return members
            }
        }
        if let key { problems.add("the key \(quoted(key.text)) has no value: add one", at: key.position) }
        return members
    }

    private static func trimmed(_ text: String) -> String {
        String(decoding: text.utf8.drop(while: isXMLSpace).reversed().drop(while: isXMLSpace).reversed(), as: UTF8.self)
    }

    private static func integer(_ text: String) -> Int64? {
        let digits = trimmed(text)
        let isNegative = digits.hasPrefix("-")
        let bare = isNegative || digits.hasPrefix("+") ? digits.dropFirst() : digits[...]
        guard bare.hasPrefix("0x") || bare.hasPrefix("0X") else { return Int64(digits) }
        return Int64((isNegative ? "-" : "") + bare.dropFirst(2), radix: 16)
    }

    /// Returns whether the text has the form `2026-12-31T00:00:00Z`.
    private static func isDate(_ text: String) -> Bool {
        text.utf8.count == 20
            && zip(text.utf8, "0000-00-00T00:00:00Z".utf8).allSatisfy { byte, form in
                form == UInt8(ascii: "0") ? UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte : byte == form
            }
    }
}

extension PropertyList {
    /// An XML document with this value, formatted like Apple's tools do.
    var xmlDocument: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        \(xml(indent: ""))
        </plist>

        """
    }

    /// Returns the XML element of this value. Lines after the first are indented by `indent`, and by one `step` more
    /// for each container.
    func xml(indent: String, step: String = "\t") -> String {
        let inner = indent + step
        func container(_ name: String, _ lines: [String]) -> String {
            lines.isEmpty
                ? "<\(name)/>" : "<\(name)>\n" + lines.map { inner + $0 + "\n" }.joined() + indent + "</\(name)>"
        }
        switch kind {
        case .dictionary(let members):
            return container(
                "dict",
                members.flatMap { ["<key>\(escapedXML($0.key))</key>", $0.value.xml(indent: inner, step: step)] })
        case .array(let elements): return container("array", elements.map { $0.xml(indent: inner, step: step) })
        case .string(let string): return "<string>\(escapedXML(string))</string>"
        case .integer(let number): return "<integer>\(number)</integer>"
        case .bool(let bool): return "<\(bool)/>"
        // Other values are read but never written.
        case .data, .other: return ""
        }
    }
}
