"""A verdict service for tests: accepts a question if the leaf has one of its keys, and can misbehave."""

import hashlib
import os
import socket
import struct
import subprocess
import threading
import time

QUESTION, CONNECTED, STARTED, UNUSED, UNGUARDED = 1, 2, 3, 4, 5
NAMES = {1: "host", 2: "port", 3: "address", 4: "certificate", 5: "ocsp", 6: "scts", 7: "resumed", 8: "program",
         9: "pid", 10: "library"}


def field(kind, value):
    return bytes([kind]) + struct.pack(">I", len(value)) + value


def frame(*fields, version=1, kind=1):
    content = bytes([version, kind]) + b"".join(fields)
    return struct.pack(">I", len(content)) + content


ACCEPT = field(1, b"\1")
# Answers that a client must refuse, after which the connection is closed.
INVALID = {
    "version 2": frame(ACCEPT, version=2),
    "kind 2": frame(ACCEPT, kind=2),
    "no verdict": frame(field(2, b"fine")),
    "empty": frame(),
    "verdict 0": frame(field(1, b"\0")),
    "verdict 2": frame(field(1, b"\2")),
    "verdict of two bytes": frame(field(1, b"\1\1")),
    "verdict of no bytes": frame(field(1, b"")),
    "repeated verdict": frame(ACCEPT, ACCEPT),
    "accept and refuse": frame(ACCEPT, field(1, b"\0")),
    "unknown field": frame(ACCEPT, field(4, b"x")),
    "field beyond the frame": frame(ACCEPT, b"\2" + struct.pack(">I", 100) + b"x"),
    "field of 4 GiB": frame(ACCEPT, b"\2" + b"\xff" * 4),
    "half a field": frame(ACCEPT, b"\2\0\0"),
    "length 0": struct.pack(">I", 0),
    "length 1": struct.pack(">I", 1) + b"\1",
    "length 4097": struct.pack(">I", 4097) + frame(ACCEPT)[4:] + b"\0" * 4097,
    "length 4 GiB": b"\xff" * 4 + frame(ACCEPT)[4:],
    "cut off in the length": frame(ACCEPT)[:3],
    "cut off before the verdict": frame(ACCEPT)[:-1],
    "cut off": frame(ACCEPT, field(2, b"reason"))[:-1],
    "nothing": b"",
    "HTTP": b"HTTP/1.1 200 OK\r\n\r\n",
}


def spki(certificate):
    """The SHA-256 of a DER certificate's public key, by the openssl command."""
    key = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-pubkey"], input=certificate,
                         capture_output=True, check=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, capture_output=True,
                         check=True).stdout
    return hashlib.sha256(der).hexdigest()


class Service:
    """Listens at a path. `questions` and `events` have the fields of what clients sent, `faults` what was malformed."""

    def __init__(self, path, keys):
        self.path, self.keys, self.cache = path, keys, {}
        self.answer = None      # Bytes sent in place of an answer.
        self.silent = False     # Reads and never answers.
        self.drips = False      # Sends `answer` slowly.
        self.refuse_resumed = False
        self.clear()
        self.start()

    def clear(self):
        self.questions, self.events, self.faults = [], [], []

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(512)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as stream:
            while len(length := stream.read(4)) == 4:
                content = stream.read(struct.unpack(">I", length)[0])
                try:
                    kind, fields = self.parse(content)
                except (ValueError, IndexError, struct.error) as fault:
                    self.faults.append(str(fault))
                    return
                if kind != QUESTION:
                    self.events.append((kind, fields))
                    continue
                self.questions.append(fields)
                if self.silent:
                    stream.read()
                    return
                try:
                    if self.answer is not None:
                        for byte in self.answer if self.drips else ():
                            client.sendall(bytes([byte]))
                            time.sleep(0.5)
                        client.sendall(b"" if self.drips else self.answer)
                        return
                    client.sendall(self.verdict(fields))
                except OSError:
                    return

    def parse(self, content):
        if not 2 <= len(content) <= 262144 or content[0] != 1 or not QUESTION <= content[1] <= UNGUARDED:
            raise ValueError("a frame that isn't valid")
        at, fields = 2, {"certificate": []}
        while at < len(content):
            name, (size,) = NAMES[content[at]], struct.unpack(">I", content[at + 1 : at + 5])
            value = content[at + 5 : at + 5 + size]
            if len(value) != size or (name in fields and name != "certificate"):
                raise ValueError(f"the field {name} isn't valid")
            at += 5 + size
            if name == "certificate":
                fields[name].append(value)
            elif name in ("port", "pid", "resumed"):
                fields[name] = int.from_bytes(value, "big")
            else:
                fields[name] = value if name in ("ocsp", "scts") else value.decode()
        return content[1], fields

    def verdict(self, fields):
        chain = fields["certificate"]
        if not chain:
            return frame(field(1, b"\0"), field(2, b"the server sent no certificate"))
        if chain[0] not in self.cache:
            self.cache[chain[0]] = spki(chain[0])
        if self.refuse_resumed and fields["resumed"]:
            return frame(field(1, b"\0"), field(2, b"the policy has changed"))
        if self.cache[chain[0]] in self.keys:
            return frame(ACCEPT)
        return frame(field(1, b"\0"), field(2, f"the key of {fields.get('host')} isn't pinned".encode()))
