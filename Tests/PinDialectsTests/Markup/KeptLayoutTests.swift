import CertificatePinning
import PinctlTestPKI
import Testing

@testable import PinDialects

/// Replacing pins in generated files with comments, in every style: all bytes but those of changed pins stay the same.
@Suite("The layout that a replacement keeps")
struct KeptLayoutTests {
    /// A pin of a file, with what is around it.
    private struct Item {
        var pin: UInt8
        /// A blank line, or a comment and a blank line, which is about no pin.
        var filler: [String] = []
        /// The comments above the pin, which are about it.
        var lead: [String] = []
        /// The comment behind the pin on its line.
        var tail = ""
        var isNew = false
    }

    /// The style of a file.
    private struct Style {
        let dialect: PinDialect
        let indent: String
        let lineEnd: String

        func comment(_ number: Int) -> String {
            switch dialect {
            case .envoy: "# note \(number): it's \"kept\""
            case .okhttp: number % 2 == 0 ? "// note \(number)" : "/* note \(number), \"sha256/\" */"
            default: "<!-- note \(number): <pin> -->"
            }
        }

        func text(_ item: Item) -> [String] {
            let digest = ReplacingTests.base64(item.pin)
            switch dialect {
            case .android: return ["<pin digest=\"SHA-256\">\(digest)</pin>"]
            case .apple:
                let step = indent
                return [
                    "<dict>", step + "<key>SPKI-SHA256-BASE64</key>", step + "<string>\(digest)</string>", "</dict>",
                ]
            case .trustkit: return ["<string>\(digest)</string>"]
            case .envoy: return [item.isNew ? "- \"\(digest)\"" : "- \(digest)"]
            default: return ["\"sha256/\(digest)\""]
            }
        }

        /// The lines before and after the list of pins, without the indentation that all share.
        var frame: (head: [String], foot: [String]) {
            switch dialect {
            case .android:
                return (
                    [
                        "<!-- file -->", "<network-security-config>", "<domain-config>",
                        "<domain includeSubdomains=\"false\">a.example.net</domain><!-- host -->",
                        "<!-- set --><pin-set><!-- head -->",
                    ], ["<!-- end -->", "</pin-set> <!-- foot -->", "</domain-config>", "</network-security-config>"]
                )
            case .apple:
                return (
                    [
                        "<plist version=\"1.0\"><!-- file --><dict><key>NSAppTransportSecurity</key> <!-- key -->",
                        "<dict><key>NSPinnedDomains</key><dict><!-- host --><key>a.example.net</key><!-- between -->",
                        "<dict><key>NSPinnedLeafIdentities</key>", "<array><!-- head -->",
                    ], ["<!-- end -->", "</array></dict></dict></dict>", "</dict></plist>"]
                )
            case .trustkit:
                return (
                    [
                        "<plist version=\"1.0\"><!-- file --><dict><key>TSKPinnedDomains</key><dict><!-- host -->",
                        "<key>a.example.net</key><dict><key>TSKDisableDefaultReportUri</key><true/><!-- off -->",
                        "<key>TSKPublicKeyHashes</key>", "<array><!-- head -->",
                    ], ["<!-- end -->", "</array></dict></dict>", "</dict></plist>"]
                )
            case .envoy:
                return (
                    [
                        "# file", "sni: a.example.net # host", "common_tls_context:", "  validation_context: # context",
                        "    trusted_ca: {filename: roots.pem} # ca", "    verify_certificate_spki: # list",
                    ], ["    # end", "    match_typed_subject_alt_names: []"]
                )
            default:
                return (
                    [
                        "// file", "val pinner = CertificatePinner.Builder() // start",
                        "    .add(\"a.example.net\", // head",
                    ], ["// end", "    ) // foot", "    .build()"]
                )
            }
        }

        func render(_ items: [Item]) -> String {
            var lines = frame.head
            for (index, item) in items.enumerated() {
                lines += item.filler.map { $0.isEmpty ? "" : indent + $0 } + item.lead.map { indent + $0 }
                var own = text(item).map { indent + $0 }
                let comma = dialect == .okhttp && index + 1 < items.count ? "," : ""
                own[own.count - 1] += comma + item.tail
                lines += own
            }
            return (lines + frame.foot).map { $0 + lineEnd }.joined()
        }
    }

    private func items(_ style: Style, _ generator: inout SeededGenerator) -> [Item] {
        var number = 0
        func comment(_ generator: inout SeededGenerator) -> String {
            number += 1
            return style.comment(number)
        }
        return (1...UInt8.random(in: 2...5, using: &generator)).map { pin in
            var item = Item(pin: pin)
            switch Int.random(in: 0...3, using: &generator) {
            case 0: item.filler = [""]
            case 1: item.filler = [comment(&generator), ""]
            default: break
            }
            for _ in 0..<Int.random(in: 0...2, using: &generator) { item.lead.append(comment(&generator)) }
            if Bool.random(using: &generator) { item.tail = " " + comment(&generator) }
            return item
        }
    }

    /// Returns the items after a change: new pins take the places of removed ones, and the others follow the last one.
    private func changed(_ items: [Item], keeping: Set<UInt8>, adding: [UInt8]) -> [Item] {
        var rest = adding[...]
        var result: [Item] = []
        var filler: [String] = []
        for var item in items {
            if !keeping.contains(item.pin) {
                guard let pin = rest.popFirst() else {
                    filler += item.filler
                    continue
                }
                item = Item(pin: pin, filler: item.filler, isNew: true)
            }
            item.filler = filler + item.filler
            filler = []
            result.append(item)
        }
        guard filler.isEmpty || rest.isEmpty else { return result }
        return result + rest.map { Item(pin: $0, isNew: true) }
    }

    @Test(
        "Only the pins that are added and removed change, each with its comments, and a second run changes nothing",
        arguments: [PinDialect.android, .apple, .trustkit, .envoy, .okhttp])
    func layout(dialect: PinDialect) throws {
        var generator = SeededGenerator(seed: 26)
        let role: PinRole = [.apple, .envoy].contains(dialect) ? .leaf : .any
        let indents = dialect == .envoy ? ["    ", "      ", "         "] : ["\t", "  ", "        "]
        for round in 0..<300 {
            let style = Style(
                dialect: dialect, indent: indents.randomElement(using: &generator) ?? "",
                lineEnd: Bool.random(using: &generator) ? "\n" : "\r\n")
            let before = items(style, &generator)
            var kept = before.filter { _ in Int.random(in: 0...2, using: &generator) > 0 }
            // The last pin stays, so that it is clear where blank lines after removed pins go.
            if let last = before.last, kept.last?.pin != last.pin { kept.append(last) }
            let missing = max(0, 2 - kept.count)
            let added = (0..<UInt8.random(in: UInt8(missing)...3, using: &generator)).map { 100 + $0 }
            let pins = kept.map(\.pin).shuffled(using: &generator) + added
            let policy = CanonicalPolicy(
                rules: [ReplacingTests.rule("a.example.net", .exact, pins.map { ReplacingTests.pin($0, role) })],
                combination: dialect == .apple || dialect == .okhttp ? .union : .closest)
            let wanted = style.render(changed(before, keeping: Set(kept.map(\.pin)), adding: added))
            let text = style.render(before)
            let result = try dialect.replacing(Array(text.utf8), path: "f", with: policy)
            #expect(String(decoding: result, as: UTF8.self) == wanted, "\(round): \(text)")
            guard String(decoding: result, as: UTF8.self) == wanted else { return }
            #expect(try dialect.replacing(result, path: "f", with: policy) == result, "\(round)")
        }
    }
}
