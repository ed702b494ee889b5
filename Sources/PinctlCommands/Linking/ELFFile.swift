import PinctlBasics

/// A program or library of 64-bit Linux (`elf(5)`), as far as it shows what is linked into it. It may be stripped,
/// because no symbols are read.
struct ELFFile: Sendable {
    /// The processor (`e_machine`).
    let machine: Int
    /// The names of the libraries that the loader has to find (`DT_NEEDED`).
    private(set) var needed: [String] = []
    /// The directories of `DT_RPATH` and `DT_RUNPATH`.
    private(set) var rpath: [String] = []
    private(set) var runpath: [String] = []
    /// The Swift modules whose types the file contains. The runtime finds types through the same sections, so they are
    /// in every program that uses them.
    private(set) var swiftModules: Set<String> = []

    init(_ bytes: [UInt8]) throws(ELFError) {
        let image = try ELFImage(bytes)
        machine = image.machine
        try readLibraries(image)
        var types = SwiftTypeList(image)
        for section in image.sections where SwiftTypeList.sections.contains(section.name) {
            swiftModules.formUnion(try types.modules(of: section))
        }
    }

    private mutating func readLibraries(_ image: ELFImage) throws(ELFError) {
        guard let dynamic = image.dynamic else { return }
        var entries: [(tag: UInt64, value: UInt64)] = []
        for offset in stride(from: dynamic.lowerBound, to: dynamic.upperBound, by: 16) {
            let tag = try image.number(at: offset, 8)
            guard tag != 0 else { break }
            entries.append((tag, try image.number(at: offset + 8, 8)))
        }
        guard let table = entries.first(where: { $0.tag == 5 })?.value else {
            // mutant elf-string-table: true by ELFFileTests/damaged
            guard !entries.contains(where: { $0.tag == 1 }) else { throw .damaged("its libraries have no names") }
            return
        }
        for (tag, value) in entries where [1, 15, 29].contains(tag) {
            let (address, isOver) = table.addingReportingOverflow(value)
            guard !isOver else { throw .damaged("a name is outside the file") }
            let text = try image.text(at: try image.offset(of: address))
            switch tag {
            case 1: needed.append(text)
            case 15: rpath += text.split(separator: ":").map(String.init)
            default: runpath += text.split(separator: ":").map(String.init)
            }
        }
    }
}

/// The reason why a file doesn't show what is linked into it.
enum ELFError: Error, Sendable, Hashable {
    case notELF
    case unsupported(String)
    case damaged(String)
}

extension ELFError: CustomStringConvertible {
    var description: String {
        switch self {
        case .notELF: "isn't a program or library of Linux (ELF): name the file that was linked"
        case .unsupported(let reason): "cannot be judged, because \(reason): name a 64-bit program as it was linked"
        case .damaged(let reason): "is damaged, because \(reason): link it again"
        }
    }
}

/// The headers of an ELF file, and its bytes by offset and by address. Every position is checked.
struct ELFImage: Sendable {
    struct Section: Sendable {
        let name: String
        let address: UInt64
        let offset: Int
        let size: Int
    }

    let machine: Int
    /// The offsets of the table of `PT_DYNAMIC`, if there is one.
    private(set) var dynamic: Range<Int>?
    private(set) var sections: [Section] = []
    private let bytes: [UInt8]
    /// The parts that the loader maps (`PT_LOAD`): addresses, and the offset of the first.
    private var segments: [(addresses: Range<UInt64>, offset: Int)] = []

