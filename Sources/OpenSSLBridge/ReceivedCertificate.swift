/// A certificate received in a handshake: its bytes and the object OpenSSL parsed from them.
///
/// Parsing it again for verification would cost as much as the signatures of the handshake itself, because OpenSSL 3
/// decodes the key with every certificate.
package struct ReceivedCertificate: Sendable {
    /// DER (`i2d_X509`). The signed part and the key are the bytes that were received.
    package let derBytes: [UInt8]
    /// The parsed certificate, or nil if its extensions are malformed.
    package let certificate: OpenSSLCertificate?

    init(_ pointer: OpaquePointer) {
        derBytes = unsafe OpenSSLBridge.derBytes(pointer)
        certificate = try? unsafe OpenSSLCertificate(sharing: pointer)
    }
}
