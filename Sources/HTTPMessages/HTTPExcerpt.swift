import CertificateTrust

/// Some bytes of a message as an error may show them: at most 60, in quotes, and nothing in them that would not show.
package struct HTTPExcerpt: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ bytes: some Collection<UInt8>) {
        let text = visibleText(String(decoding: bytes.prefix(60), as: UTF8.self))
        description = "\"" + text + (bytes.count > 60 ? "\"…" : "\"")
    }

    package init(_ text: String) { self.init(text.utf8) }
}
