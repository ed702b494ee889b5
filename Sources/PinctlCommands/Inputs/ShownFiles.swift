import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of the contents of files: the chain in order, then any other objects.
struct ShownFiles {
    let reader: InputReader
    let judge: ChainJudge
    /// The hostname of `--host`.
    let name: ServerName?

    /// The maximum number of objects in a file. A path has at most twelve certificates.
    private static let objectLimit = 10_000

    /// Shows a file, or each file of a directory.
    func show(_ operand: String, _ export: CertificateExport, _ console: inout Console) {
        do throws(InputProblem) {
            let files = try InputPath.all(of: operand)
            if let file = files.first, file.isNamed { return try show(file, export, &console) }
            var isEmpty = true
            for file in files {
                do throws(InputProblem) {
                    try show(file, export, &console)
                    isEmpty = false
                } catch {
                    guard error.irrelevance == nil else {
                        console.note("\(file.path): skipped, it \(error.reason)")
                        continue
                    }
                    report(file.path, error, &console)
                    isEmpty = false
                }
            }
            if isEmpty {
                throw InputProblem(reason: "no file in this directory contains a key: name another directory")
            }
        } catch {
            report(operand, error, &console)
        }
    }

    private func report(_ file: String, _ problem: InputProblem, _ console: inout Console) {
        console.problem(
            "\(DialectInput.title(file)): \(problem.reason)", .badInput, members: [("input", .string(file))])
    }

    private func show(
        _ input: InputPath, _ export: CertificateExport, _ console: inout Console
    ) throws(InputProblem) {
        let file = input.path
        var contents = FileContents()
        var count = 0
        try reader.read(input) { object in
            count += 1
            if count <= Self.objectLimit { contents.add(object) }
        }
        guard count <= Self.objectLimit else {
            throw InputProblem(
                reason:
                    "contains \(count) objects, more than the limit of \(Self.objectLimit): list them with pinctl hash"
            )
        }
        report(contents, of: file, export, &console)
        for (index, line, problem) in contents.problems {
            let place = "[\(index)]" + (line.map { ", line \($0)" } ?? "")
            console.problem(
                "\(DialectInput.title(file))\(place): \(problem.reason)", .badInput,
                members: [("input", .string(file)), ("index", .integer(index))])
        }
    }

    private func report(
        _ contents: FileContents, of file: String, _ export: CertificateExport, _ console: inout Console
    ) {
        let presented = PresentedChain(ordering: contents.certificates)
        // A CA certificate doesn't identify a host, so it is checked for a hostname only if one is given.
        let pool = CertificatePool(contents.certificates)
        let isAuthority = name == nil && presented.map { !pool.isLeaf($0.leaf) } == true
        let chain = isAuthority ? nil : presented.map { ShownChain($0, source: .file, for: name, by: judge) }
        let certificates = presented?.certificates ?? contents.certificates
        let title = DialectInput.title(file)
        let isRefused = name != nil && chain?.isTrusted == false
        let place: [(String, JSON)] = [("input", .string(file))]
        if export.replacesText {
            export.print(certificates, place, &console)
            if let chain, let reason = chain.reason, isRefused {
                console.problem("\(title): \(chain.verdict): \(reason)", .notTrusted)
            }
        } else if !certificates.isEmpty || !contents.others.isEmpty {
            var headline = ["\(title)  \(contents.summary)"]
            if let chain { headline += [chain.verdict, nameText(chain)].compactMap(\.self) }
            if chain == nil, !certificates.isEmpty {
                headline.append(
                    isAuthority ? "no leaf, so not verified (give --host)" : "no single chain, so not verified")
            }
            let rows = certificates.map { certificate in
                let role = certificate.isSelfIssued ? "root" : "ca"
                return CertificateRow(
                    role: pool.isLeaf(certificate) ? "leaf" : role, certificate, source: "file",
                    isInStore: judge.store.contains(certificate))
            }
            let verdict: JSON = chain.map { $0.isTrusted ? "ok" : "untrusted" } ?? "not_judged"
            let members =
                chain?.members ?? (rows.isEmpty ? [] : [("certificates", .array(rows.map(\.json)))])
            console.result(
                [headline.joined(separator: "  ")] + (chain?.lines ?? CertificateRow.lines(rows, now: judge.time))
                    + contents.others.map(\.line),
                .object(
                    place + [("verdict", verdict)] + members + [("others", .array(contents.others.map(\.json)))]),
                isRefused ? .notTrusted : .good)
        }
        let base = file == "-" ? "stdin" : file.split(separator: "/").last.map(String.init) ?? file
        export.save(certificates, as: base, &console)
    }

    private func nameText(_ chain: ShownChain) -> String? {
        guard let name else { return "hostname not checked (give --host)" }
        return chain.nameMatches == true ? "for \(name)" : "not for \(name)"
    }
}

/// The contents of one file.
private struct FileContents {
    private(set) var certificates: [X509Certificate] = []
    private(set) var others: [OtherObject] = []
    private(set) var problems: [(index: Int, line: Int?, problem: InputProblem)] = []

    var isEmpty: Bool { certificates.isEmpty && others.isEmpty && problems.isEmpty }

    mutating func add(_ object: InputObject) {
        switch object.content {
        case .failure(let problem): problems.append((object.index, object.line, problem))
        case .success(.key(let key)):
            if let certificate = key.parsedCertificate {
                certificates.append(certificate)
            } else {
                others.append(OtherObject(key, index: object.index))
            }
        case .success(.pin(let pin, let owner, _)):
            others.append(
                OtherObject(
                    kind: "TLSA record", word: "tlsa_record", pin: pin, key: "", subject: owner, index: object.index))
        }
    }

    /// A summary such as `3 certificates, 1 private key`.
    var summary: String {
        var counts: [(kind: String, count: Int)] = []
        for kind in certificates.map({ _ in "certificate" }) + others.map(\.kind) {
            if let index = counts.firstIndex(where: { $0.kind == kind }) {
                counts[index].count += 1
            } else {
                counts.append((kind, 1))
            }
        }
        return counts.map { plural($0.count, $0.kind) }.joined(separator: ", ")
    }
}

/// An object that isn't a certificate, or a certificate that can only be parsed up to its key.
private struct OtherObject {
    let kind: String
    let word: String
    let pin: SPKIFingerprint
    let key: String
    let subject: String
    let index: Int

    var line: String {
        "  \(padded(kind, 12))  \([pin.description, key, subject].filter { !$0.isEmpty }.joined(separator: "  "))"
    }

    var json: JSON {
        .object([
            ("kind", .string(word)), ("index", .integer(index)), ("pin", .string(pin.description)),
            ("key", .string(key)), ("subject", .string(subject)),
        ])
    }
}

extension OtherObject {
    init(_ material: KeyMaterial, index: Int) {
        self.init(
            kind: material.kind.text.description, word: material.kind.word, pin: material.fingerprint,
            key: material.keyKind?.description ?? "", subject: material.subject?.description ?? "", index: index)
    }
}
