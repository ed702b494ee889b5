#!/usr/bin/env python3
"""Fetches a page from a server that the verdict service accepts: client.py ssl|asyncio SOCKET HOST PORT CA-FILE

Copy `judge`, and call it after the handshake and before anything is sent."""

import asyncio
import os
import socket
import ssl
import struct
import sys

SECONDS = 10


def question(stream, host, port):
    """The frame about a connected SSLSocket or SSLObject."""
    chain = getattr(stream, "_sslobj").get_unverified_chain()  # Public as stream.get_unverified_chain from 3.13 on.
    fields = [(1, host.encode()), (2, struct.pack(">H", port)), (7, bytes([bool(stream.session_reused)]))]
    fields += [(4, ssl.PEM_cert_to_DER_cert(certificate.public_bytes())) for certificate in chain or []]
    fields += [(8, os.fsencode(sys.argv[0])), (9, struct.pack(">I", os.getpid())), (10, b"OpenSSL")]
    content = b"\1\1" + b"".join(bytes([kind]) + struct.pack(">I", len(value)) + value for kind, value in fields)
    return struct.pack(">I", len(content)) + content


def check(answer):
    """Raises an error unless an answer, without its length, accepts and is exactly as specified."""
    seen, at = {}, 2
    if answer[:2] != b"\1\1":
        raise ssl.SSLError("the verdict service sent an invalid answer")
    while at < len(answer):
        kind, size = answer[at], int.from_bytes(answer[at + 1 : at + 5], "big")
        if len(answer) < at + 5 + size or kind in seen or not 1 <= kind <= 3:
            raise ssl.SSLError("the verdict service sent an invalid answer")
        seen[kind], at = answer[at + 5 : at + 5 + size], at + 5 + size
    if seen.get(1) != b"\1":
        raise ssl.SSLCertVerificationError("refused: " + seen.get(2, b"").decode(errors="replace"))


def judge(stream, path, host, port):
    """Raises an error unless the service accepts the server of an SSLSocket."""
    with socket.socket(socket.AF_UNIX) as service:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            service.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", SECONDS, 0))
        service.connect(path)
        service.sendall(question(stream, host, port))
        # The time limit is that of all bytes together.
        size = int.from_bytes(service.recv(4, socket.MSG_WAITALL), "big")
        answer = service.recv(size, socket.MSG_WAITALL) if 2 <= size <= 4096 else b""
        if len(answer) != size:
            raise ssl.SSLError("the verdict service sent an invalid answer, or none")
        check(answer)


async def judge_async(writer, path, host, port):
    """The same for a connection of asyncio, in a thread, so that other tasks go on."""
    await asyncio.to_thread(judge, writer.get_extra_info("ssl_object"), path, host, port)


def main(how, path, host, port, ca):
    context, request = ssl.create_default_context(cafile=ca), f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()

    async def fetch():
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        await judge_async(writer, path, host, port)
        writer.write(request)
        return await reader.read()

    if how == "asyncio":
        return print(asyncio.run(fetch()).decode())
    with context.wrap_socket(socket.create_connection((host, port)), server_hostname=host) as stream:
        judge(stream, path, host, port)
        stream.sendall(request)
        print(stream.recv(65536).decode())


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]), sys.argv[5])
