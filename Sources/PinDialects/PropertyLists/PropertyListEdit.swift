import CertificatePinning

/// An edit of a property list that changes only the values that differ from those of another list.
struct PropertyListEdit {
    /// The keys of a dictionary that the edit may remove. Other keys are kept.
    let ownKeys: Set<String>
    /// The meaning of a key that is missing.
    let defaults: [String: PropertyList]
    /// A key next to which a dictionary can have no other key.
    let soleKey: String?
    /// Returns whether two values of a key, or of an array, mean the same.
    let isSame: (_ old: PropertyList, _ new: PropertyList) -> Bool
    var edit: MarkupEdit

    /// Changes a value. `ownsAll` says whether all keys of a dictionary can be removed.
    mutating func update(
        _ old: PropertyList, to new: PropertyList, ownsAll: Bool = false
    ) throws(DialectWriteError) {
        switch (old.kind, new.kind) {
        case (.dictionary(let there), .dictionary(let wanted)):
            try update(old, there, to: wanted, ownsAll: ownsAll)
        case (.array(let there), .array(let wanted)): try update(old, there, to: wanted)
        case _ where isSame(old, new): break
        default:
            let indent = edit.indentation(at: old.range.lowerBound) ?? ""
            edit.replace(old.range, with: new.xml(indent: indent, step: edit.step(in: old.range, from: indent)))
        }
    }

    private mutating func update(
        _ list: PropertyList, _ old: [PropertyList.Member], to new: [PropertyList.Member], ownsAll: Bool
    ) throws(DialectWriteError) {
        let ownsAll = ownsAll || new.contains { $0.key == soleKey }
        var isKept: [Bool] = []
        for member in old {
            if let wanted = new.first(where: { $0.key == member.key }) {
                try update(member.value, to: wanted.value)
                isKept.append(true)
            } else {
                let isDefault = defaults[member.key].map { isSame(member.value, $0) } ?? false
                isKept.append(isDefault && !ownsAll || !(ownsAll || ownKeys.contains(member.key)))
            }
        }
        let start = list.range.lowerBound
        let items = edit.items(old.map(\.range), from: start, to: list.range.upperBound, .markup)
        edit.change(items, keeping: isKept, adding: [], .markup)
        let added = new.filter { member in
            guard !old.contains(where: { $0.key == member.key }) else { return false }
            return !(defaults[member.key].map { isSame($0, member.value) } ?? false)
        }
        guard !added.isEmpty else { return }
        try edit.append(to: list.range, name: "dict") { indent, step throws(DialectWriteError) in
            added.map { member in
                "\(indent)<key>\(escapedXML(member.key))</key>\n\(indent)"
                    + member.value.xml(indent: indent, step: step)
            }.joined(separator: "\n")
        }
    }

    private mutating func update(
        _ list: PropertyList, _ old: [PropertyList], to new: [PropertyList]
    ) throws(DialectWriteError) {
        let isKept = old.map { element in new.contains { isSame(element, $0) } }
        let added = new.filter { element in !old.contains { isSame($0, element) } }
        guard !old.isEmpty else {
            guard !added.isEmpty else { return }
            return try edit.append(to: list.range, name: "array") { indent, step throws(DialectWriteError) in
                added.map { indent + $0.xml(indent: indent, step: step) }.joined(separator: "\n")
            }
        }
        let items = edit.items(old.map(\.range), from: list.range.lowerBound, to: list.range.upperBound, .markup)
        let isOnOneLine = old.allSatisfy { !edit.bytes[$0.range].contains(UInt8(ascii: "\n")) }
        let step = edit.step(in: old[0].range, from: edit.indentation(at: old[0].range.lowerBound) ?? "")
        edit.change(
            items, keeping: isKept,
            adding: added.map { element in
                NewItem(text: { indent in
                    guard isOnOneLine else { return element.xml(indent: indent, step: step) }
                    return element.xml(indent: "", step: "").split(separator: "\n").joined()
                })
            }, .markup)
    }
}
