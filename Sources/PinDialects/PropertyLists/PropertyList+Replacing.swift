import CertificatePinning

extension PropertyList {
    /// Returns an XML list in which only the value at `keys` is replaced, or added if it is missing.
    static func replacing(
        _ bytes: [UInt8], path: String, at keys: [String], with value: PropertyList
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
        let indent = edit.indentation(at: list.range.lowerBound) ?? ""
        edit.replace(list.range, with: value.xml(indent: indent, step: edit.step(in: list.range, from: indent)))
        return edit.result
    }
}
