import Basics

/// The credentials that a ``URLCredentialStorage`` keeps in a file: user names and passwords, grouped by protection
/// space.
///
/// The file has a title line, then one line of eleven fields for each credential. A field is its length in bytes and
/// its value, as in `5:value,`, or `-,` for none. The format isn't JSON, because a JSON parser would turn all passwords
/// into strings that can't be overwritten. Here a password stays in ``SecretBytes`` until it is requested.
struct SavedCredentials: Equatable, Sendable {
    struct Credential: Equatable, Sendable {
        let password: SecretBytes
        let isSynchronizable: Bool

        func credential(of user: String) -> URLCredential {
            URLCredential(
                user: user, password: password.withBytes { String(decoding: $0, as: UTF8.self) },
                persistence: persistence)
        }

        var persistence: URLCredential.Persistence { isSynchronizable ? .synchronizable : .permanent }

        /// Compares without making a `String` of the stored password.
        func isEqual(to other: URLCredential) -> Bool {
            guard other.persistence == persistence, let text = other.password else { return false }
            return password.withBytes { text.utf8.elementsEqual($0) }
        }
    }

    struct Space: Equatable, Sendable {
        var users: [String: Credential] = [:]
        var defaultUser: String?
    }

    var spaces: [URLProtectionSpace: Space] = [:]

    /// The largest file, in bytes.
    static let sizeLimit = 1 << 20

    private static let title = Array("PinnedNetworking credentials 1\n".utf8)

    init() {}
}

// MARK: Reading

extension SavedCredentials {
    /// Parses a file. Nothing is ignored: any deviation from the format that this type writes is an error.
    init(_ file: SecretBytes) throws(CredentialStorageError.Reason) {
        spaces = try file.withBytes { bytes throws(CredentialStorageError.Reason) in
            guard bytes.starts(with: Self.title) else { throw .otherVersion }
            var reader = Reader(rest: bytes[Self.title.count...])
            var saved = SavedCredentials()
            while !reader.rest.isEmpty { try saved.read(&reader) }
            return saved.spaces
        }
    }

    private mutating func read(_ reader: inout Reader) throws(CredentialStorageError.Reason) {
        reader.line += 1
        let host = try reader.text()
        let port = try reader.text()
        let scheme = try reader.optionalText()
        let realm = try reader.optionalText()
        let method = try reader.text()
        let isProxy = try reader.flag()
        let proxyType = try reader.optionalText()
        let user = try reader.text()
        guard let secret = try reader.field() else { throw reader.malformed }
        let password = SecretBytes(secret)
        let isSynchronizable = try reader.flag()
        let isDefault = try reader.flag()
        try reader.endLine()

        guard let number = Int(port), String(number) == port,
            isProxy ? scheme == nil : proxyType == nil,
            password.withBytes(Self.isUTF8)
        else { throw reader.malformed }
        let place =
            isProxy
            ? URLProtectionSpace(
                proxyHost: host, port: number, type: proxyType, realm: realm, authenticationMethod: method)
            : URLProtectionSpace(
                host: host, port: number, protocol: scheme, realm: realm, authenticationMethod: method)
        // Hosts compare as DNS names, but a space must always be written in the same spelling.
        guard spaces.index(forKey: place).map({ spaces.keys[$0].host == place.host }) ?? true else {
            throw reader.malformed
        }
        // Remove the space first. Otherwise its users would be copied for each added user.
        var space = spaces.removeValue(forKey: place) ?? Space()
        guard space.users[user] == nil, !(isDefault && space.defaultUser != nil) else { throw reader.malformed }
        space.users[user] = Credential(password: password, isSynchronizable: isSynchronizable)
        if isDefault { space.defaultUser = user }
        spaces[place] = space
    }

    /// Returns whether the bytes are UTF-8, without making a `String` of them.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>
        var line = 1

        var malformed: CredentialStorageError.Reason { .malformed(line: line) }

