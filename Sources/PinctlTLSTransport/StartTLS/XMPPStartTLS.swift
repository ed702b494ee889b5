import CertificateTrust

/// XMPP (RFC 6120, section 5): both sides open a stream, the server lists its features, STARTTLS.
struct XMPPStartTLS: StartTLSMachine {
    private static let namespace = "urn:ietf:params:xml:ns:xmpp-tls"

    let opening: StartTLSAction
    private var scanner = XMPPScanner()
    /// The open elements, beginning with the stream.
    private var open: [XMPPScanner.Name] = []
    private var isOffered = false
    private var isAsked = false

    /// Creates a machine. `namespace` is `jabber:client` or `jabber:server`.
    init(to host: ServerName, namespace: String) {
        opening = .send(
            Array(
                """
                <?xml version='1.0'?><stream:stream xmlns='\(namespace)' \
                xmlns:stream='http://etherx.jabber.org/streams' to='\(host)' version='1.0'>
                """.utf8))
    }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let event = try scanner.next(&input) {
            switch event {
            case .start(let tag):
                try begin(tag)
                open.append(tag.name)
                guard tag.isEmpty else { continue }
            case .end(let name):
                guard open.last == name else { throw .unreadable("an XML end tag without a start tag") }
            }
            if let action = try end() { return action }
        }
        return .needMore
    }

    private mutating func begin(_ tag: XMPPScanner.Tag) throws(StartTLSFailure) {
        switch open.count {
        case 0:
            guard tag.name.local == "stream", !tag.isEmpty else { throw .unreadable("no XMPP stream") }
        case 1 where !isAsked:
            guard isOfStream(tag.name), ["features", "error"].contains(tag.name.local) else {
                throw .unreadable("a stream without features")
            }
        case 1:
            let isAnswer = tag.namespace == Self.namespace && tag.name.prefix.isEmpty
            if isAnswer, tag.name.local == "proceed" { return }
            guard isAnswer && tag.name.local == "failure" || isOfStream(tag.name) && tag.name.local == "error" else {
                throw .unreadable("an unexpected element after STARTTLS")
            }
            if isAnswer { throw .refused("failure") }
        case 2:
            // The name of the first child element is the error condition (section 4.9.2).
            if open[1].local == "error" { throw .refused("stream error \(tag.name.local)") }
            if !isAsked, tag.name == XMPPScanner.Name(prefix: "", local: "starttls"), tag.namespace == Self.namespace {
                isOffered = true
            }
        default:
            guard open.count < 16 else { throw .unreadable("XML nested too deeply") }
        }
    }

    /// Closes the innermost element and returns the resulting step, if any.
    private mutating func end() throws(StartTLSFailure) -> StartTLSAction? {
        let name = open.removeLast()
        switch open.count {
        case 0: throw .refused("end of the stream")
        case 1:
            if name.local == "error" { throw .refused("stream error") }
            guard !isAsked else { return .upgrade }
            guard isOffered else { throw .notOffered }
            isAsked = true
            return .send(Array("<starttls xmlns='\(Self.namespace)'/>".utf8))
        default: return nil
        }
    }

    private func isOfStream(_ name: XMPPScanner.Name) -> Bool { open.first?.prefix == name.prefix }
}

/// A scanner for the tags of an XML stream as XMPP allows it, without comments, document types or processing
/// instructions (RFC 6120, section 11.1). CDATA isn't supported, and servers don't send any before TLS. Text is
/// skipped.
struct XMPPScanner: Sendable {
    struct Name: Sendable, Hashable {
        let prefix: String
        let local: String
    }

    struct Tag: Sendable, Hashable {
        let name: Name
        /// The default namespace declared in the tag itself, or empty.
        let namespace: String
        /// Whether the tag is an empty-element tag, `<a/>`.
        let isEmpty: Bool
    }

    enum Event: Sendable, Hashable {
        case start(Tag)
        case end(Name)
    }

    private var hasBegun = false

