import OpenSSLBridge
import PinctlFoundation

/// The environment of the process. It is empty in a set-user-ID program, because its caller chose the variables and
/// must not choose whom the program trusts or where it sends what it has.
package var processEnvironment: [String: String] {
    OpenSSLLibrary.isSetUserID ? [:] : ProcessInfo.processInfo.environment
}
