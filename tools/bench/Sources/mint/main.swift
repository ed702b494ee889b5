// mint FOLDER: writes chains that are meant to make an evaluation slow or large, those of Tests/CertificateTrustTests
// and larger ones, a file each: what it is, the host, the time in seconds since 1970, and a line for each certificate, an anchor or one
// that is presented, in base64.
import Foundation

guard CommandLine.arguments.count == 2 else {
    print("usage: mint FOLDER")
    exit(2)
}
for (index, chain) in (PathologicalChain.all + PathologicalChain.largest).enumerated() {
    let claim = try chain.claim()
    var lines = [chain.description, claim.name ?? "", "\(claim.time)"]
    for certificate in [claim.leaf] + claim.presented {
        lines.append("presented " + Data(certificate.derBytes).base64EncodedString())
    }
    for anchor in claim.anchors { lines.append("anchor " + Data(anchor.derBytes).base64EncodedString()) }
    let file = "\(CommandLine.arguments[1])/\(index).chain"
    try lines.joined(separator: "\n").write(toFile: file, atomically: false, encoding: .utf8)
}
