import CertificatePinning
import PinctlBasics

/// The two lists of a validation context that hold a rule's pins.
struct EnvoyLists {
    /// The base64 digests of keys.
    private(set) var keys: [String] = []
    /// The hexadecimal digests of certificates.
    private(set) var certificates: [String] = []

    /// Creates the lists for a rule that was converted to Envoy.
    init(_ rule: CanonicalRule) throws(DialectWriteError) {
        for pin in rule.pins {
            guard pin.digest == .sha256, pin.role == .leaf else {
                throw DialectWriteError(
                    "Envoy can't express the pin \(pin) as \(pin.role.rawValue): convert the policy to Envoy first",
                    at: rule.location)
            }
            switch pin.content {
            case .publicKey: keys.append(Base64.encode(pin.value.span))
            case .certificate: certificates.append(Hexadecimal.encode(pin.value))
            }
        }
    }

    /// The lists with the spellings of their keys in the file.
    var all: [(keys: [String], values: [String])] {
        [(EnvoyContext.keyHashes, keys), (EnvoyContext.certificateHashes, certificates)]
    }

    /// Replaces the lists of a context, in the form that the context has.
    func replace(in context: EnvoyContext, _ edit: inout MarkupEdit) {
        var added = ""
        let indent = String(repeating: " ", count: Int(context.node.position.column) - 1)
        for (names, values) in all {
            guard let member = context.member(names) else {
                guard !values.isEmpty else { continue }
                added +=
                    context.node.isFlow
                    ? "\(JSON.string(names[0]).text): \(Self.flow(values)), "
                    : "\(names[0]):\n\(indent)\(Self.block(values, indent: indent))\n\(indent)"
                continue
            }
            let list = member.value
            guard let elements = list.elements, !elements.isEmpty,
                let items = edit.items(elements.map(\.range), ofYAML: list.range, isList: true)
            else {
                // A list in brackets must be indented more than its key.
                edit.replace(list.range, with: (list.isFlow ? "" : " ") + Self.flow(values))
                continue
            }
            // Envoy reads the same digest in several spellings.
            let digest = names == EnvoyContext.keyHashes ? EnvoyReader.base64 : EnvoyReader.hexadecimal
            let old = elements.map { $0.text.flatMap(digest) }
            let wanted = values.map(digest)
            let new = zip(values, wanted).filter { !old.contains($0.1) }.map { value, _ in
                let text = (list.isFlow ? "" : "- ") + JSON.string(value).text
                return NewItem(text: { _ in text })
            }
            edit.change(
                items, keeping: old.map { $0 != nil && wanted.contains($0) }, adding: new, .hash, hasCommas: list.isFlow
            )
        }
        guard !added.isEmpty else { return }
        let start = context.node.range.lowerBound
        if context.node.isFlow {
            // JSON allows no comma after the last member.
            let isEmpty = context.node.members?.isEmpty ?? true
            edit.replace(start + 1..<start + 1, with: isEmpty ? String(added.dropLast(2)) : added)
        } else {
            edit.replace(start..<start, with: added)
        }
    }

    private static func block(_ values: [String], indent: String) -> String {
        values.map { "- \(JSON.string($0).text)" }.joined(separator: "\n\(indent)")
    }

    private static func flow(_ values: [String]) -> String {
        "[" + values.map { JSON.string($0).text }.joined(separator: ", ") + "]"
    }
}
