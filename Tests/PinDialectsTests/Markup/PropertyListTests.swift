import CertificatePinning
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Reading property lists")
struct PropertyListTests {
    static let head =
        "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
        + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"
    static let hasPython = TestCommand.isPresent("python3", "-c", "import plistlib")

    @Test("Every kind of value is read, and Apple's document type is skipped")
    func xml() throws {
        let list = try PropertyList.read(
            Array(
                (Self.head
                    + """
                    <plist version="1.0"><dict>
                    <key>s</key><string>a &amp; b</string> <key>i</key><integer> -12 </integer>
                    <key>x</key><integer>0x1F</integer> <key>t</key><true/> <key>f</key><false/>
                    <key>r</key><real>1.5</real> <key>d</key><date>2026-11-21T00:00:00Z</date>
                    <key>b</key><data> AAAA
                    </data> <key>a</key><array><string/><dict/></array>
                    </dict></plist>
                    """).utf8), path: "f")
        #expect(list["s"]?.string == "a & b")
        #expect(
            list.members?.map(\.value.kindName) == [
                "a string", "a number", "a number", "a Boolean", "a Boolean", "a number", "a date", "data", "an array",
            ])
        #expect(list["t"]?.bool == true && list["f"]?.bool == false)
        #expect(list["a"]?.elements?.first?.string == "")
        #expect(list.members?.first?.position == SourcePosition(line: 3, column: 1))
        if case .integer(let number)? = list["x"]?.kind { #expect(number == 31) } else { Issue.record("no number") }
    }

    @Test("XI3: A malformed property list is rejected with its position", arguments: malformedRows)
    func malformed(body: String, problem: String) {
        let found = problems { () throws(PolicyFileError) in
            _ = try PropertyList.read(Array("<plist version=\"1.0\">\n\(body)</plist>".utf8), path: "f")
        }
        #expect(found == [problem])
    }

    static let malformedRows: [(String, String)] = [
        ("", "f:1:1: error: a plist must contain exactly one value: put everything into one dict"),
        ("<true/><true/>", "f:1:1: error: a plist must contain exactly one value: put everything into one dict"),
        ("<dict><key>a</key></dict>", "f:2:7: error: the key \"a\" has no value: add one"),
        ("<dict><true/></dict>", "f:2:7: error: a key or value is missing here: alternate keys and values in a dict"),
        (
            "<dict><key>a</key><key>b</key><true/></dict>",
            "f:2:19: error: a key or value is missing here: alternate keys and values in a dict"
        ),
        (
            "<dict><key>a</key><true/>\n<key>a</key><false/></dict>",
            "f:3:1: error: duplicate key \"a\", first at 2:7: keep one"
        ),
        ("<dict>x</dict>", "f:2:1: error: unexpected text in a dict: put it into a string"),
        ("<array>x</array>", "f:2:1: error: unexpected text in an array: put it into a string"),
        ("<string><b/></string>", "f:2:1: error: invalid string: write a value that property lists allow"),
        ("<integer>1.0</integer>", "f:2:1: error: invalid integer: write a value that property lists allow"),
        (
            "<integer>9223372036854775808</integer>",
            "f:2:1: error: invalid integer: write a value that property lists allow"
        ),
        ("<true>yes</true>", "f:2:1: error: invalid true: write a value that property lists allow"),
        ("<date>today</date>", "f:2:1: error: invalid date: write a value that property lists allow"),
        ("<data>?</data>", "f:2:1: error: invalid data: write a value that property lists allow"),
        ("<set/>", "f:2:1: error: \"set\" isn't a value of a property list: remove it"),
    ]

    @Test("A binary list is read like the XML one", .enabled(if: hasPython, "python3 is not there"))
    func binary() throws {
        let program = """
            import plistlib, sys
            value = {'s': 'a & b', 'u': 'gr\\u00fc\\U0001F600', 'i': -12, 'big': 1 << 40, 't': True, 'f': False, \
            'r': 1.5,
                     'b': b'123', 'long': 'x' * 300, 'a': ['', {}, ['a & b']], 'many': list(range(40))}
            sys.stdout.buffer.write(plistlib.dumps(value, fmt=getattr(plistlib, sys.argv[1])))
            """
        func list(_ format: String) throws -> PropertyList {
            let result = try TestCommand.run(["python3", "-c", program, format])
            try #require(result.status == 0, "\(result.text)")
            return try PropertyList.read(result.output, path: "f")
        }
        func shape(_ list: PropertyList) -> String {
            switch list.kind {
            case .dictionary(let members):
                "{" + members.sorted { $0.key < $1.key }.map { "\($0.key): \(shape($0.value))" }.joined(separator: ", ")
                    + "}"
            case .array(let elements): "[" + elements.map(shape).joined(separator: ", ") + "]"
            case .string(let string): "\"\(string)\""
            case .integer(let number): "\(number)"
            case .bool(let bool): "\(bool)"
            case .data(let bytes): "data \(bytes)"
            case .other(let name): name
            }
        }
        let binary = shape(try list("FMT_BINARY"))
        #expect(binary == shape(try list("FMT_XML")))
        #expect(binary.contains("\"grü😀\"") && binary.contains("big: 1099511627776") && binary.contains("i: -12"))
    }

