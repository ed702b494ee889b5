import CertificatePinning

extension PropertyList {
    /// Returns an XML list in which the value at `keys` has the meaning of another one, or is added if it is missing.
    ///
    /// Only what differs is changed. See ``PropertyListEdit`` for the other parameters.
    static func replacing(
        _ bytes: [UInt8], path: String, at keys: [String], with value: PropertyList, ownKeys: Set<String>,
        soleKey: String? = nil, defaults: [String: PropertyList], isSame: @escaping (PropertyList, PropertyList) -> Bool
    ) throws(DialectWriteError) -> [UInt8] {
        guard !bytes.starts(with: "bplist".utf8) else {
            throw DialectWriteError(
                "a binary property list can't be changed in place: convert it with plutil -convert xml1",
                at: PolicyLocation(path: path))
        }
        var list: PropertyList
        do throws(PolicyFileError) { list = try read(bytes, path: path) } catch { throw DialectWriteError(error) }
        var edit = MarkupEdit(bytes, usualStep: "\t")
        for (depth, key) in keys.enumerated() {
            guard list.members != nil else {
                throw DialectWriteError(
                    "expected a dictionary, found \(list.kindName): make it a dictionary",
                    at: PolicyLocation(path: path, list.position))
            }
            guard let next = list[key] else {
                let missing = PropertyList(nesting: keys[(depth + 1)...], value)
                try edit.append(to: list.range, name: "dict") { indent, step throws(DialectWriteError) in
                    "\(indent)<key>\(escapedXML(key))</key>\n\(indent)"
                        + missing.xml(indent: indent, step: step)
                }
                return edit.result
            }
            list = next
        }
        var change = PropertyListEdit(
            ownKeys: ownKeys, defaults: defaults, soleKey: soleKey, isSame: isSame, edit: edit)
        try change.update(list, to: value, ownsAll: true)
        return change.edit.result
    }
}
