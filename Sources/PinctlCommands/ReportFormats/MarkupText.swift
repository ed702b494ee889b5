import CertificateTrust
import PinctlBasics

/// Escapes external text for use in an element or attribute of XML or HTML.
///
/// Invisible characters, line breaks and characters that XML doesn't allow are first replaced with visible escapes.
func markup(_ text: String) -> String {
    let visible = visibleText(text)
    // mutant markup-escapes: false by HostileReportTests
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

/// Escapes several lines, which stay separate lines.
func markup(lines: [String]) -> String { lines.map(markup).joined(separator: "\n") }

private func isMarkup(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"): true
    default: false
    }
}

/// Replaces some scalars of a text. It works on scalars because a CR LF line end is a single character.
func escaped(_ text: String, _ escapes: [Unicode.Scalar: String]) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        if let escape = escapes[scalar] { escaped += escape } else { escaped.unicodeScalars.append(scalar) }
    }
    return escaped
}
