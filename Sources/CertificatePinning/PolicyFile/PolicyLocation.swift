import CertificateTrust
package import PinctlBasics

/// A location in a policy file.
public struct PolicyLocation: Sendable, Hashable {
    /// The path of the file, as given by the caller.
    public let path: String
    /// The line, from 1. It is 0 if the whole file is meant.
    public let line: Int
    /// The column in characters (Unicode scalars), from 1. It is 0 if the whole file is meant.
    public let column: Int

    /// Creates a location in a file, or that of the whole file.
    public init(path: String, line: Int = 0, column: Int = 0) {
        self.path = path
        self.line = line
        self.column = column
    }

    package init(path: String, _ position: SourcePosition) {
        self.init(path: path, line: Int(position.line), column: Int(position.column))
    }
}

extension PolicyLocation: CustomStringConvertible {
    /// `pins/pins.jsonc:14:5`, or the path alone.
    public var description: String {
        line > 0 ? "\(path):\(line):\(column)" : visibleText(path)
    }
}
