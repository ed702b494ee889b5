// The part of Foundation that every platform has: FoundationEssentials, or all of Foundation on Apple's systems, which
// don't have it as a module. A file imports this module instead of choosing.
#if canImport(Darwin)
@_exported public import Foundation
#else
@_exported public import FoundationEssentials
#endif
