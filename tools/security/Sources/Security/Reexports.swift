// The types that PinnedNetworking has under Apple's names. They are exported, not declared again: a file that imports
// both modules sees one type, and can pass the trust of a challenge to these functions.
@_exported public import typealias PinnedNetworking.SecCertificate
@_exported public import typealias PinnedNetworking.SecIdentity
@_exported public import typealias PinnedNetworking.SecTrust
