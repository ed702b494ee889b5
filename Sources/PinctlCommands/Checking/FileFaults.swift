import CertificateTrust

/// The reasons why a server fails to start with the files of a leaf, the one that comes first at its start first.
struct FileFaults {
    struct Fault {
        let word: VerdictWord
        /// The fault in one line.
        let problem: String
        /// The fault without the names of files and certificates.
        let short: String
        /// The details that distinguish faults with the same word.
        let operands: [String]
    }

    private(set) var all: [Fault] = []
    var isEmpty: Bool { all.isEmpty }

    /// The maximum number of files with wrong keys that are named.
    private static let keyLimit = 5

    /// Creates those of a leaf that isn't first in its file, and of keys that don't fit it. `owner` has the certificate
    /// of the first key, if there is one.
    init(_ place: LeafPlace, _ keys: [NamedKeys.Entry], owner: String?) {
        if let first = place.first {
            all.append(
                Fault(
                    word: .wrongOrder,
                    problem:
                        "wrong order: \(place.isBehindKey ? "its chain" : "the file") begins with \(first.subject), "
                        + "and this leaf is certificate \(place.position)",
                    short: "wrong order: the leaf isn't the first certificate in the file", operands: []))
        }
        guard let key = keys.first else { return }
        let others = keys.dropFirst().compactMap(\.title)
        all.append(
            Fault(
                word: .wrongKey,
                problem:
                    "wrong key: \(key.title ?? "the private key in the file") isn't the key of this certificate"
                    + (owner.map { ", but of \($0)" } ?? "")
                    + (others.isEmpty ? "" : ", and neither is \(FirstNames(others, limit: Self.keyLimit))"),
                short: "wrong key: the private key isn't that of the certificate",
                // A baseline with one wrong key doesn't excuse another one.
                // mutant files-key-baseline: [] for `keys.map…}` by PassedOverTests/baselineOtherPairedKey
                operands: [key.title, owner].compactMap(\.self) + keys.map { "\($0.key)" }))
    }
}
