// `import PinnedNetworking` replaces `import FoundationNetworking`, so it also exports the modules that a program needs
// for policies, server trust and URLs.
@_exported public import CertificatePinning
@_exported public import CertificateTrust
@_exported public import Foundation