        mutating func field() throws(CredentialStorageError.Reason) -> ArraySlice<UInt8>? {
            if rest.starts(with: "-,".utf8) {
                rest = rest.dropFirst(2)
                return nil
            }
            // No field in a file within the size limit needs more than seven digits.
            let digits = rest.prefix(8).prefix { $0 != UInt8(ascii: ":") }
            let text = String(decoding: digits, as: UTF8.self)
            guard let count = Int(text), count >= 0, String(count) == text else { throw malformed }
            let value = rest.dropFirst(digits.count + 1).prefix(count)
            let end = rest.dropFirst(digits.count + 1 + count)
            guard rest.dropFirst(digits.count).first == UInt8(ascii: ":"), value.count == count,
                end.first == UInt8(ascii: ",")
            else { throw malformed }
            rest = end.dropFirst()
            return value
        }

        mutating func optionalText() throws(CredentialStorageError.Reason) -> String? {
            guard let bytes = try field() else { return nil }
            guard let text = String(validating: bytes, as: UTF8.self) else { throw malformed }
            return text
        }

        mutating func text() throws(CredentialStorageError.Reason) -> String {
            guard let text = try optionalText() else { throw malformed }
            return text
        }

        mutating func flag() throws(CredentialStorageError.Reason) -> Bool {
            switch try text() {
            case "0": return false
            case "1": return true
            default: throw malformed
            }
        }

        mutating func endLine() throws(CredentialStorageError.Reason) {
            guard rest.first == UInt8(ascii: "\n") else { throw malformed }
            rest = rest.dropFirst()
        }
    }
}

// MARK: Writing

extension SavedCredentials {
    /// Returns the file's contents. The same credentials always produce the same file.
    func file() throws(CredentialStorageError.Reason) -> SecretBytes {
        // A growing array leaves copies of its contents behind in freed memory, so the full capacity is reserved here.
        // A file over the size limit is refused.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        bytes += Self.title
        for (space, kept) in spaces.sorted(by: { $0.key.description < $1.key.description }) {
            for (user, credential) in kept.users.sorted(by: { $0.key < $1.key }) {
                Self.write(space.host, to: &bytes)
                Self.write(String(space.port), to: &bytes)
                Self.write(space.protocol, to: &bytes)
                Self.write(space.realm, to: &bytes)
                Self.write(space.authenticationMethod, to: &bytes)
                Self.write(space.isProxy() ? "1" : "0", to: &bytes)
                Self.write(space.proxyType, to: &bytes)
                Self.write(user, to: &bytes)
                credential.password.withBytes { password in
                    bytes += "\(password.count):".utf8
                    bytes += password
                    bytes += ",".utf8
                }
                Self.write(credential.isSynchronizable ? "1" : "0", to: &bytes)
                Self.write(kept.defaultUser == user ? "1" : "0", to: &bytes)
                bytes += "\n".utf8
            }
        }
        let file = SecretBytes(taking: &bytes)
        guard file.withBytes({ $0.count }) <= Self.sizeLimit else { throw .full(limit: Self.sizeLimit) }
        return file
    }

    /// An upper bound for the file's size, in bytes.
    private var size: Int {
        spaces.reduce(Self.title.count) { total, entry in
            let (space, kept) = entry
            let place = [space.host, space.protocol, space.realm, space.authenticationMethod, space.proxyType]
                .reduce(0) { $0 + ($1?.utf8.count ?? 0) }
            return kept.users.reduce(total) { total, entry in
                // The lengths, separators, flags and port number.
                total + place + entry.key.utf8.count + entry.value.password.withBytes { $0.count } + 256
            }
        }
    }

    private static func write(_ text: String?, to bytes: inout [UInt8]) {
        guard let text else {
            bytes += "-,".utf8
            return
        }
        bytes += "\(text.utf8.count):".utf8
        bytes += text.utf8
        bytes += ",".utf8
    }
}
