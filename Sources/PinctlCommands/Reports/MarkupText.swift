import CertificateTrust

/// A stranger's text for XML and HTML, inside an element or an attribute: what is invisible, or may not stand in XML, is
/// escaped for display first, the line break too.
func markup(_ text: String) -> String {
    let visible = visibleText(text)
    guard visible.utf8.contains(where: isMarkup) else { return visible }
    var escaped: [UInt8] = []
    escaped.reserveCapacity(visible.utf8.count + 32)
    for byte in visible.utf8 {
        switch byte {
        case UInt8(ascii: "&"): escaped += "&amp;".utf8
        case UInt8(ascii: "<"): escaped += "&lt;".utf8
        case UInt8(ascii: ">"): escaped += "&gt;".utf8
        case UInt8(ascii: "\""): escaped += "&quot;".utf8
        case UInt8(ascii: "'"): escaped += "&#39;".utf8
        default: escaped.append(byte)
        }
    }
    return String(decoding: escaped, as: UTF8.self)
}

/// The same for several lines, which stay lines.
func markup(lines: [String]) -> String { lines.map(markup).joined(separator: "\n") }

private func isMarkup(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"): true
    default: false
    }
}

/// A text in which some scalars stand as something else. A line end of two scalars is one character, so that these are
/// not what is looked for.
func escaped(_ text: String, _ escapes: [Unicode.Scalar: String]) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        if let escape = escapes[scalar] { escaped += escape } else { escaped.unicodeScalars.append(scalar) }
    }
    return escaped
}
