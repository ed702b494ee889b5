import CPinctlOpenSSL

/// PEM text (RFC 7468).
package enum TestPEM {
    /// Returns a block around DER, in lines of 64 characters, with a line feed at the end.
    package static func block(_ label: String, _ derBytes: [UInt8]) -> String {
        var lines = ["-----BEGIN \(label)-----"]
        var start = 0
        while start < derBytes.count {
            let end = min(start + 48, derBytes.count)
            lines.append(base64(Array(derBytes[start..<end])))
            start = end
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
    }

    package static func base64(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = unsafe EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
        return String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}
