// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Status codes with the names and values of Apple's platforms.

/// The call succeeded (0).
public let errSecSuccess: OSStatus = 0
/// The request is unsupported (-4).
public let errSecUnimplemented: OSStatus = -4
/// An argument is invalid (-50).
public let errSecParam: OSStatus = -50
/// The anchors can't be read (-25291).
public let errSecNotAvailable: OSStatus = -25291
/// No path leads to an anchor (-25318).
public let errSecCreateChainFailed: OSStatus = -25318
/// The certificate doesn't match the hostname (-67602).
public let errSecHostNameMismatch: OSStatus = -67602
/// The revocation status isn't known (-67635).
public let errSecIncompleteCertRevocationCheck: OSStatus = -67635
/// The certificate has expired (-67818).
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate isn't valid yet (-67819).
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate is revoked (-67820).
public let errSecCertificateRevoked: OSStatus = -67820
/// The chain isn't trusted for any other reason (-67843).
public let errSecNotTrusted: OSStatus = -67843
