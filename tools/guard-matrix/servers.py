"""Servers on loopback that count the bytes of application data that clients send."""

import socket
import ssl
import subprocess
import threading


def mint(directory):
    """Creates a CA, and certificates with the names that tests need."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)

    for name in ("ca", "other-ca"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-days", "30", "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for key in ("right", "wrong"):
        openssl("genpkey", "-algorithm", "RSA", "-out", f"{key}.key")
    local = "DNS:localhost,IP:127.0.0.1"
    for name, key, issuer, names in (("right", "right", "ca", local), ("wrong", "wrong", "ca", local),
                                     ("untrusted", "right", "other-ca", local),
                                     ("elsewhere", "right", "ca", "DNS:other.example")):
        (directory / "extensions").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        openssl("req", "-new", "-key", f"{key}.key", "-subj", "/CN=server", "-out", "request")
        openssl("x509", "-req", "-in", "request", "-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-out",
                f"{name}.leaf", "-days", "20", "-extfile", "extensions")
        (directory / f"{name}.pem").write_bytes((directory / f"{name}.leaf").read_bytes()
                                                + (directory / f"{issuer}.pem").read_bytes())
        (directory / f"{name}.server-key").write_bytes((directory / f"{key}.key").read_bytes())


class Server:
    """A TLS server for HTTP. With `start`, TLS begins as in PostgreSQL, MariaDB or after CONNECT."""

    def __init__(self, directory, name, version=None, start=None, redirect=None, closes=False):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(directory / f"{name}.pem", directory / f"{name}.server-key")
        if version is not None:
            self.context.minimum_version = self.context.maximum_version = version
        self.start_tls, self.redirect, self.closes = start, redirect, closes
        self.received = self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def clear(self):
        self.received = self.connections = 0

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        client.settimeout(15)
        try:
            with client:
                if self.start_tls == "postgresql":
                    client.recv(8, socket.MSG_WAITALL)
                    client.sendall(b"S")
                elif self.start_tls == "mariadb":
                    client.sendall(greeting())
                    client.recv(36, socket.MSG_WAITALL)
                with self.context.wrap_socket(client, server_side=True) as stream:
                    self.answer(stream)
        except OSError:
            pass

    def answer(self, stream):
        request = b""
        while data := stream.recv(65536):
            self.received += len(data)
            request += data
            if self.start_tls is not None:
                return
            while b"\r\n\r\n" in request:
                head, request = request.split(b"\r\n\r\n", 1)
                stream.sendall(self.response(head))
                if self.closes:
                    stream.unwrap()  # Otherwise OpenSSL doesn't resume the session in TLS 1.2.
                    return

    def response(self, head):
        body, kind = b"hello\n", "text/plain"
        if b"/info/refs" in head:
            body, kind = b"001e# service=git-upload-pack\n00000000", "application/x-git-upload-pack-advertisement"
        status = f"302 Found\r\nLocation: {self.redirect}" if self.redirect else "200 OK"
        connection = "close" if self.closes else "keep-alive"
        return (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                f"Connection: {connection}\r\n\r\n").encode() + body


def greeting():
    """The first packet of a MariaDB server that offers TLS."""
    capabilities = 0x81FFFFFF
    content = (b"\x0a10.11.0-MariaDB\0" + (1).to_bytes(4, "little") + b"12345678\0"
               + (capabilities & 0xFFFF).to_bytes(2, "little") + b"\x2d" + (2).to_bytes(2, "little")
               + (capabilities >> 16).to_bytes(2, "little") + bytes([21]) + bytes(10) + b"123456789012\0"
               + b"mysql_native_password\0")
    return len(content).to_bytes(3, "little") + b"\0" + content


class Proxy:
    """An HTTP proxy that only knows CONNECT."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        port = int(head.split()[1].rsplit(b":", 1)[1])
        server = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

        def copy(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        threading.Thread(target=copy, args=(server, client), daemon=True).start()
        copy(client, server)
