"""Certificate chains that a verifier of the strict sort accepts, made from a random generator alone."""

import copy
import hashlib
import math
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from der import bit_string, boolean, integer, oid, sequence, tlv

NOW = "2026-06-01T12:00:00+00:00"
SAN, BASIC, USAGE, EXTENDED = "2.5.29.17", "2.5.29.19", "2.5.29.15", "2.5.29.37"
SKI, AKI, CONSTRAINTS, POLICIES = "2.5.29.14", "2.5.29.35", "2.5.29.30", "2.5.29.32"
SERVER, CLIENT, ANY, CODE = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2", "2.5.29.37.0", "1.3.6.1.5.5.7.3.3"


class Key:
    ECDSA = {"P-256": (ec.SECP256R1(), hashes.SHA256(), 2), "P-384": (ec.SECP384R1(), hashes.SHA384(), 3)}

    def __init__(self, kind, random):
        self.kind = kind
        if kind == "RSA":
            p, q = prime(random), prime(random)
            d = pow(65537, -1, (p - 1) * (q - 1))
            numbers = rsa.RSAPrivateNumbers(
                p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(65537, p * q))
            self.private = numbers.private_key()
        else:
            self.private = ec.derive_private_key(random.getrandbits(255) + 1, self.ECDSA[kind][0])
        self.spki = self.private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.identifier = hashlib.sha1(self.spki).digest()

    @property
    def algorithm(self):
        if self.kind == "RSA":
            return sequence(oid("1.2.840.113549.1.1.11"), tlv(5))
        return sequence(oid(f"1.2.840.10045.4.3.{self.ECDSA[self.kind][2]}"))

    def sign(self, octets):
        if self.kind == "RSA":
            return self.private.sign(octets, padding.PKCS1v15(), hashes.SHA256())
        return self.private.sign(octets, ec.ECDSA(self.ECDSA[self.kind][1], deterministic_signing=True))


def prime(random, bits=1024, exponent=65537):
    """A prime of so many bits, of which the upper two are set, for this RSA exponent (Miller and Rabin's test)."""
    while True:
        candidate = random.getrandbits(bits) | 3 << bits - 2 | 1
        if math.gcd(candidate - 1, exponent) > 1 or math.gcd(candidate, 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23) > 1:
            continue
        odd, twos = candidate - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        for base in (2, 3, 5, 7, 11, 13, 17, 19):
            power = pow(base, odd, candidate)
            if power not in (1, candidate - 1) and all(
                (power := power * power % candidate) != candidate - 1 for _ in range(twos - 1)
            ):
                break
        else:
            return candidate


def name(common_name):
    if not common_name:
        return sequence()
    return sequence(tlv(0x31, sequence(oid("2.5.4.3"), tlv(12, common_name.encode()))))


def general_name(kind, value):
    tag = {"mail": 1, "dns": 2, "uri": 6, "ip": 7}.get(kind)
    if kind == "directory":
        return tlv(0xA4, name(value))
    return tlv(0x80 | tag, value if isinstance(value, bytes) else value.encode())


def general_names(names):
    return sequence(*(general_name(*each) for each in names))


def constraints(permitted, excluded):
    lists = [(0xA0, permitted), (0xA1, excluded)]
    return sequence(*(tlv(tag, *(sequence(general_name(*each)) for each in names)) for tag, names in lists if names))


def usage(*bits):
    octet = sum(0x80 >> bit for bit in bits)
    unused = (octet & -octet).bit_length() - 1 if octet else 0
    return bit_string(bytes([octet]) if octet else b"", unused)


def basic(is_authority, path_length=None):
    return sequence(
        boolean(True) if is_authority else b"", b"" if path_length is None else integer(path_length))


