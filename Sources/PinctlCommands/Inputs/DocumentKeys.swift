import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// The certificates and keys in the values of a YAML or JSON document, such as a Kubernetes Secret, a kubeconfig or the
/// values of a Helm chart.
///
/// A value counts if it is PEM, or the Base64 of PEM, DER or PKCS #12. A value that looks like a certificate and can't
/// be read is a problem.
struct DocumentKeys {
    private let password: KeyPassword
    private var objects: [InputObject] = []
    private var depth = 0

    /// Copies of the whole document, in which an earlier certificate may be left.
    private static let skipped: Set<String> = ["kubectl.kubernetes.io/last-applied-configuration"]
    /// The keys of a kubeconfig's users, whose certificates are for clients.
    private static let ofClients: Set<String> = ["client-certificate-data", "client-key-data"]
    /// The limit on documents within the values of others.
    private static let depthLimit = 3

    init(_ password: KeyPassword) { self.password = password }

    /// Returns the objects of a text that may have keys, in its order.
    func objects(in text: [UInt8]) throws(InputProblem) -> [InputObject] {
        var reading = self
        try reading.read(text, at: "")
        guard !reading.objects.isEmpty else {
            throw InputProblem(
                reason: "has what looks like a certificate or a key, but not in a value of YAML or JSON: put it into a "
                    + "file of its own", kind: .unknown)
        }
        return reading.objects
    }

    private mutating func read(_ text: [UInt8], at path: String) throws(InputProblem) {
        let documents: [YAMLNode]
        do throws(PolicyFileError) {
            documents = try YAMLReader.readAll(text, path: "")
        } catch {
            throw InputProblem(
                reason: "has what looks like a certificate or a key, but isn't YAML or JSON that pinctl reads "
                    + "(\(error.firstProblem ?? "it is empty")): put it into a file of its own", kind: .unknown)
        }
        for (index, document) in documents.enumerated() {
            let place = documents.count > 1 ? "\(path)[\(index)]" : path
            read(document, key: "", at: place)
        }
    }

    private mutating func read(_ node: YAMLNode, key: String, at path: String) {
        switch node.kind {
        case .null: break
        case .sequence(let elements):
            for (index, element) in elements.enumerated() {
                read(element, key: key, at: "\(path)[\(index)]")
            }
        case .mapping(let members):
            for member in members where !Self.skipped.contains(member.key) {
                read(member.value, key: member.key, at: path.isEmpty ? member.key : "\(path).\(member.key)")
            }
        case .scalar(let value, _): read(Array(value.utf8), key: key, at: path, of: node)
        case .block(let text): read(Self.lines(ofBlock: Array(text.utf8)), key: key, at: path, of: node)
        }
    }

    /// Returns the lines of a text over several lines without their indentation. A folded text (`>`) is on one line.
    private static func lines(ofBlock block: [UInt8]) -> [UInt8] {
        let lines = block.filter { $0 != 0x0D }.split(separator: 0x0A, omittingEmptySubsequences: false).dropFirst()
        let indentation = lines.lazy.filter { !$0.allSatisfy(\.isBlank) }.map { $0.prefix(while: \.isBlank).count }
            .min()
        let end: UInt8 = block.first == UInt8(ascii: ">") ? 0x20 : 0x0A
        return Array(lines.map { $0.dropFirst(indentation ?? 0) }.joined(separator: [end]))
    }

    /// Reads a value, if it is one that has certificates or keys.
    private mutating func read(_ value: [UInt8], key: String, at path: String, of node: YAMLNode) {
        guard EncodedText.mayHaveKeys(value) else { return }
        var value = value
        if !value.contains(0x0A) {
            // A text without quotes has the escapes of line ends as they are.
            value = Array(String(decoding: value, as: UTF8.self).replacing("\\n", with: "\n").utf8)
        }
        let isPEM = String(decoding: value, as: UTF8.self).split(whereSeparator: \.isNewline).contains {
            $0.hasPrefix("-----BEGIN ")
        }
        let decoded = isPEM ? nil : Base64.decodeCanonical(value.filter { !$0.isBlank && $0 != 0x0A && $0 != 0x0D })
        guard isPEM || decoded != nil else {
            // A document in a value, such as a kubeconfig in a ConfigMap.
            depth += 1
            defer { depth -= 1 }
            var reason = named(path) + "has what looks like a certificate or a key: put it into a file of its own"
            if depth < Self.depthLimit {
                let count = objects.count
                do throws(InputProblem) { try read(value, at: path) } catch { reason = named(path) + error.reason }
                if objects.count > count { return }
            }
            return add(.failure(InputProblem(reason: reason, kind: .unknown)), at: path, of: node)
        }
        do throws(KeyFile.Failure) {
            try KeyFile.read(decoded ?? value, password: password) { item in
                var object = InputObject(item)
                (object.index, object.line, object.part) = (objects.count, Int(node.position.line), path)
                object.isOfClient = Self.ofClients.contains(key)
                objects.append(object)
            }
        } catch {
            add(.failure(InputProblem(reason: named(path) + "\(error)", kind: .unknown)), at: path, of: node)
        }
    }

    private func named(_ path: String) -> String { path.isEmpty ? "" : "the value \(path) " }

    private mutating func add(_ content: Result<InputObject.Content, InputProblem>, at path: String, of node: YAMLNode)
    {
        objects.append(
            InputObject(index: objects.count, line: Int(node.position.line), content: content, part: path))
    }
}
