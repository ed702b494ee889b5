/// A small ELF file, as a linker lays it out: headers, a dynamic section, names, and the types of Swift modules.
struct TestELF {
    var needed: [String] = []
    var rpath: String?
    var runpath: String?
    /// The modules that have a type.
    var modules: [String] = []
    var machine: UInt8 = 62
    /// Whether the section headers are there.
    var hasSections = true
    /// Whether the types of the modules are nested in themselves.
    var isEndless = false

    static let base: UInt64 = 0x10000
    static let programHeaders = 64
    static let dynamic = 176

    var bytes: [UInt8] {
        var strings: [UInt8] = [0]
        func name(_ text: String) -> UInt64 {
            strings += Array(text.utf8) + [0]
            return UInt64(strings.count - text.utf8.count - 1)
        }
        var entries = needed.map { (UInt64(1), name($0)) }
        if let rpath { entries.append((15, name(rpath))) }
        if let runpath { entries.append((29, name(runpath))) }
        let stringsAt = Self.dynamic + (entries.count + 2) * 16
        entries += [(5, Self.base + UInt64(stringsAt)), (0, 0)]
        let names = Array("\0.shstrtab\0swift5_type_metadata\0".utf8)
        let namesAt = stringsAt + strings.count
        let typesAt = (namesAt + names.count + 3) / 4 * 4
        // The last entry is a gap.
        let contextsAt = typesAt + 4 * modules.count + 4
        // A type of 8 bytes, its module of 12, and the module's name.
        var contexts: [UInt8] = []
        var types: [UInt8] = []
        for (index, module) in modules.enumerated() {
            let type = contextsAt + contexts.count
            types += little(UInt64(bitPattern: Int64(type - typesAt - 4 * index)), 4)
            // A structure (17), and its parent behind it or itself.
            contexts += little(17, 4) + little(isEndless ? UInt64(bitPattern: -4) : 4, 4)
            contexts += little(0, 4) + little(0, 4) + little(4, 4)
            contexts += Array(module.utf8) + [0]
            while contexts.count % 4 != 0 { contexts.append(0) }
        }
        types += little(0, 4)
        let end = contextsAt + contexts.count
        var file = Array("\u{7F}ELF".utf8) + [2, 1, 1] + [UInt8](repeating: 0, count: 9)
        file += little(3, 2) + [machine, 0] + little(1, 4) + little(0, 8) + little(64, 8)
        file += little(hasSections ? UInt64(end) : 0, 8) + little(0, 4) + little(64, 2) + little(56, 2) + little(2, 2)
        file += little(64, 2) + little(hasSections ? 3 : 0, 2) + little(hasSections ? 1 : 0, 2)
        for (kind, offset, size) in [(1, 0, end), (2, Self.dynamic, entries.count * 16)] {
            file += little(UInt64(kind), 4) + little(4, 4) + little(UInt64(offset), 8)
            file += little(Self.base + UInt64(offset), 8) + little(0, 8)
            file += little(UInt64(size), 8) + little(UInt64(size), 8) + little(8, 8)
        }
        for (tag, value) in entries { file += little(tag, 8) + little(value, 8) }
        file += strings + names
        file += [UInt8](repeating: 0, count: typesAt - file.count) + types + contexts
        guard hasSections else { return file }
        for (name, kind, offset, size) in [
            (0, 0, 0, 0), (1, 3, namesAt, names.count), (11, 1, typesAt, types.count),
        ] {
            file += little(UInt64(name), 4) + little(UInt64(kind), 4) + little(0, 8)
            file += little(Self.base + UInt64(offset), 8) + little(UInt64(offset), 8) + little(UInt64(size), 8)
            file += little(0, 24)
        }
        return file
    }

    private func little(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) : 0 }
    }
}