@dataclass
class Certificate:
    subject: str
    issuer: str
    key: Key
    signer: Key
    serial: int
    start: str = "260101000000Z"
    end: str = "360101000000Z"
    version: int = 2
    # Identifier → (critical, value).
    extensions: dict = field(default_factory=dict)

    def tbs(self):
        extensions = (
            sequence(oid(identifier), boolean(True) if critical else b"", tlv(4, value))
            for identifier, (critical, value) in self.extensions.items())
        return sequence(
            tlv(0xA0, integer(self.version)), integer(self.serial), self.signer.algorithm, name(self.issuer),
            sequence(tlv(23, self.start.encode()), tlv(23, self.end.encode())), name(self.subject), self.key.spki,
            tlv(0xA3, sequence(*extensions)) if self.extensions else b"")

    def signed(self, tbs=None):
        tbs = tbs or self.tbs()
        return sequence(tbs, self.signer.algorithm, bit_string(self.signer.sign(tbs)))


@dataclass
class Chain:
    """Root first, then one issuer below the other, the leaf apart; `strangers` were presented besides."""

    authorities: list
    leaf: Certificate
    host: tuple
    strangers: list = field(default_factory=list)
    anchors: int = 1

    def copied(self):
        """A copy whose certificates can be changed; keys are shared."""
        return Chain(
            [copied(each) for each in self.authorities], copied(self.leaf), self.host,
            [copied(each) for each in self.strangers], self.anchors)


def copied(certificate):
    other = copy.copy(certificate)
    other.extensions = dict(certificate.extensions)
    return other


def authority(subject, issuer, signer, key, random, path_length=None):
    extensions = {
        BASIC: (True, basic(True, path_length)),
        USAGE: (True, usage(5, 6)),
        SKI: (False, tlv(4, key.identifier)),
    }
    if signer is not key:
        extensions[AKI] = (False, sequence(tlv(0x80, signer.identifier)))
    return Certificate(subject, issuer, key, signer, random.getrandbits(120) + 1, extensions=extensions)


def leaf(issuer, signer, key, names, random):
    common_name = names[0][1] if names[0][0] == "dns" and random.random() < 0.5 else ""
    extensions = {
        BASIC: (True, basic(False)),
        USAGE: (True, usage(0)),
        EXTENDED: (False, sequence(oid(SERVER))),
        AKI: (False, sequence(tlv(0x80, signer.identifier))),
        SKI: (False, tlv(4, key.identifier)),
        SAN: (not common_name, general_names(names)),
    }
    if random.random() < 0.3:
        extensions[POLICIES] = (False, sequence(sequence(oid("2.23.140.1.2.1"))))
    return Certificate(
        common_name, issuer, key, signer, random.getrandbits(120) + 1, "260501000000Z", "260720000000Z",
        extensions=extensions)


NAMES = [
    ([("dns", "www.example.com")], ("DNS", "www.example.com")),
    ([("dns", "example.com"), ("dns", "*.example.com")], ("DNS", "api.example.com")),
    ([("ip", b"\xc0\x00\x02\x01"), ("dns", "host.example.com")], ("IP", "192.0.2.1")),
    ([("dns", "a.b.example.com")], ("DNS", "a.b.example.com")),
]


def mint(keys, random):
    """A valid chain: zero to three intermediates."""
    names, host = random.choice(NAMES)
    depth = random.choice([0, 1, 1, 1, 2, 2, 3])
    chosen = random.sample(keys, depth + 2)
    number = random.getrandbits(24)
    path = [authority(f"Root {number}", f"Root {number}", chosen[0], chosen[0], random)]
    for level in range(1, depth + 1):
        above = path[-1]
        length = random.choice([None, depth - level])
        below = authority(f"Issuer {level} {number}", above.subject, above.key, chosen[level], random, length)
        if random.random() < 0.5:
            below.extensions[EXTENDED] = (False, sequence(oid(SERVER), *([oid(CLIENT)] * random.randrange(2))))
        if random.random() < 0.3:
            permitted = [("dns", "example.com"), ("ip", b"\xc0\x00\x02\x00\xff\xff\xff\x00")]
            below.extensions[CONSTRAINTS] = (True, constraints(permitted, [("dns", "example.org")]))
        path.append(below)
    return Chain(path, leaf(path[-1].subject, path[-1].key, chosen[-1], names, random), host)