    init(_ bytes: [UInt8]) throws(ELFError) {
        self.bytes = bytes
        // mutant elf-magic: true by ELFFileTests/damaged
        guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { throw .notELF }
        guard bytes.count >= 64 else { throw .damaged("it ends in its header") }
        guard bytes[4] == 2, bytes[5] == 1 else { throw .unsupported("it isn't 64-bit and little-endian") }
        func half(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        guard [2, 3].contains(half(16)) else { throw .unsupported("it isn't linked") }
        machine = half(18)
        // The programs' headers, of 56 bytes, and those of the sections, of 64.
        let headers = try table(at: 32, count: half(56), entry: half(54), size: 56)
        for header in headers {
            let (kind, file) = (try number(at: header, 4), try extent(at: header + 8, header + 32))
            if kind == 1 {
                let address = try number(at: header + 16, 8)
                let (end, isOver) = address.addingReportingOverflow(UInt64(file.count))
                guard !isOver else { throw .damaged("a segment has no end") }
                segments.append((address..<end, file.lowerBound))
            } else if kind == 2 {
                dynamic = file.lowerBound..<file.lowerBound + file.count / 16 * 16
            }
        }
        try readSections(try table(at: 40, count: half(60), entry: half(58), size: 64), names: half(62))
    }

    private mutating func readSections(_ headers: [Int], names: Int) throws(ELFError) {
        // mutant elf-sections: true by ELFFileTests/unseen
        guard headers.indices.contains(names) else {
            throw .unsupported("its section headers were removed")
        }
        let texts = try extent(at: headers[names] + 24, headers[names] + 32)
        for header in headers where try number(at: header + 4, 4) != 8 {
            let place = Int(try number(at: header, 4))
            guard place < texts.count else { throw .damaged("a section has no name") }
            let file = try extent(at: header + 24, header + 32)
            sections.append(
                Section(
                    name: try text(at: texts.lowerBound + place), address: try number(at: header + 16, 8),
                    offset: file.lowerBound, size: file.count))
        }
    }

    /// Returns the offsets of a table's entries.
    private func table(at position: Int, count: Int, entry: Int, size: Int) throws(ELFError) -> [Int] {
        guard count > 0 else { return [] }
        // 0xFFFF stands for a number elsewhere.
        guard entry >= size, count < 0xFFFF else { throw .unsupported("it has headers of another kind") }
        let start = try number(at: position, 8)
        // mutant elf-table: true for 2 by ELFFileTests/damaged
        guard start <= UInt64(bytes.count), bytes.count - Int(start) >= count * entry else {
            throw .damaged("it ends in its headers")
        }
        return (0..<count).map { Int(start) + $0 * entry }
    }

    /// Returns the part of the file whose offset and size are at these places.
    private func extent(at offset: Int, _ size: Int) throws(ELFError) -> Range<Int> {
        let (start, count) = (try number(at: offset, 8), try number(at: size, 8))
        // The size of SHT_NOBITS and of no bytes means nothing.
        guard count > 0 else { return 0..<0 }
        // mutant elf-extent: true for 2 by ELFFileTests/damaged
        guard start <= UInt64(bytes.count), count <= UInt64(bytes.count) - start else {
            throw .damaged("a part of it is missing")
        }
        return Int(start)..<Int(start + count)
    }

    /// Returns the little-endian number of `size` bytes at an offset.
    func number(at offset: Int, _ size: Int) throws(ELFError) -> UInt64 {
        // mutant elf-number: true for 2 by ELFFileTests/damaged
        guard offset >= 0, offset <= bytes.count - size else { throw .damaged("it ends too early") }
        return (0..<size).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }

    /// Returns the offset of what the loader maps to an address.
    func offset(of address: UInt64) throws(ELFError) -> Int {
        for (addresses, offset) in segments where addresses.contains(address) {
            return offset + Int(address - addresses.lowerBound)
        }
        throw .damaged("it refers to what isn't in the file")
    }

    /// Returns the text that a zero byte ends, of at most 4,096 bytes.
    func text(at offset: Int) throws(ELFError) -> String {
        guard bytes.indices.contains(offset),
            let end = bytes[offset..<min(bytes.count, offset + 4_097)].firstIndex(of: 0)
        else { throw .damaged("a name has no end") }
        return String(decoding: bytes[offset..<end], as: UTF8.self)
    }
}