    /// A binary list with one-byte offsets and references.
    static func binary(_ objects: [[UInt8]], top: UInt8 = 0, offsets: [UInt8]? = nil, count: UInt8? = nil) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var places: [UInt8] = []
        for object in objects {
            places.append(UInt8(bytes.count))
            bytes += object
        }
        let table = UInt8(bytes.count)
        bytes += offsets ?? places
        func wide(_ byte: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, byte] }
        return bytes + [0, 0, 0, 0, 0, 0, 1, 1] + wide(count ?? UInt8(objects.count)) + wide(top) + wide(table)
    }

    @Test("P005: a key that appears twice is reported under its rule, also in a binary list")
    func twice() {
        let binary = Self.binary([[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]])
        let text = "<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>"
        for bytes in [binary, Array(text.utf8)] {
            #expect {
                _ = try PropertyList.read(bytes, path: "f")
            } throws: { error in
                (error as? PolicyFileError)?.problems.map(\.rule) == [.duplicate]
            }
        }
    }

    @Test("XI4: Offsets and counts in a binary list are checked against the file", arguments: hostileRows)
    func hostile(bytes: [UInt8], problem: String) {
        let found = problems { () throws(PolicyFileError) in _ = try PropertyList.read(bytes, path: "f") }
        #expect(
            found == [
                "f: error: the binary property list \(problem): create it again, or convert it with plutil -convert "
                    + "xml1"
            ])
    }

    private static func changed(_ offsetFromEnd: Int, _ byte: UInt8) -> [UInt8] {
        var bytes = binary([[0x09]])
        bytes[bytes.count - offsetFromEnd] = byte
        return bytes
    }

    static let hostileRows: [([UInt8], String)] = [
        (Array("bplist01".utf8), "has a version other than 00"),
        (Array("bplist00".utf8), "is truncated"),
        (binary([[0xA1, 0]]), "has an object that contains itself"),
        (binary([[0xA1, 1], [0xD1, 2, 0], [0x51, 0x61]]), "has an object that contains itself"),
        (binary([[0xA1, 9]]), "refers to a missing object"),
        (binary([[0x09]], offsets: [0xFF]), "refers to a missing object"),
        (binary([[0x09]], offsets: [0]), "refers to a missing object"),
        (binary([[0x09]], top: 1), "has an invalid trailer"),
        (binary([[0x09]], count: 9), "has an invalid trailer"),
        (binary([[0x09]], count: 0), "has an invalid trailer"),
        (changed(26, 0), "has an invalid trailer"),
        (changed(25, 9), "has an invalid trailer"),
        (changed(24, 0xFF), "has an invalid trailer"),
        (changed(8, 0x7F), "has an invalid trailer"),
        (
            binary([[0xAF, 0x13] + [UInt8](repeating: 0x7F, count: 8)]),
            "has an invalid count, 9187201950435737471"
        ),
        (binary([[0xDF, 0x13] + [UInt8](repeating: 0xFF, count: 8)]), "has a count that isn't a number"),
        (binary([[0x5F, 0x20]]), "has a count that isn't a number"),
        (binary([[0x5F]]), "has a count that isn't a number"),
        (binary([[0x5A, 0x61]]), "has an invalid count, 10"),
        (binary([[0x51, 0xE9]]), "has a string that isn't valid text"),
        (binary([[0x61, 0xD8, 0x00]]), "has a string that isn't valid text"),
        (binary([[0x13, 0]]), "is truncated"),
        (binary([[0x33, 0]]), "is truncated"),
        (binary([[0x8F]]), "is truncated"),
        (binary([[0x70]]), "has an object of an unknown kind, 112"),
        (binary([[0xD1, 1, 1], [0x09]]), "has a key that isn't a string"),
        (binary([[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]]), "has a duplicate key in a dictionary"),
        // Ten arrays, each containing the next one ten times: ten billion values.
        (
            binary((0..<10).map { level in [0xAA] + [UInt8](repeating: UInt8(level + 1), count: 10) } + [[0x09]]),
            "has more than 65536 values"
        ),
        (binary((1...70).map { [0xA1, UInt8($0)] } + [[0x09]]), "is nested deeper than 64 levels"),
    ]
}
