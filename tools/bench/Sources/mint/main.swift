// mint DIRECTORY: writes chains that are meant to make an evaluation slow or large, those of
// Tests/CertificateTrustTests/Paths and larger ones, a file each: what it is, the host, the time in seconds since 1970,
// and in base64 a line for each certificate that is presented or an anchor, for each list of revoked ones, and for a
// stapled response.
import Foundation

guard CommandLine.arguments.count == 2 else {
    print("usage: mint DIRECTORY")
    exit(2)
}
for (index, chain) in (PathologicalChain.all + PathologicalChain.largest).enumerated() {
    let claim = try chain.claim()
    let objects: [(kind: String, all: [[UInt8]])] = [
        ("presented", [claim.leaf.derBytes] + claim.presented.map(\.derBytes)),
        ("anchor", claim.anchors.map(\.derBytes)), ("list", claim.revocation.lists.map(\.derBytes)),
        ("staple", claim.revocation.stapledOCSP.map { [$0] } ?? []),
    ]
    let lines = objects.flatMap { kind, all in all.map { "\(kind) \(Data($0).base64EncodedString())" } }
    try ([chain.description, claim.name ?? "", "\(claim.time)"] + lines).joined(separator: "\n")
        .write(toFile: "\(CommandLine.arguments[1])/\(index).chain", atomically: false, encoding: .utf8)
}
