import CertificatePinning
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Reading XML")
struct XMLReaderTests {
    static func problem(_ bytes: [UInt8]) -> String {
        do throws(MarkupProblem) {
            _ = try XMLReader.read(bytes)
            return "none"
        } catch {
            return "\(error.position.line):\(error.position.column): \(error.message)"
        }
    }

    static func problem(_ text: String) -> String { problem(Array(text.utf8)) }

    @Test("Elements keep their text, attributes, positions and byte ranges")
    func document() throws {
        let text = """
            \u{FEFF}<?xml version='1.0' encoding="UTF-8" standalone="yes" ?>
            <!-- a - comment -->
            <a b = "1 &lt; 2&#x9;" c='"'>
              <é:d/>x&amp;<![CDATA[<&]]>]]<!-- - -->&#65;\r\n\ry
            </a><!---->

            """
        let bytes = Array(text.utf8)
        let root = try XMLReader.read(bytes)
        #expect(root.name == "a" && root.position == SourcePosition(line: 3, column: 1))
        #expect(root.attributes.map(\.value) == ["1 < 2\t", "\""])
        #expect(root["c"]?.position == SourcePosition(line: 3, column: 24))
        let child = try #require(root.elements.first)
        #expect(child.name == "é:d" && child.localName == "d" && child.text == "")
        #expect(child.position == SourcePosition(line: 4, column: 3))
        #expect(Array(bytes[child.range]) == Array("<é:d/>".utf8))
        #expect(bytes[root.range].starts(with: Array("<a b".utf8)) && bytes[root.range].last == UInt8(ascii: ">"))
        guard case .text(let text)? = root.nodes.last else {
            Issue.record("no text")
            return
        }
        #expect(text == "x&<&]]A\n\ny\n")
    }

    @Test("Input outside the supported subset of XML is rejected with its position", arguments: malformed)
    func refused(text: String, problem: String) {
        #expect(Self.problem(text) == problem)
    }

    static let malformed: [(String, String)] = [
        ("", "1:1: unexpected end of document, expected the root element"),
        ("text", "1:1: unexpected \"t\", expected the root element"),
        ("<a>", "1:1: unclosed element <a>: close it with </a>"),
        ("<a\n<b/></a>", "2:1: unexpected \"<\" in a tag: end it with \">\""),
        ("<a></b>", "1:4: unexpected </b>, expected </a> for the element opened at 1:1"),
        ("<a/><b/>", "1:5: unexpected \"<\" after the root element: remove it"),
        ("<a/>x", "1:5: unexpected \"x\" after the root element: remove it"),
        ("<a/ >", "1:3: unexpected \"/\" in a tag: end it with \">\""),
        ("<1/>", "1:2: unexpected \"1\", expected a name: write \"<\" in text as \"&lt;\""),
        ("<a> < b</a>", "1:6: unexpected byte 32, expected a name: write \"<\" in text as \"&lt;\""),
        ("<a b/>", "1:5: unexpected \"/\", expected \"=\""),
        ("<a b=c/>", "1:6: unexpected \"c\", expected a value: write it in double quotes"),
        ("<a b=\"c/>", "1:6: unterminated value: close the quotes"),
        ("<a b=\"<\"/>", "1:7: \"<\" isn't allowed in a value: write it as \"&lt;\""),
        ("<a b='1' b='2'/>", "1:10: duplicate attribute \"b\": keep one"),
        ("<a b='1'c='2'/>", "1:9: unexpected \"c\" in a tag: end it with \">\""),
        ("<a>&b;</a>", "1:4: &b; is undefined: write the character itself"),
        ("<a>&#0;&#xD800;</a>", "1:4: &#0; is undefined: write the character itself"),
        ("<a>&#xD800;</a>", "1:4: &#xD800; is undefined: write the character itself"),
        ("<a>&#+65;</a>", "1:4: &#+65; is undefined: write the character itself"),
        ("<a>&#99999999999999;</a>", "1:4: \"&\" doesn't start a reference: write it as \"&amp;\""),
        ("<a>a & b</a>", "1:6: \"&\" doesn't start a reference: write it as \"&amp;\""),
        ("<a>]]></a>", "1:4: \"]]>\" isn't allowed here: write \"]]&gt;\""),
        ("<a><![CDATA[x</a>", "1:4: unterminated CDATA section: close it with \"]]>\""),
        ("<a><!-- x</a>", "1:4: unterminated comment: close it with \"-->\""),
        ("<a><!-- -- --></a>", "1:9: \"--\" isn't allowed in a comment: remove it"),
        ("<a>\u{1}</a>", "1:4: this character isn't allowed in XML: remove it"),
        ("<a>\n\u{FFFF}</a>", "2:1: this character isn't allowed in XML: remove it"),
        ("<?xml version=\"1.1\"?><a/>", "1:7: unsupported XML version \"1.1\": write version=\"1.0\""),
        ("<?xml version=\"1.0\"><a/>", "1:20: unexpected \">\" in the XML declaration: end it with \"?>\""),
        (
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>",
            "1:21: unsupported encoding \"UTF-16\": save the document as UTF-8, and write encoding=\"UTF-8\""
        ),
        (
            "<?xml version=\"1.0\" encoding=\"utf-7\"?><a/>",
            "1:21: unsupported encoding \"utf-7\": save the document as UTF-8, and write encoding=\"UTF-8\""
        ),
    ]

    @Test("XI1: A document that refers to another file is rejected, whichever way it does", arguments: foreign)
    func otherFiles(text: String, problem: String) {
        #expect(Self.problem(text) == problem)
        // Also as a property list, where one document type is skipped, but none with an internal subset.
        #expect(throws: PolicyFileError.self) { try PropertyList.read(Array(text.utf8), path: "f") }
    }

