package import CertificatePinning

/// An element of an XML document, which knows where it stands.
package struct XMLElement: Sendable {
    package struct Attribute: Sendable {
        package let name: String
        package let value: String
        package let position: SourcePosition
    }

    package enum Node: Sendable {
        case element(XMLElement)
        /// Text as it is meant: references are replaced, comments left out, line ends are line feeds.
        case text(String)
    }

    /// The name as written, a prefix included.
    package let name: String
    package let attributes: [Attribute]
    /// Elements and text in order; no two texts follow one another.
    package let nodes: [Node]
    /// Where its start tag begins.
    package let position: SourcePosition
    /// The bytes from the start tag to behind the end tag.
    package let range: Range<Int>
}

extension XMLElement {
    /// The name without a prefix.
    package var localName: String {
        name.utf8.lastIndex(of: UInt8(ascii: ":")).map { String(name[name.utf8.index(after: $0)...]) } ?? name
    }

    package var elements: [XMLElement] {
        nodes.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// What it says, when it holds text alone; empty when it holds nothing, nil when it holds elements.
    package var text: String? {
        switch nodes.first {
        case nil: ""
        case .text(let text) where nodes.count == 1: text
        default: nil
        }
    }

    /// Whether something other than white space stands between its elements.
    package var hasLooseText: Bool {
        nodes.contains { if case .text(let text) = $0 { !text.utf8.allSatisfy(isXMLSpace) } else { false } }
    }

    /// The attribute of this name, which has no prefix.
    package subscript(name: String) -> Attribute? {
        attributes.first { $0.name == name }
    }
}

/// White space of XML 1.0, production 3.
func isXMLSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
}

/// Whether XML 1.0 has this character (production 2).
func isXMLCharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF || "\t\n\r".unicodeScalars.contains(scalar)
}

/// A document, unless something in it came with characters that XML has not.
func checkedXML(_ document: String) throws(DialectWriteError) -> String {
    guard document.unicodeScalars.allSatisfy(isXMLCharacter) else {
        throw DialectWriteError("the policy holds a control character, which XML has not: remove it")
    }
    do throws(MarkupProblem) {
        _ = try XMLReader.read(Array(document.utf8), allowsPropertyListType: true)
    } catch {
        throw DialectWriteError("the file is more than is read again: \(error.message)")
    }
    return document
}

/// Text between tags or in a quoted attribute.
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
