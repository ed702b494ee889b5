// `import PinnedNetworking` stands where `import FoundationNetworking` stood, so it brings what a program with a
// policy, a trust and a URL names.
@_exported public import CertificatePinning
@_exported public import CertificateTrust
@_exported public import Foundation