    private static let noType =
        "1:1: a document type isn't supported, because it can refer to other files: remove the <!DOCTYPE …>"
    static let foreign: [(String, String)] = [
        ("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>", noType),
        ("<!DOCTYPE a [<!ENTITY x SYSTEM \"http://127.0.0.1/\">]><a>&x;</a>", noType),
        ("<!DOCTYPE a [<!ENTITY % p SYSTEM \"ftp://127.0.0.1/p\"> %p;]><a/>", noType),
        ("<!DOCTYPE a SYSTEM \"/etc/passwd\"><a/>", noType),
        (
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
                + "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\" [<!ENTITY x SYSTEM \"/etc/passwd\">]>"
                + "<plist><string>&x;</string></plist>", noType
        ),
        (
            "<?xml-stylesheet href=\"file:///etc/passwd\"?><a/>",
            "1:1: a processing instruction isn't supported: remove the <?…?>"
        ),
        ("<a><?php ?></a>", "1:4: a processing instruction isn't supported: remove the <?…?>"),
        ("<a><!ENTITY x SYSTEM \"/etc/passwd\"></a>", "1:4: a declaration isn't supported here: remove it"),
        ("<a>&passwd;</a>", "1:4: &passwd; is undefined: write the character itself"),
    ]

    @Test("XI2: Entity expansion, deep nesting and large tokens are rejected early")
    func bombs() {
        let laughs =
            "<!DOCTYPE a [<!ENTITY a \"ha\">"
            + (1...9).map { "<!ENTITY a\($0) \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">" }.joined() + "]><a>&a9;</a>"
        #expect(Self.problem(laughs) == Self.noType)
        let depth = 200_000
        let deep = Array(String(repeating: "<a>", count: depth).utf8)
        #expect(Self.problem(deep) == "1:193: elements are nested deeper than 64 levels: flatten them")
        let wide = "<a>" + String(repeating: "<b/>", count: 1 << 18) + "</a>"
        #expect(
            Self.problem(wide).hasSuffix("the document has more than 65536 elements: check that it is the right file"))
        let value = String(repeating: "x", count: 1 << 20)
        #expect(Self.problem("<a b=\"\(value)\"/>") == "1:6: a value has more than 65536 bytes: shorten it")
        #expect(Self.problem("<\(value)/>").hasPrefix("1:2: unexpected \"x\", expected a name"))
        let attributes = (0...64).map { " a\($0)=\"\"" }.joined()
        #expect(
            Self.problem("<a\(attributes)/>").hasSuffix(
                "an element has more than 64 attributes: move some to elements"))
        #expect(Self.problem("<a>\(value)</a>") == "none")
        #expect(
            Self.problem([UInt8](repeating: UInt8(ascii: " "), count: 8 << 20) + Array("<a/>".utf8))
                == "1:1: the document has 8388612 bytes, but the limit is 8388608: check that it is the right file")
    }

    @Test("XI2: Encodings other than UTF-8 and marked UTF-16 are rejected by name", arguments: encodingRows)
    func encodings(bytes: [UInt8], problem: String) {
        #expect(Self.problem(bytes) == problem)
    }

    /// The text in UTF-16 with a byte order mark.
    private static func wide(_ text: String) -> [UInt8] {
        [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    }

    static let encodingRows: [([UInt8], String)] = [
        ([0xFF, 0xFE, 0x3C], "1:1: invalid UTF-16: save the document as UTF-8"),
        ([0xFE, 0xFF, 0xD8, 0], "1:1: invalid UTF-16: save the document as UTF-8"),
        (wide("<a/>"), "none"), (wide("<?xml version=\"1.0\" encoding='UTF-16'?><a/>"), "none"),
        (wide("<?xml version=\"1.0\" encoding=\"utf-16le\"?><ä/>"), "none"),
        (
            wide("<?xml version=\"1.0\" encoding=\"utf-16be\"?><a/>"),
            "1:21: the encoding is declared as \"utf-16be\", but the document is in UTF-16: save it as UTF-8, and "
                + "write encoding=\"UTF-8\""
        ),
        (
            wide("<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>"),
            "1:21: the encoding is declared as \"UTF-8\", but the document is in UTF-16: save it as UTF-8, and write "
                + "encoding=\"UTF-8\""
        ),
        ([0, 0x3C, 0, 0x61], "1:1: the document is encoded in UTF-16: save it as UTF-8"),
        ([0x3C, 0, 0x61, 0], "1:1: the document is encoded in UTF-16: save it as UTF-8"),
        ([0, 0, 0xFE, 0xFF], "1:1: the document is encoded in UTF-32: save it as UTF-8"),
        ([0xFF, 0xFE, 0, 0], "1:1: the document is encoded in UTF-32: save it as UTF-8"),
        (Array("+/v8-+ADw-a/+AD4-".utf8), "1:1: the document is encoded in UTF-7: save it as UTF-8"),
        ([0x4C, 0x6F, 0xA7, 0x94], "1:1: the document is encoded in EBCDIC: save it as UTF-8"),
        (Array("<a>".utf8) + [0xE9] + Array("</a>".utf8), "1:4: invalid UTF-8: save the document as UTF-8"),
        (Array("<a>\n".utf8) + [0xC0, 0xAF], "2:1: invalid UTF-8: save the document as UTF-8"),
        ([0xEF, 0xBB, 0xBF, 0xFE, 0xFF], "1:2: invalid UTF-8: save the document as UTF-8"),
    ]
}
