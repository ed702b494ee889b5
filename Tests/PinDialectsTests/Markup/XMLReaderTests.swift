import CertificatePinning
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
        ("", "1:1: the end of the document where the first element belongs"),
        ("text", "1:1: \"t\" where the first element belongs"),
        ("<a>", "1:1: <a> does not end: close it with </a>"),
        ("<a\n<b/></a>", "2:1: \"<\" in a tag: end it with \">\""),
        ("<a></b>", "1:4: </b> where </a> belongs, which was opened at 1:1"),
        ("<a/><b/>", "1:5: \"<\" behind the last element: remove it"),
        ("<a/>x", "1:5: \"x\" behind the last element: remove it"),
        ("<a/ >", "1:3: \"/\" in a tag: end it with \">\""),
        ("<1/>", "1:2: \"1\" where a name belongs: write \"<\" in text as \"&lt;\""),
        ("<a> < b</a>", "1:6: byte 32 where a name belongs: write \"<\" in text as \"&lt;\""),
        ("<a b/>", "1:5: \"/\" where \"=\" belongs"),
        ("<a b=c/>", "1:6: unexpected \"c\", expected a value: write it in double quotes"),
        ("<a b=\"c/>", "1:6: this value does not end: close the quotes"),
        ("<a b=\"<\"/>", "1:7: \"<\" in a value: write it as \"&lt;\""),
        ("<a b='1' b='2'/>", "1:10: duplicate attribute \"b\": keep one"),
        ("<a b='1'c='2'/>", "1:9: \"c\" in a tag: end it with \">\""),
        ("<a>&b;</a>", "1:4: &b; stands for nothing: write what it means"),
        ("<a>&#0;&#xD800;</a>", "1:4: &#0; stands for nothing: write what it means"),
        ("<a>&#xD800;</a>", "1:4: &#xD800; stands for nothing: write what it means"),
        ("<a>&#+65;</a>", "1:4: &#+65; stands for nothing: write what it means"),
        ("<a>&#99999999999999;</a>", "1:4: \"&\" begins no reference: write it as \"&amp;\""),
        ("<a>a & b</a>", "1:6: \"&\" begins no reference: write it as \"&amp;\""),
        ("<a>]]></a>", "1:4: \"]]>\" closes nothing here: write \"]]&gt;\""),
        ("<a><![CDATA[x</a>", "1:4: this CDATA section does not end: close it with \"]]>\""),
        ("<a><!-- x</a>", "1:4: this comment does not end: close it with \"-->\""),
        ("<a><!-- -- --></a>", "1:9: a comment holds no \"--\": remove it"),
        ("<a>\u{1}</a>", "1:4: XML has no such character: remove it"),
        ("<a>\n\u{FFFF}</a>", "2:1: XML has no such character: remove it"),
        ("<?xml version=\"1.1\"?><a/>", "1:7: this is XML \"1.1\": write version=\"1.0\""),
        ("<?xml version=\"1.0\"><a/>", "1:20: \">\" in the declaration: end it with \"?>\""),
        (
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>",
            "1:21: the document says that it is \"UTF-16\": save it as UTF-8, and say so"
        ),
        (
            "<?xml version=\"1.0\" encoding=\"utf-7\"?><a/>",
            "1:21: the document says that it is \"utf-7\": save it as UTF-8, and say so"
        ),
    ]

    @Test("XI1: A document that refers to another file is rejected, whichever way it does", arguments: foreign)
    func otherFiles(text: String, problem: String) {
        #expect(Self.problem(text) == problem)
        // Also as a property list, where one document type is skipped, but none with an internal subset.
        #expect(throws: PolicyFileError.self) { try PropertyList.read(Array(text.utf8), path: "f") }
    }

    private static let noType = "1:1: a document type can name other files and is not read: remove the <!DOCTYPE …>"
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
            "1:1: a processing instruction has no meaning here: remove the <?…?>"
        ),
        ("<a><?php ?></a>", "1:4: a processing instruction has no meaning here: remove the <?…?>"),
        ("<a><!ENTITY x SYSTEM \"/etc/passwd\"></a>", "1:4: declarations are not read: remove it"),
        ("<a>&passwd;</a>", "1:4: &passwd; stands for nothing: write what it means"),
    ]

    @Test("XI2: Entity expansion, deep nesting and large tokens are rejected early")
    func bombs() {
        let laughs =
            "<!DOCTYPE a [<!ENTITY a \"ha\">"
            + (1...9).map { "<!ENTITY a\($0) \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">" }.joined() + "]><a>&a9;</a>"
        #expect(Self.problem(laughs) == Self.noType)
        let depth = 200_000
        let deep = Array(String(repeating: "<a>", count: depth).utf8)
        #expect(Self.problem(deep) == "1:193: elements are nested deeper than 64: flatten them")
        let wide = "<a>" + String(repeating: "<b/>", count: 1 << 18) + "</a>"
        #expect(Self.problem(wide).hasSuffix("the document has over 65536 elements: split it"))
        let value = String(repeating: "x", count: 1 << 20)
        #expect(Self.problem("<a b=\"\(value)\"/>") == "1:6: a value has over 65536 bytes: shorten it")
        #expect(Self.problem("<\(value)/>").hasPrefix("1:2: \"x\" where a name belongs"))
        let attributes = (0...64).map { " a\($0)=\"\"" }.joined()
        #expect(Self.problem("<a\(attributes)/>").hasSuffix("an element has over 64 attributes: move some to elements"))
        #expect(Self.problem("<a>\(value)</a>") == "none")
        #expect(
            Self.problem([UInt8](repeating: UInt8(ascii: " "), count: 8 << 20) + Array("<a/>".utf8))
                == "1:1: the document has 8388612 bytes: 8388608 is the most, split it")
    }

    @Test("XI2: Encodings other than UTF-8 are rejected by name", arguments: encodingRows)
    func encodings(bytes: [UInt8], problem: String) {
        #expect(Self.problem(bytes) == problem)
    }

    static let encodingRows: [([UInt8], String)] = [
        ([0xFE, 0xFF, 0, 0x3C], "1:1: the document is UTF-16: save it as UTF-8"),
        ([0xFF, 0xFE, 0x3C, 0], "1:1: the document is UTF-16: save it as UTF-8"),
        ([0, 0x3C, 0, 0x61], "1:1: the document is UTF-16: save it as UTF-8"),
        ([0x3C, 0, 0x61, 0], "1:1: the document is UTF-16: save it as UTF-8"),
        ([0, 0, 0xFE, 0xFF], "1:1: the document is UTF-32: save it as UTF-8"),
        ([0xFF, 0xFE, 0, 0], "1:1: the document is UTF-32: save it as UTF-8"),
        (Array("+/v8-+ADw-a/+AD4-".utf8), "1:1: the document is UTF-7: save it as UTF-8"),
        ([0x4C, 0x6F, 0xA7, 0x94], "1:1: the document is EBCDIC: save it as UTF-8"),
        (Array("<a>".utf8) + [0xE9] + Array("</a>".utf8), "1:4: this is not UTF-8: save the document as UTF-8"),
        (Array("<a>\n".utf8) + [0xC0, 0xAF], "2:1: this is not UTF-8: save the document as UTF-8"),
        ([0xEF, 0xBB, 0xBF, 0xFE, 0xFF], "1:2: this is not UTF-8: save the document as UTF-8"),
    ]
}
