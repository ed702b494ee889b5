// The names of Core Foundation in the signatures of this module, so that code with casts such as `as CFString`
// compiles. They are Swift's own types: memory is managed by Swift, and functions such as `CFRetain` and `CFGetTypeID`
// are missing.

public import Foundation

/// A status code: ``errSecSuccess`` or an error.
public typealias OSStatus = Int32
/// An index or a count.
public typealias CFIndex = Int
/// A set of flags.
public typealias CFOptionFlags = UInt
/// Any value.
public typealias CFTypeRef = Any
/// Bytes.
public typealias CFData = Data
/// A text.
public typealias CFString = String
/// An array of any values.
public typealias CFArray = [Any]
/// An error with a domain, a code and a description.
public typealias CFError = NSError
/// An allocator of memory. There is none but the default one, which is `nil`.
public typealias CFAllocator = Never

/// The default allocator.
public let kCFAllocatorDefault: CFAllocator? = nil
