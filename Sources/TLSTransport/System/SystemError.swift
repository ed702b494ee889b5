import CertificateTrust
import PinctlBasics
import PinctlLibC

/// An `errno` value.
package struct SystemError: Error, Hashable, Sendable {
    package let code: CInt

    /// The error of the last failed call.
    static var last: SystemError { SystemError(code: errno) }

    /// Whether the process or the machine has run out of a resource that every connection needs.
    var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }
}

extension SystemError: CustomStringConvertible {
    /// The system's text, such as `Connection refused`.
    package var description: String { systemErrorText(code) }
}
