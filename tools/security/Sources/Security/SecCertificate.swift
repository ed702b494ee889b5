// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CertificateTrust
import PinnedNetworking

/// A public key. Two keys are equal if their DER is equal, including the algorithm.
///
/// Its `fingerprint` is the pin of the key.
public typealias SecKey = SubjectPublicKeyInfo

/// Parses a DER certificate that fills `data`. Returns `nil` for anything else, such as PEM.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    try? X509Certificate(derBytes: Array(data))
}

/// Returns the DER of a certificate.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData {
    CFData(certificate.derBytes)
}
