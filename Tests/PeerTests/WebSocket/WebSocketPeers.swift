import PinctlTestPKI
import PinnedNetworking

/// An echo server for WebSockets in a third-party library, with or without TLS. It selects the subprotocol `chat`, and
/// records the handshakes that reach it.
///
/// Some texts are commands: `fragments` is answered with a message in three frames, `ping` with a ping and, after its
/// answer, the text `ponged`, and `close` with a close frame of code 4001 and the reason `bye`. The code and reason of
/// a client's close frame are recorded.
struct WebSocketServerPeer: Sendable {
    let port: UInt16
    private let record: String
    private let daemon: TestDaemon

    /// A library for the server.
    enum Library: String, CaseIterable, Sendable {
        case websockets, autobahn

        var program: PeerProgram { self == .websockets ? .websockets : .autobahn }
        fileprivate var script: String { self == .websockets ? websocketsScript : autobahnScript }
    }

    init(_ library: Library, _ site: PeerSite, isSecure: Bool) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        record = directory + "/record"
        _ = try site.directory.add("", name: "record")
        _ = try site.directory.add(library.script, name: "peer.py")
        daemon = try await TestDaemon(
            [
                library.program.path, directory + "/peer.py", String(port), record, isSecure ? directory : "",
            ], ports: [port])
    }

    /// The recorded lines: `open` for a handshake, and `close CODE REASON` for a client's close frame.
    var lines: [String] {
        get throws {
            try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").map { String($0) }
        }
    }

    /// Returns the recorded lines once there are this many.
    func lines(_ count: Int) async throws -> [String] {
        while try lines.count < count { try await Task.sleep(for: .milliseconds(5)) }
        return try lines
    }
}

private let websocketsScript = """
    import asyncio, ssl, sys
    from websockets.asyncio.server import serve
    from websockets.exceptions import ConnectionClosed

    port, path, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3]

    def record(line):
        with open(path, "a") as file:
            file.write(line + "\\n")

    async def handle(connection):
        record("open")
        try:
            async for message in connection:
                if message == "fragments":
                    await connection.send(["one ", "two ", "three"])
                elif message == "ping":
                    await (await connection.ping(b"are you there"))
                    await connection.send("ponged")
                elif message == "close":
                    return await connection.close(4001, "bye")
                else:
                    await connection.send(message)
        except ConnectionClosed:
            pass
        record(f"close {connection.close_code} {connection.close_reason}")

    def select(connection, offered):
        return "chat" if "chat" in offered else None

    async def main():
        context = None
        if directory:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(directory + "/origin.pem", directory + "/origin.key")
        async with serve(handle, "127.0.0.1", port, ssl=context, max_size=2 ** 22, select_subprotocol=select):
            await asyncio.get_running_loop().create_future()

    asyncio.run(main())

    """

private let autobahnScript = """
    import asyncio, ssl, sys
    from autobahn.asyncio.websocket import WebSocketServerFactory, WebSocketServerProtocol

    port, path, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3]

    def record(line):
        with open(path, "a") as file:
            file.write(line + "\\n")

    class Peer(WebSocketServerProtocol):
        def onConnect(self, request):
            return "chat" if "chat" in request.protocols else None

        isOpen = False

        def onOpen(self):
            self.isOpen = True
            record("open")

        def onMessage(self, payload, isBinary):
            if payload == b"fragments":
                self.beginMessage(isBinary=False)
                for part in (b"one ", b"two ", b"three"):
                    self.beginMessageFrame(len(part))
                    self.sendMessageFrameData(part)
                self.endMessage()
            elif payload == b"ping":
                self.sendPing(b"are you there")
            elif payload == b"close":
                self.sendClose(4001, "bye")
            else:
                self.sendMessage(payload, isBinary)

        def onPong(self, payload):
            self.sendMessage(b"ponged", False)

        def onClose(self, wasClean, code, reason):
            if self.isOpen:
                record(f"close {code} {reason}")

    async def main():
        factory = WebSocketServerFactory()
        factory.protocol = Peer
        context = None
        if directory:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(directory + "/origin.pem", directory + "/origin.key")
        loop = asyncio.get_running_loop()
        server = await loop.create_server(factory, "127.0.0.1", port, ssl=context)
        await server.serve_forever()

    asyncio.run(main())

    """
