import CertificateTrust
import Glibc

/// An `errno`.
package struct SystemError: Error, Hashable, Sendable {
    package let code: CInt

    /// What the last failed call left.
    static var last: SystemError { SystemError(code: errno) }

    /// Whether the process or the machine has run out of something that every connection needs.
    var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }
}

extension SystemError: CustomStringConvertible {
    /// The system's words, such as `Connection refused`.
    package var description: String { systemErrorText(code) }
}
