import CertificateTrust
import PinctlBasics
import PinctlLibC

/// An `errno` value.
package struct SystemError: Error, Hashable, Sendable {
    package let code: CInt

    package init(code: CInt) { self.code = code }

    /// The error of the last failed call.
    static var last: SystemError { SystemError(code: errno) }

    /// Closes a descriptor, and returns the error of the call before.
    static func closing(_ number: CInt) -> SystemError {
        let error = last
        close(number)
        return error
    }

    /// Whether the machine was reached, and nothing listens at the port.
    package var isRefusal: Bool { code == ECONNREFUSED }

    /// Whether this machine forbids the connection.
    package var isForbidden: Bool { code == EACCES || code == EPERM }

    /// Whether a file doesn't exist.
    package var isMissing: Bool { code == ENOENT }

    /// Whether nothing answered in the system's time.
    package var isTimeout: Bool { code == ETIMEDOUT }

    /// Whether the process or the machine has run out of a resource that every connection needs.
    var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }

    /// Whether `connect(2)` failed at once with this error because this machine has no route to the address. For IPv4,
    /// `EADDRNOTAVAIL` means that all local ports are in use.
    func isUnrouted(_ address: SocketAddress) -> Bool {
        [ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT].contains(code) || code == EADDRNOTAVAIL && address.isIPv6
    }
}

extension SystemError: CustomStringConvertible {
    /// The system's text, such as `Connection refused`.
    package var description: String { systemErrorText(code) }
}
