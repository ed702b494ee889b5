/// A certificate that came in a handshake: its bytes, and what OpenSSL made of them.
///
/// To parse it again for verification would cost as much as the handshake's own signatures: OpenSSL 3 decodes the key
/// with every certificate.
package struct ReceivedCertificate: Sendable {
    /// DER (`i2d_X509`), whose signed part and key are the bytes that were received.
    package let derBytes: [UInt8]
    /// Nil where its extensions are malformed.
    package let certificate: OpenSSLCertificate?

    init(_ pointer: OpaquePointer) {
        derBytes = unsafe OpenSSLBridge.derBytes(pointer)
        certificate = try? unsafe OpenSSLCertificate(sharing: pointer)
    }
}
