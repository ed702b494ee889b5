import CertificatePinning
import PinctlBasics

@testable import PinDialects

extension CanonicalPolicy {
    /// The policy without positions in a file.
    var placeless: CanonicalPolicy {
        var policy = self
        for index in policy.rules.indices { policy.rules[index].location = nil }
        return policy
    }
}

extension PropertyList {
    /// A value of peer-cases.json, where null means a missing value.
    init(json value: JSONValue) {
        switch value.kind {
        case .null: self.init(.other("null"))
        case .bool(let bool): self.init(.bool(bool))
        case .number(let number): self.init(.integer(Int64(number) ?? 0))
        case .string(let string): self.init(.string(string))
        case .array(let elements): self.init(.array(elements.map { PropertyList(json: $0) }))
        case .object(let members):
            self.init(.dictionary(members.map { Member($0.key, PropertyList(json: $0.value)) }))
        }
    }
}

/// The lines of the thrown error.
func problems(_ body: () throws(PolicyFileError) -> Void) -> [String] {
    do throws(PolicyFileError) {
        try body()
        return []
    } catch {
        return error.description.split(separator: "\n").map(String.init)
    }
}
