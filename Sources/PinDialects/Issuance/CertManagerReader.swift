import CertificatePinning
import PinctlBasics

/// A reader of the Kubernetes manifests that cert-manager issues certificates for.
///
/// `spec.privateKey.rotationPolicy` is `Always` or `Never`. Its default is `Always` since cert-manager 1.18, and was
/// `Never` before (cert-manager's documentation, "Certificate resource" and "Release 1.18"). For an Ingress or a
/// Gateway, the annotation `cert-manager.io/private-key-rotation-policy` sets it ("Annotations").
struct CertManagerReader {
    let path: String

    private static let group = "cert-manager.io/"
    private static let policyAnnotation = group + "private-key-rotation-policy"
    private static let issuerAnnotations = [group + "issuer", group + "cluster-issuer"]

    /// The marks by which a manifest is recognized.
    struct Marks {
        private var hasKind = false
        private var hasGroup = false

        var isComplete: Bool { hasKind && hasGroup }

        mutating func note(_ line: Substring) {
            let bytes = line.utf8
            hasKind = hasKind || Self.hasKey(bytes)
            hasGroup = hasGroup || bytes.contains(bytesOf: group)
        }

        /// Whether a line has the key `kind`, with quotes or without. Blanks may be before the colon.
        private static func hasKey(_ line: Substring.UTF8View) -> Bool {
            guard line.contains(bytesOf: "kind") else { return false }
            return line.filter { !$0.isBlank && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }
                .contains(bytesOf: "kind:")
        }
    }

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        var renewals: [KeyRenewal] = []
        for document in try YAMLReader.readAll(bytes, path: path) { try add(document, to: &renewals) }
        return renewals
    }

    /// Adds the renewals of an object, or of those in a list such as `List` or `CertificateList`.
    private func add(_ object: YAMLNode, to renewals: inout [KeyRenewal]) throws(PolicyFileError) {
        if object["kind"]?.text?.hasSuffix("List") == true {
            for item in object["items"]?.elements ?? [] { try add(item, to: &renewals) }
        } else if let renewal = try renewal(of: object) {
            renewals.append(renewal)
        }
    }

    private func renewal(of object: YAMLNode) throws(PolicyFileError) -> KeyRenewal? {
        let spec = object["spec"]
        switch object["kind"]?.text {
        case "Certificate":
            guard object["apiVersion"]?.text?.hasPrefix(Self.group) == true else { return nil }
            let names =
                Self.texts(spec?["dnsNames"]) + Self.texts(spec?["ipAddresses"])
                + [spec?["commonName"]?.text].compactMap { $0 }
            let key = spec?["privateKey"]
            return try renewal(
                names, key?["rotationPolicy"], "rotationPolicy", in: key ?? spec ?? object,
                "spec.privateKey has no rotationPolicy",
                "set spec.privateKey.rotationPolicy to Never")
        case "Ingress":
            let names = (spec?["tls"]?.elements ?? []).flatMap { Self.texts($0["hosts"]) }
            return try annotated(object, names)
        case "Gateway":
            return try annotated(object, (spec?["listeners"]?.elements ?? []).compactMap { $0["hostname"]?.text })
        default: return nil
        }
    }

    private func annotated(_ object: YAMLNode, _ names: [String]) throws(PolicyFileError) -> KeyRenewal? {
        let annotations = object["metadata"]?["annotations"]
        let isIssued =
            annotations?.members?.contains { member in
                Self.issuerAnnotations.contains(member.key) || member.key == "kubernetes.io/tls-acme"
            } ?? false
        guard isIssued, let annotations else { return nil }
        return try renewal(
            names, annotations[Self.policyAnnotation], Self.policyAnnotation, in: annotations,
            "no annotation \(Self.policyAnnotation)", "set the annotation \(Self.policyAnnotation) to Never")
    }

    private func renewal(
        _ names: [String], _ policy: YAMLNode?, _ key: String, in parent: YAMLNode, _ absence: String, _ remedy: String
    ) throws(PolicyFileError) -> KeyRenewal {
        let word = policy?.text
        if let policy, word != "Always", word != "Never" {
            throw IssuanceText.problem(
                "\(key) is \(word.map(quoted) ?? policy.kindName), which cert-manager refuses: write Never or Always",
                at: PolicyLocation(path: path, policy.position))
        }
        return KeyRenewal(
            names: names, word == "Never" ? .keepsKey : .changesKey,
            at: PolicyLocation(path: path, (policy ?? parent).position), program: "cert-manager",
            setting: word.map { "\(key): \($0)" } ?? "\(absence), which means Always since cert-manager 1.18",
            remedy: remedy)
    }

    private static func texts(_ node: YAMLNode?) -> [String] { (node?.elements ?? []).compactMap(\.text) }
}
