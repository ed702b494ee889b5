import Foundation

/// The values that protocol classes attach to a request, and the stream over its body that they can read. Both are
/// ignored when requests are compared.
// @unchecked because the values have any type. It is safe since they are only stored and returned, and since the
// program that sets a value must not change it any more, as `URLProtocol.setProperty(_:forKey:in:)` says.
struct RequestProperties: @unchecked Sendable {
    var values: [String: Any] = [:]
    /// A stream over a body that is in memory or in a file, or `nil` outside of protocol classes.
    var bodyStream: BodyStream?
}
