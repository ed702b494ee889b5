// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The authentication methods, protocols and proxy types, with the names and values of Apple's platforms.

/// The evaluation of a server's certificate chain. Session-wide. See ``URLProtectionSpace/serverTrust``.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
/// A server's request for a client certificate. Session-wide. See ``URLProtectionSpace/distinguishedNames``.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// Kerberos or NTLM (RFC 4559). Session-wide.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// NTLM. Session-wide.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// The login of a protocol other than HTTP. Task-specific.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// HTTP Basic (RFC 7617). Task-specific.
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// HTTP Digest (RFC 7616). Task-specific.
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A login form. Sessions never issue it. Programs can use it for their own entries in a ``URLCredentialStorage``.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"

/// The protocol of an `http` space.
public let NSURLProtectionSpaceHTTP = "http"
/// The protocol of an `https` space.
public let NSURLProtectionSpaceHTTPS = "https"
/// The protocol of an `ftp` space.
public let NSURLProtectionSpaceFTP = "ftp"

/// The type of an HTTP proxy.
public let NSURLProtectionSpaceHTTPProxy = "http"
/// The type of an HTTPS proxy, which is reached over TLS.
public let NSURLProtectionSpaceHTTPSProxy = "https"
/// The type of an FTP proxy.
public let NSURLProtectionSpaceFTPProxy = "ftp"
/// The type of a SOCKS proxy.
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"
