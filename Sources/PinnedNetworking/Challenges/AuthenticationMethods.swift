// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The kinds of challenge and the protocols, under the names and with the values of Apple's platforms. This client
// issues server trust challenges; a delegate written for more kinds compiles and asks for default handling.

/// A server's certificate chain is to be judged; see ``URLProtectionSpace/serverTrust``.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
/// A server asks for a client certificate.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// Kerberos or NTLM (RFC 4559).
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// NTLM.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// A protocol's own login.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// HTTP Basic (RFC 7617).
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// HTTP Digest (RFC 7616).
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A login form; never issued.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"

/// The protocol of an `http` space.
public let NSURLProtectionSpaceHTTP = "http"
/// The protocol of an `https` space.
public let NSURLProtectionSpaceHTTPS = "https"
