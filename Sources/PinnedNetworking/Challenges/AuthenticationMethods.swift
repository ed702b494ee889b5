// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The kinds of challenge, of protocol and of proxy, under the names and with the values of Apple's platforms.

/// A server's certificate chain is to be judged; session-wide. See ``URLProtectionSpace/serverTrust``.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
/// A server asks for a client certificate; session-wide. See ``URLProtectionSpace/distinguishedNames``.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// Kerberos or NTLM (RFC 4559); session-wide.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// NTLM; session-wide.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// A protocol's own login; task-specific.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// HTTP Basic (RFC 7617); task-specific.
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// HTTP Digest (RFC 7616); task-specific.
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A login form; never issued. For a program's own entries in a ``URLCredentialStorage``.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"

/// The protocol of an `http` space.
public let NSURLProtectionSpaceHTTP = "http"
/// The protocol of an `https` space.
public let NSURLProtectionSpaceHTTPS = "https"
/// The protocol of an `ftp` space.
public let NSURLProtectionSpaceFTP = "ftp"

/// The type of an HTTP proxy.
public let NSURLProtectionSpaceHTTPProxy = "http"
/// The type of an HTTPS proxy, which is spoken to over TLS.
public let NSURLProtectionSpaceHTTPSProxy = "https"
/// The type of an FTP proxy.
public let NSURLProtectionSpaceFTPProxy = "ftp"
/// The type of a SOCKS proxy.
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"
