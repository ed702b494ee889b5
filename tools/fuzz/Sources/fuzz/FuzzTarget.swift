import CertificatePinning
import FoundationEssentials
import PinDialects

/// Something that takes any bytes. It traps when a promise is broken.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    /// All of them. Each has a folder of its name in `seeds`.
    static let all: [FuzzTarget] = [
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
        .dialect(.hpkp),
        .dialect(.curl),
        .dialect(.tlsa),
        FuzzTarget(name: "ntlm") { bytes in
            guard let challenge = try? NTLMChallenge(bytes) else { return }
            precondition(challenge.serverChallenge.count == 8 && challenge.bytes == bytes)
            let length = challenge.targetInfo.reduce(0) { $0 + $1.bytes.count }
            precondition(length <= bytes.count, "what it says of the target is longer than itself")
        },
        .socks("socks5", .socks5),
        .socks("socks4a", .socks4a),
    ]

    /// A proxy's replies, a byte at a time.
    static func socks(_ name: String, _ version: SOCKSHandshake.Version) -> FuzzTarget {
        FuzzTarget(name: name) { bytes in
            let login = SOCKSHandshake.Login(user: "user", password: "password")
            guard var handshake = try? SOCKSHandshake(version, to: .name("a.test"), port: 443, login: login) else {
                preconditionFailure("a name and a login that fit were refused")
            }
            var rest = bytes[...]
            while let action = try? handshake.next(), action != .done {
                guard action == .wantsInput else { continue }
                guard let byte = rest.popFirst() else { return }
                handshake.receive([byte])
            }
        }
    }

    /// Reads, and where that goes well converts to the dialect's own words, writes, reads again and compares; puts the
    /// pins into the file that they came from too.
    static func dialect(_ dialect: PinDialect) -> FuzzTarget {
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
