import PinctlBasics
import Testing

@testable import PinDialects

@Suite("The search for words")
struct WordSearchTests {
    @Test("A word is found wherever it is, in any case, and nothing else is")
    func everywhere() {
        let words = ["sha256/", "sha1/", "<pin-set", "nspinned", "\"pins\"", "pinningpolicy("]
        let search = WordSearch(words)
        for word in words {
            for text in [word, word.uppercased()] {
                for before in 0..<12 {
                    let lead = String("sha256sha1<pin-nspinn\"pin".suffix(before))
                    #expect(search.isIn(Array((lead + text).utf8)), "\(lead)\(text)")
                    #expect(search.isIn(Array((lead + text + lead).utf8)))
                    // Without its last byte it isn't there.
                    #expect(!search.isIn(Array((lead + text.dropLast()).utf8)), "\(lead)\(text.dropLast())")
                    #expect(!search.isIn(Array((lead + text.dropLast() + " " + text.dropFirst()).utf8)))
                }
            }
        }
        #expect(!search.isIn([]) && !search.isIn(Array("sha".utf8)))
    }

    @Test("It agrees with the search that reads every byte")
    func agrees() {
        var random = SystemRandomNumberGenerator()
        let words = ["abca", "bcab", "aabbc", "cabcabc"]
        let search = WordSearch(words)
        var found = 0
        for _ in 0..<4_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                "abcABC".utf8.randomElement(using: &random) ?? 0
            }
            let isThere = bytes.hasAny(of: words, ignoringCase: true)
            if isThere { found += 1 }
            #expect(search.isIn(bytes) == isThere, "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(400..<3_600 ~= found)
    }

    @Test(
        "A text may be a part of a digest if its letters and numbers are mixed, and no name or path is",
        arguments: [
            ("const pin = 'sha256/' + 'C5+lpZ7tcVwmwQIMcR' + x", true),
            ("{ \"key\": \"C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQaBcD\" }", true),
            ("{ \"key\": \"aBc/eFgHiJkLmnOp/rStUVwx/ZaBc/eFgH\" }", true),
            // A text that is whole has the length of a pin. Others may be joined to it, or be escaped.
            ("{ \"key\": \"C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQaBc\" }", false),
            ("{ \"key\": \"    C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQaBc\" }", false),
            ("{ \"key\": \"C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQaBc\\u0064\" }", true),
            ("const key = [ 'C5lpZ7tcVwmwQIMcRtPbsQtWL' + x ]", true),
            ("let key = x + \"C5lpZ7tcVwmwQIMcRtPbsQtWL\";", true),
            ("NSString *key = @\"C5lpZ7tcVwmwQIMcRtPbsQtWL\" @\"ABXhQaBcD\";", true),
            ("const key = [ 'C5lpZ7tcVwmwQIMcRtPbsQtWL', x ]", false),
            ("{ \"key\": \"Africa/Addis_Ababa\", \"k\": \"getElementsByTagName/Value\" }", false),
            ("{ \"key\": \"0a:0b:0c:0d:0e:0f:00:01:02:03:04:05:06:07:08:09:0a:0b:0c\" }", true),
            ("{ \"key\": \"AxRUTPNorQuwGNrpKZdqcjHBuModxFgmS/crsziiMGA\" }", true),
            ("{ \"name\": \"c5lpz7tcvwmwqimcrtpbsqtwlabxhq\" }", false),
            // The digits of a pin end with a quotation mark, or begin with one. Minified names and longer data don't.
            ("{ \"key\": \"sha-256=C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQ\" }", true),
            ("key=C5lpZ7tcVwmwQIMcRtPbsQtWLABXhQ(a)", false),
            ("{ \"key\": \"" + String(repeating: "C5lpZ7tcVwmwQIMcRt", count: 7) + "\" }", false),
            ("{ \"key\": \"useCurrentOptions9Prefix\" }", false),
        ])
    func random(_ text: String, _ mayHavePins: Bool) {
        let bytes = Array(text.utf8)
        let isFound = DigestShape.mayHavePins(bytes.span)
        #expect(isFound == mayHavePins)
    }

    @Test("Each word of pinning has one of the texts that names of files are searched for")
    func namesOfPins() {
        let names = [
            "pins.json", "certPinning.ts", "SSLPinner.swift", "spki.yaml", "hpkp.json", "pkp.json", "pubkeyHash.json",
            "certHashes.yml", "publicKeyHash.json", "certificate-digests.yaml", "publicKeySha256.json",
            "TrustKit.swift", "trustkit.json", "cert256.json", "fingerprint256.json", "pubkey256.json", "keypins.js",
            "pinset.xml", "network_security_config.xml", "Info.plist", "res/xml/NETWORK_SECURITY_CONFIG.xml",
        ]
        for name in names { #expect(DialectText.isNamedForPins(name), "\(name)") }
        for name in ["package.json", "mapping.json", "spinner.ts", "hashes.json", "activity_pin.xml"] {
            #expect(!DialectText.isNamedForPins(name), "\(name)")
        }
    }
}
