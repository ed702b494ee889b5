import CertificatePinning
package import PinctlBasics

/// An element of an XML document, with its position.
package struct XMLElement: Sendable {
    package struct Attribute: Sendable {
        package let name: String
        package let value: String
        package let position: SourcePosition
        /// The bytes from the name to the closing quote.
        package let range: Range<Int>
    }

    package enum Node: Sendable {
        case element(XMLElement)
        /// Text with references replaced, comments left out and line ends converted to line feeds.
        case text(String)
    }

    /// The name as written, including a prefix.
    package let name: String
    package let attributes: [Attribute]
    /// The elements and text in order. No text node follows another directly.
    package let nodes: [Node]
    /// The position of the start tag.
    package let position: SourcePosition
    /// The range of bytes from the start tag to the end of the end tag.
    package let range: Range<Int>
    /// The text of the comment behind the end tag on the same line, or else of the last comment between the element and
    /// the one before it.
    package var comment: String?
}

extension XMLElement {
    /// The name without its prefix.
    package var localName: String {
        name.utf8.lastIndex(of: UInt8(ascii: ":")).map { String(name[name.utf8.index(after: $0)...]) } ?? name
    }

    package var elements: [XMLElement] {
        nodes.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text of an element without child elements, empty if the element is empty, or `nil` if it contains elements.
    package var text: String? {
        switch nodes.first {
        case nil: ""
        case .text(let text) where nodes.count == 1: text
        default: nil
        }
    }

    /// Whether anything other than white space appears between the child elements.
    package var hasLooseText: Bool {
        nodes.contains { if case .text(let text) = $0 { !text.utf8.allSatisfy(isXMLSpace) } else { false } }
    }

    /// The attribute with this name, which has no prefix.
    package subscript(name: String) -> Attribute? {
        attributes.first { $0.name == name }
    }
}

/// Returns whether the byte is white space in XML 1.0 (production 3).
func isXMLSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
}

/// Returns whether XML 1.0 allows the character (production 2).
func isXMLCharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF || "\t\n\r".unicodeScalars.contains(scalar)
}

/// Returns the document, or throws if it contains characters that XML doesn't allow or exceeds the limits of
/// ``XMLReader``.
func checkedXML(_ document: String) throws(DialectWriteError) -> String {
    guard document.unicodeScalars.allSatisfy(isXMLCharacter) else {
        throw DialectWriteError("the policy contains a control character, which XML doesn't allow: remove it")
    }
    do throws(MarkupProblem) {
        _ = try XMLReader.read(Array(document.utf8), allowsPropertyListType: true)
    } catch {
        throw DialectWriteError("the written file can't be read again: \(error.message)")
    }
    return document
}

/// Returns the text escaped for use between tags or in a quoted attribute.
func escapedXML(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"": escaped += "&quot;"
        case "\r": escaped += "&#13;"
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}