    private static let foreignMarkup = StartTLSFailure.unreadable(
        "XML with comments, CDATA, instructions or a document type, which XMPP forbids")

    /// Returns the next tag, or nil while none is complete.
    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> Event? {
        while true {
            let text = input.bytes.prefix { $0 != UInt8(ascii: "<") }
            _ = input.take(text.count)
            guard hasBegun || text.allSatisfy(Self.isSpace) else { throw .unexpected(text) }
            guard let count = try Self.tagLength(input.bytes), let tag = input.take(count) else { return nil }
            let inside = tag.dropFirst().dropLast()
            switch inside.first {
            case UInt8(ascii: "?") where !hasBegun && inside.starts(with: Array("?xml ".utf8)):
                hasBegun = true
                continue
            case UInt8(ascii: "?"): throw Self.foreignMarkup
            default: break
            }
            hasBegun = true
            return try Self.event(inside)
        }
    }

    /// Returns the number of bytes up to the `>` that ends a tag. A `>` in quotes doesn't end it.
    private static func tagLength(_ bytes: ArraySlice<UInt8>) throws(StartTLSFailure) -> Int? {
        var quote: UInt8?
        // In markup that begins with `<!`, quotes need not come in pairs.
        guard bytes.dropFirst().first != UInt8(ascii: "!") else { throw foreignMarkup }
        for (offset, byte) in bytes.enumerated() {
            guard offset < StartTLSInput.lineLimit else { break }
            switch (quote, byte) {
            case (nil, UInt8(ascii: ">")): return offset + 1
            case (nil, UInt8(ascii: "<")) where offset > 0: throw .unreadable("XML with < inside a tag")
            case (nil, UInt8(ascii: "'")), (nil, UInt8(ascii: "\"")): quote = byte
            case (let open?, byte) where open == byte: quote = nil
            default: break
            }
        }
        guard bytes.count < StartTLSInput.lineLimit else {
            throw .unreadable("a tag of more than \(StartTLSInput.lineLimit) bytes")
        }
        return nil
    }

    private static func event(_ inside: ArraySlice<UInt8>) throws(StartTLSFailure) -> Event {
        if inside.first == UInt8(ascii: "/") {
            var rest = inside.dropFirst()
            let name = try takeName(&rest)
            guard rest.allSatisfy(isSpace) else { throw .unexpected(inside) }
            return .end(name)
        }
        let isEmpty = inside.last == UInt8(ascii: "/")
        var rest = isEmpty ? inside.dropLast() : inside
        let name = try takeName(&rest)
        var namespace: String?
        while true {
            let spaces = rest.prefix(while: isSpace)
            rest = rest.dropFirst(spaces.count)
            guard !rest.isEmpty else { break }
            guard !spaces.isEmpty else { throw .unexpected(inside) }
            let attribute = try takeName(&rest)
            rest = rest.drop(while: isSpace)
            guard rest.popFirst() == UInt8(ascii: "=") else { throw .unexpected(inside) }
            rest = rest.drop(while: isSpace)
            guard let quote = rest.popFirst(), quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\""),
                let end = rest.firstIndex(of: quote)
            else { throw .unexpected(inside) }
            if attribute == Name(prefix: "", local: "xmlns") {
                guard namespace == nil else { throw .unexpected(inside) }
                namespace = String(decoding: rest[..<end], as: UTF8.self)
            }
            rest = rest[(end + 1)...]
        }
        return .start(Tag(name: name, namespace: namespace ?? "", isEmpty: isEmpty))
    }

    private static func takeName(_ rest: inout ArraySlice<UInt8>) throws(StartTLSFailure) -> Name {
        let bytes = rest.prefix { byte in
            isLetter(byte) || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x3A, 0x5F].contains(byte)
        }
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }), let local = parts.last else {
            throw .unexpected(rest)
        }
        rest = rest.dropFirst(bytes.count)
        return Name(prefix: parts.count == 2 ? parts[0] : "", local: local)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
