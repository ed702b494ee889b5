import CertificatePinning
import CertificateTrust
import FoundationEssentials

@testable import PinDialects

extension FuzzTarget {
    static let dialects: [FuzzTarget] = [
        // The readers of markup, through what reads with them.
        FuzzTarget(name: "xml") { _ = try? PinDialect.android.read($0, path: "f") },
        FuzzTarget(name: "plist") { _ = try? PinDialect.apple.read($0, path: "f") },
        .dialect(.policy),
        FuzzTarget(name: "lint") { bytes in
            guard let file = try? PolicyFile(bytes: bytes, path: "f") else { return }
            _ = file.lint(at: Date(timeIntervalSince1970: 1_795_000_000))
        },
        .dialect(.android),
        .dialect(.apple),
        .dialect(.trustkit),
        .dialect(.okhttp),
        .dialect(.cronet),
        .dialect(.hpkp),
        .dialect(.curl),
        .dialect(.envoy),
        .dialect(.tlsa),
        .dialect(.certspotter), .dialect(.git),
        .dialect(.map), .dialect(.swift),
        FuzzTarget(name: "alamofire") { bytes in
            // A program of an app with two certificates, one of which can't be read.
            let project = SourceProject { kind in
                var contents = SourceProject.Contents()
                guard kind == .certificate else { return contents }
                contents.add(CertificatePool.shared.leaves[0].certificate.derBytes, path: "api.cer")
                contents.add([0x30], path: "other.der")
                return contents
            }
            _ = try? PinDialect.alamofire.read(bytes, path: "f.swift", target: nil, project: project)
        },
        FuzzTarget(name: "literals") { bytes in
            // TrustKit's dictionary in a program.
            _ = try? PinDialect.trustkit.read(Array("x = [kTSKPinnedDomains: [".utf8) + bytes, path: "f.swift")
        },
        FuzzTarget(name: "issuance") { bytes in
            _ = IssuanceProgram(recognizing: bytes)
            _ = IssuanceProgram.refusal(of: bytes, path: "f")
            let issued = CertificatePool.shared.leaves[0].certificate
            for program in IssuanceProgram.allCases {
                _ = try? program.read(bytes, path: "f", options: ("o", bytes)) { _ in
                    [issued]
                } certificate: { _ in
                    issued
                }
            }
        },
    ]

    /// Reads, and where that goes well converts to the dialect's own words, writes, reads again and compares; puts the
    /// pins into the file that they came from too.
    private static func dialect(_ dialect: PinDialect) -> FuzzTarget {
        FuzzTarget(name: dialect.rawValue) { bytes in
            guard let reading = try? dialect.read(bytes, path: "f") else { return }
            let (policy, notes) = reading.policy.converted(to: dialect, at: Date(timeIntervalSince1970: 1_795_000_000))
            guard !notes.contains(where: { $0.direction == .impossible }), let text = try? dialect.write(policy) else {
                return
            }
            guard let again = try? dialect.read(text, path: "f") else {
                preconditionFailure("what was written cannot be read: \(String(decoding: text, as: UTF8.self))")
            }
            let differences = policy.differences(in: again.policy)
            precondition(differences.isEmpty, "\(differences) in \(String(decoding: text, as: UTF8.self))")
            _ = try? dialect.replacing(bytes, path: "f", with: policy)
        }
    }
}
