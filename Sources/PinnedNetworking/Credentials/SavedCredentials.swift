import PinctlBasics

/// The credentials that a ``URLCredentialStorage`` keeps in a file: user names and passwords, grouped by protection
/// space.
///
/// The file has a title line, then one line of eleven fields for each credential. A field is its length in bytes and
/// its value, as in `5:value,`, or `-,` for none. The format isn't JSON, because a JSON parser would turn all passwords
/// into strings that can't be overwritten. Here a password stays in ``SecretBytes`` until it is requested.
struct SavedCredentials: PrivateFileContents {
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

    static let name = "credentials"
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
            var reader = PrivateFileReader(rest: bytes[Self.title.count...])
            var saved = SavedCredentials()
            while !reader.rest.isEmpty { try saved.read(&reader) }
            return saved.spaces
        }
    }

    private mutating func read(_ reader: inout PrivateFileReader) throws(CredentialStorageError.Reason) {
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
                bytes.appendField(space.host)
                bytes.appendField(String(space.port))
                bytes.appendField(space.protocol)
                bytes.appendField(space.realm)
                bytes.appendField(space.authenticationMethod)
                bytes.appendField(space.isProxy() ? "1" : "0")
                bytes.appendField(space.proxyType)
                bytes.appendField(user)
                credential.password.withBytes { bytes.appendField($0) }
                bytes.appendField(credential.isSynchronizable ? "1" : "0")
                bytes.appendField(kept.defaultUser == user ? "1" : "0")
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
}
