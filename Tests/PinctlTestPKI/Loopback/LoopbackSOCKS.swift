import Glibc

extension LoopbackServer.Script {
    /// Acts as a SOCKS proxy of version 5 or 4a that connects everything to one port of the loopback interface. With a
    /// login, it rejects clients without it.
    ///
    /// The request is at the start of the connection's ``LoopbackServer/Record/applicationBytes``.
    package static func socks(version: Int, to port: UInt16, login: (user: String, password: String)? = nil) -> Self {
        .handle { connection in
            version == 5
                ? try connection.relay5(to: port, login: login) : try connection.relay4(to: port, user: login?.user)
        }
    }
}

extension LoopbackServer.Connection {
    /// Returns exactly this number of bytes, or `nil` if the client ends instead.
    package func readExactly(_ count: Int) throws(TestPKIError) -> [UInt8]? {
        while unread.count < count { guard try fill() else { return nil } }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    fileprivate func relay5(to port: UInt16, login: (user: String, password: String)?) throws(TestPKIError) {
        guard let greeting = try readExactly(2), let methods = try readExactly(Int(greeting[1])) else { return }
        let method: UInt8 = login == nil ? 0 : 2
        guard methods.contains(method) else { return try write([5, 0xFF]) }
        try write([5, method])
        if let login {
            guard let userCount = try readExactly(2), let user = try readExactly(Int(userCount[1])),
                let passwordCount = try readExactly(1), let password = try readExactly(Int(passwordCount[0]))
            else { return }
            guard user == Array(login.user.utf8), password == Array(login.password.utf8) else {
                return try write([1, 1])
            }
            try write([1, 0])
        }
        guard let request = try readExactly(5) else { return }
        let rest = request[3] == 3 ? Int(request[4]) : request[3] == 1 ? 3 : 15
        guard try readExactly(rest + 2) != nil else { return }
        try relay(to: port, after: [5, 0, 0, 1, 127, 0, 0, 1, 0, 80])
    }

    fileprivate func relay4(to port: UInt16, user: String?) throws(TestPKIError) {
        guard let request = try readExactly(8), let name = try readText() else { return }
        let isNamed = request[4...6] == [0, 0, 0]
        if isNamed { guard try readText() != nil else { return } }
        guard name == user ?? "" else { return try write([0, 93, 0, 0, 0, 0, 0, 0]) }
        try relay(to: port, after: [0, 90, 0, 0, 0, 0, 0, 0])
    }

    /// Returns the text up to a NUL.
    private func readText() throws(TestPKIError) -> String? {
        var text: [UInt8] = []
        while let byte = try readExactly(1) {
            if byte == [0] { return String(decoding: text, as: UTF8.self) }
            text += byte
        }
        return nil
    }

    private func relay(to port: UInt16, after reply: [UInt8]) throws(TestPKIError) {
        let target = try connectOnLoopback(port: port)
        defer { close(target) }
        try write(reply)
        copyBothWays(target)
    }
}
