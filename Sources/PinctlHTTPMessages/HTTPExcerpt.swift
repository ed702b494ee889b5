import CertificateTrust
import PinctlBasics

/// An excerpt of a message for use in an error: at most 60 bytes, in quotes, with invisible characters made visible.
package struct HTTPExcerpt: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ bytes: some Collection<UInt8>) {
        let text = visibleText(String(decoding: bytes.prefix(60), as: UTF8.self))
        description = "\"" + text + (bytes.count > 60 ? "\"…" : "\"")
    }

    package init(_ text: String) { self.init(text.utf8) }
}
