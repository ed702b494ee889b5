import CPinctlLinux
import PinctlLibC

/// The system's GSSAPI library (RFC 2744), loaded on first use (`dlopen`).
///
/// Its functions can be called from any thread. They block while they communicate with a key distribution center.
// Unchecked Sendable: these are pointers to functions of a library that is never unloaded.
@safe struct GSSLibrary: @unchecked Sendable {
    let importName: CLinux_gss_import_name
    let releaseName: CLinux_gss_release_name
    let acquire: CLinux_gss_acquire_cred
    let acquireWithPassword: CLinux_gss_acquire_cred_with_password
    let setMechanisms: CLinux_gss_set_neg_mechs
    let releaseCredential: CLinux_gss_release_cred
    let initiate: CLinux_gss_init_sec_context
    let deleteContext: CLinux_gss_delete_sec_context
    let releaseBuffer: CLinux_gss_release_buffer
    let displayStatus: CLinux_gss_display_status

    #if canImport(Darwin)
    /// The path of Apple's GSS framework.
    static let fileName = "/System/Library/Frameworks/GSS.framework/GSS"
    #else
    /// The file name of MIT Kerberos in the Linux distributions.
    static let fileName = "libgssapi_krb5.so.2"
    #endif

    static let system = Result<GSSLibrary, GSSError> { () throws(GSSError) in try GSSLibrary(fileName) }

    init(_ name: String) throws(GSSError) {
        guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            throw .noLibrary(name)
        }
        func find<Function>(_ symbol: String, _: Function.Type = Function.self) throws(GSSError) -> Function {
            guard let found = unsafe dlsym(library, symbol) else { throw .noLibrary("\(name) with \(symbol)") }
            return unsafe unsafeBitCast(found, to: Function.self)
        }
        unsafe importName = try find("gss_import_name")
        unsafe releaseName = try find("gss_release_name")
        unsafe acquire = try find("gss_acquire_cred")
        unsafe acquireWithPassword = try find("gss_acquire_cred_with_password")
        unsafe setMechanisms = try find("gss_set_neg_mechs")
        unsafe releaseCredential = try find("gss_release_cred")
        unsafe initiate = try find("gss_init_sec_context")
        unsafe deleteContext = try find("gss_delete_sec_context")
        unsafe releaseBuffer = try find("gss_release_buffer")
        unsafe displayStatus = try find("gss_display_status")
    }
}

/// An error in a GSSAPI login.
package enum GSSError: Error, Sendable, Hashable {
    /// The library isn't installed, or lacks a function.
    case noLibrary(String)
    /// There is no ticket, or none for the user and password. The text is the library's.
    case noCredential(String)
    /// The library rejected the server's token or can't continue. The text is the library's.
    case refused(String)
    /// The login is complete or busy, and got another token.
    case unexpectedToken
}

extension GSSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noLibrary(let name): "\(name) cannot be loaded: install libgssapi-krb5-2"
        case .noCredential(let words): "no Kerberos ticket (\(words)): run kinit, or correct the password"
        case .refused(let words): "Kerberos login failed (\(words)): check the server's service name and the realm"
        case .unexpectedToken: "the server sent a token after the end of the login: check which server answers"
        }
    }
}
