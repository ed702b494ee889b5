import CertificatePinning
import PinctlBasics

/// A reader of a Caddyfile.
///
/// Caddy creates a key for each certificate unless the site's `tls` directive has `reuse_private_keys`, which isn't a
/// global option (Caddy's documentation, "tls (Caddyfile directive)" and "Global options"). Caddy doesn't renew the
/// certificates of sites with `http://`, of those that name their own files, or with `auto_https off` or
/// `disable_certs`. Snippets are followed, and other imported files aren't read. An address with a placeholder isn't
/// known, and is left out.
struct CaddyReader {
    let path: String

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        var cursor = CaddyTokens(try TextCursor(checking: bytes, path: path), path: path)
        let blocks = try cursor.blocks()
        var snippets: [String: [CaddyDirective]] = [:]
        for block in blocks {
            guard block.words.count == 1, let name = block.words.first?.text, name.hasPrefix("("), name.hasSuffix(")")
            else { continue }
            snippets[String(name.dropFirst().dropLast())] = block.body
        }
        if let first = blocks.first, first.words.isEmpty {
            let automation = first.body.first { $0.name == "auto_https" }?.arguments.map(\.text) ?? []
            if automation.contains("off") || automation.contains("disable_certs") { return [] }
        }
        var renewals: [KeyRenewal] = []
        for block in blocks {
            if let renewal = try renewal(of: block, snippets) { renewals.append(renewal) }
        }
        return renewals
    }

    private func renewal(
        of block: CaddyBlock, _ snippets: [String: [CaddyDirective]]
    ) throws(PolicyFileError) -> KeyRenewal? {
        guard let first = block.words.first, !first.text.hasPrefix("("), !first.text.hasPrefix("&(") else { return nil }
        let names = block.words.flatMap { $0.text.split(separator: ",") }.compactMap(Self.host)
        guard !names.isEmpty else { return nil }
        var site = Expansion(snippets)
        site.add(block.body)
        let tls = site.directives.filter { $0.name == "tls" }
        // A certificate and key in files are renewed by somebody else.
        guard !tls.contains(where: { $0.arguments.count == 2 }) else { return nil }
        var options = Expansion(snippets)
        for directive in tls { options.add(directive.block) }
        func renewal(_ effect: KeyRenewal.Effect, _ place: SourcePosition, _ setting: String, _ remedy: String)
            -> KeyRenewal
        {
            KeyRenewal(
                names: names, effect, at: PolicyLocation(path: path, place), program: "Caddy", setting: setting,
                remedy: remedy)
        }
        if let setting = options.directives.first(where: { $0.name == "reuse_private_keys" }) {
            if let argument = setting.arguments.first {
                throw IssuanceText.problem(
                    "reuse_private_keys is followed by \(quoted(argument.text)), and Caddy refuses the file: remove the "
                        + "whole line if keys shall change, or else only what follows",
                    at: PolicyLocation(path: path, argument.position))
            }
            return renewal(.keepsKey, setting.position, "reuse_private_keys", "")
        }
        if let manager = options.directives.first(where: { $0.name == "get_certificate" }) {
            return renewal(
                .unknown, manager.position, "get_certificate", "check where that program takes its keys from")
        }
        if let unread = site.unread ?? options.unread {
            return renewal(
                .unknown, unread.position, "import of a file", "write tls { reuse_private_keys } in the site itself")
        }
        return renewal(
            .changesKey, tls.first?.position ?? first.position,
            "\(names[0]) has no tls { reuse_private_keys }", "add reuse_private_keys to the tls directive of the site")
    }

    /// The directives of a block and of the snippets that it imports, each snippet once.
    private struct Expansion {
        let snippets: [String: [CaddyDirective]]
        var directives: [CaddyDirective] = []
        /// The first import of a file.
        var unread: CaddyDirective?
        private var seen: Set<String> = []

        init(_ snippets: [String: [CaddyDirective]]) { self.snippets = snippets }

        mutating func add(_ body: [CaddyDirective]) {
            var pending = body[...]
            while let directive = pending.popFirst() {
                guard directive.name == "import" else {
                    directives.append(directive)
                    continue
                }
                guard let name = directive.arguments.first?.text, let body = snippets[name] else {
                    unread = unread ?? directive
                    continue
                }
                if seen.insert(name).inserted { pending = (body + pending)[...] }
            }
        }
    }

    /// Returns the hostname of an address such as `https://example.com:8443/path`, or `nil` if Caddy gets no certificate
    /// for it or its name isn't known.
    private static func host(_ address: Substring) -> String? {
        var rest = address
        guard !rest.hasPrefix("http://") else { return nil }
        if rest.hasPrefix("https://") { rest = rest.dropFirst("https://".count) }
        rest = rest.prefix { $0 != "/" }
        // An IPv6 address is in brackets.
        let end = rest.hasPrefix("[") ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(of: ":")
        let part = rest[..<(end ?? rest.endIndex)]
        // No longer name is a hostname.
        guard part.utf8.count <= 255 else { return nil }
        let name = part.filter { $0 != "[" && $0 != "]" }
        guard !name.isEmpty, !name.contains(where: { "{}$".contains($0) }), rest[(end ?? rest.endIndex)...] != ":80"
        else { return nil }
        return name
    }
}
