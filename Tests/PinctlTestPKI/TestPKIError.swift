import CPinctlOpenSSL
import Glibc

/// A failed call to OpenSSL or to the operating system.
package struct TestPKIError: Error, CustomStringConvertible {
    package let description: String

    init(_ operation: String, _ reason: String) { description = "\(operation): \(reason)" }

    /// Returns an error with the oldest entry of this thread's error queue, and empties the queue.
    static func openSSL(_ operation: String) -> TestPKIError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let text = unsafe ERR_reason_error_string(code) else {
            return TestPKIError(operation, "no reason given")
        }
        return TestPKIError(operation, unsafe String(cString: text))
    }

    static func system(_ operation: String, _ number: Int32 = errno) -> TestPKIError {
        TestPKIError(operation, unsafe String(cString: strerror(number)))
    }
}

/// Runs an OpenSSL call that returns 1 for success.
func check(_ operation: String, _ call: () -> Int32) throws(TestPKIError) {
    ERR_clear_error()
    guard call() == 1 else { throw .openSSL(operation) }
}

/// Runs an OpenSSL call that returns a new object or NULL.
func make(_ operation: String, _ call: () -> OpaquePointer?) throws(TestPKIError) -> OpaquePointer {
    ERR_clear_error()
    guard let object = unsafe call() else { throw .openSSL(operation) }
    return unsafe object
}
