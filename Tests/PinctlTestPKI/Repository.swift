/// The project's sources, as the compiler found them.
package enum Repository {
    /// The path of the root directory, without a slash at its end.
    package static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
}
