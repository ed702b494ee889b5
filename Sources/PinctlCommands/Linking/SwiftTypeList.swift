/// The list of types in a linked file, in which the Swift runtime finds them by name: relative addresses of context
/// descriptors (`docs/ABI/TypeMetadata.rst` of Swift). The parents of a descriptor lead to that of its module.
struct SwiftTypeList {
    /// The names of the sections that have such a list.
    static let sections: Set = ["swift5_type_metadata", "swift5_type_metadata_2"]

    private let image: ELFImage
    /// The modules of the contexts that were seen, by address, or `nil` for those in another file.
    private var known: [UInt64: String?] = [:]

    init(_ image: ELFImage) { self.image = image }

    /// Returns the names of the modules whose types are in a section.
    mutating func modules(of section: ELFImage.Section) throws(ELFError) -> Set<String> {
        var names: Set<String> = []
        for index in 0..<section.size / 4 {
            let entry = try image.number(at: section.offset + 4 * index, 4)
            // The lower bits are the kind of reference, and 0 is a direct one. Zeros are a gap.
            guard entry != 0, entry & 3 == 0 else { continue }
            let context = try Self.address(section.address, plus: UInt64(4 * index), and: entry)
            if let name = try module(of: context) { names.insert(name) }
        }
        return names
    }

    /// Returns the module of a context, or `nil` if it is in another file.
    private mutating func module(of context: UInt64) throws(ELFError) -> String? {
        var (context, seen): (UInt64, [UInt64]) = (context, [])
        var found: String?
        // Types are nested in each other, but not that deep.
        while true {
            if let name = known[context] {
                found = name
                break
            }
            // mutant elf-nesting: true by ELFFileTests/endless
            guard seen.count < 256 else { throw .damaged("a type is nested in itself") }
            seen.append(context)
            let offset = try image.offset(of: context)
            if try image.number(at: offset, 4) & 0x1F == 0 {
                let name = try Self.address(context, plus: 8, and: try image.number(at: offset + 8, 4))
                found = try image.text(at: try image.offset(of: name))
                break
            }
            let parent = try image.number(at: offset + 4, 4)
            guard parent != 0, parent & 1 == 0 else { break }
            context = try Self.address(context, plus: 4, and: parent)
        }
        for context in seen { known[context] = .some(found) }
        return found
    }

    /// Returns the address that is relative to a place by a signed number of 32 bits.
    private static func address(_ base: UInt64, plus place: UInt64, and relative: UInt64) throws(ELFError) -> UInt64 {
        let distance = Int64(Int32(truncatingIfNeeded: relative))
        guard let base = Int64(exactly: base), base < 1 << 62 else { throw .damaged("an address is too large") }
        // No overflow: the numbers have 62, 60 and 32 bits.
        guard let sum = UInt64(exactly: base + Int64(clamping: place) + distance) else {
            throw .damaged("it refers to what isn't in the file")
        }
        return sum
    }
}
