"""Weak and unusual keys and signature algorithms, made from a random generator alone.

Libraries refuse to make most of these keys and signatures, so those of RSA and DSA are computed here.
"""

import dataclasses
import hashlib
from typing import Callable

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519

from chains import prime
from der import bit_string, integer, oid, sequence, tlv

NULL = tlv(5)
# The identifiers of hashes, of PKCS #1's signatures with them, and of ECDSA's.
SHA1, SHA256, SHA384, SHA512 = hashes.SHA1, hashes.SHA256, hashes.SHA384, hashes.SHA512
SHA224, SHA3 = hashes.SHA224, hashes.SHA3_256
HASHES = {
    hashes.MD5: ("1.2.840.113549.2.5", "1.2.840.113549.1.1.4", None),
    SHA1: ("1.3.14.3.2.26", "1.2.840.113549.1.1.5", "1.2.840.10045.4.1"),
    SHA224: ("2.16.840.1.101.3.4.2.4", "1.2.840.113549.1.1.14", "1.2.840.10045.4.3.1"),
    SHA256: ("2.16.840.1.101.3.4.2.1", "1.2.840.113549.1.1.11", "1.2.840.10045.4.3.2"),
    SHA384: ("2.16.840.1.101.3.4.2.2", "1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"),
    SHA512: ("2.16.840.1.101.3.4.2.3", "1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"),
    hashes.SHA512_256: ("2.16.840.1.101.3.4.2.6", "1.2.840.113549.1.1.16", None),
    SHA3: ("2.16.840.1.101.3.4.2.8", "2.16.840.1.101.3.4.3.14", "2.16.840.1.101.3.4.3.10"),
}
RSA_KEY, PSS, MGF1, OLD_SHA1 = (
    "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.10", "1.2.840.113549.1.1.8", "1.3.14.3.2.29")
DSA_P = int(
    "cfc6ceba65e9388ad71a5b6dc5e92730b92ebfffdcff40d7724787dbe82397c933894359ca8e4efbf7f53a00c9c55a71b97dfc580dabcc5e"
    "b2b054ae3e72ddaf8cf9fd6d26067ce5a869652cd6e6ac62935cea589849dd4eea9139e72173b6b0b7be0464850f7da22dc1f093774dadcf"
    "6206492d3b6758e4a9f13da8af1e3781acaba14ff5b90841dfcbabddb72cb3fd6740c5eccf59f1d23b9cb86dd71477ab8a051bb1cf0af967"
    "9bf94efda3d56a80d8f43e8a948603895ba4f25d682722975e3ad84b0f5667826103a250ad092b55e86b633e287334afa8a11f024fc6c648"
    "3f3f1e7bc5e8f216984b6ee5ce16255693a7950fc988b975d473d02eafd6ac93", 16)
DSA_Q = int("b8fdcbdc83c95585054f145ff0275d37cad0deca321c86c0c4a565b262908479", 16)
# P-256 by its parameters (SEC 2, section 2.4.2), which begin with their version and the field.
P256_PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
P256_B = bytes.fromhex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b")
P256_GENERATOR = bytes.fromhex(
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclasses.dataclass(frozen=True, eq=False)
class Signer:
    """A key and an algorithm that it signs with: a `chains.Key`. `usual` is the same key with an algorithm that nobody
    objects to, if the algorithm is what is unusual here."""

    name: str
    spki: bytes
    algorithm: bytes
    sign: Callable
    usual: "Signer" = None

    @property
    def identifier(self):
        return hashlib.sha1(self.spki).digest()

    def signing(self, name, algorithm, sign):
        return Signer(f"{self.name} with {name}", self.spki, algorithm, sign, self)


def hashed(kind, octets):
    return hashlib.new(kind.name.replace("-", "_"), octets).digest()


class RSA:
    """A key whose modulus has primes of 256 bits, since many small ones are found sooner than two large ones. A
    verifier can't tell."""

    def __init__(self, random, bits=2048, exponent=65537):
        self.bits, self.exponent = bits, exponent
        # An even exponent has no inverse: its key verifies nothing.
        signing = exponent if exponent % 2 else 1
        primes, product = [], 1
        while (rest := bits - product.bit_length()) >= 384:
            primes.append(prime(random, 256, signing))
            product *= primes[-1]
        while (product * (last := prime(random, rest + random.randrange(2), signing))).bit_length() != bits:
            pass
        self.modulus = n = product * last
        # For each prime, the exponent, and the factor by which the remainders are put together.
        self.parts = [(p, pow(signing, -1, p - 1), n // p * pow(n // p, -1, p)) for p in [*primes, last]]

    def spki(self, algorithm=sequence(oid(RSA_KEY), NULL)):
        return sequence(algorithm, bit_string(sequence(integer(self.modulus), integer(self.exponent))))

    def raised(self, number):
        power = sum(pow(number, d, p) * factor for p, d, factor in self.parts) % self.modulus
        return power.to_bytes((self.bits + 7) // 8, "big")

    def pkcs1(self, kind):
        """The function that signs by RFC 8017, section 8.2.1."""
        def sign(octets):
            info = sequence(sequence(oid(HASHES[kind][0]), NULL), tlv(4, hashed(kind, octets)))
            padding = b"\xff" * ((self.bits + 7) // 8 - 3 - len(info))
            return self.raised(int.from_bytes(b"\1" + padding + b"\0" + info, "big"))
        return sign

    def pss(self, kind, mask, salt):
        """The function that signs by RFC 8017, section 8.1.1, with a salt of so many octets."""
        def sign(octets):
            salted = hashlib.shake_256(octets).digest(salt)
            digest = hashed(kind, bytes(8) + hashed(kind, octets) + salted)
            size = (self.bits + 6) // 8 - len(digest) - 1
            stream = b"".join(hashed(mask, digest + at.to_bytes(4, "big")) for at in range(size // 16))[:size]
            masked = int.from_bytes(b"\1" + salted, "big") ^ int.from_bytes(stream, "big")
            masked %= 1 << self.bits - 1 - 8 * (len(digest) + 1)
            return self.raised(int.from_bytes(masked.to_bytes(size, "big") + digest + b"\xbc", "big"))
        return sign


def pss_parameters(kind, mask, salt, null=NULL, rest=b""):
    """RSASSA-PSS-params (RFC 4055, section 3.1). `salt` None leaves its default of 20 out."""
    return sequence(
        tlv(0xA0, sequence(oid(HASHES[kind][0]), null)),
        tlv(0xA1, sequence(oid(MGF1), sequence(oid(HASHES[mask][0]), null))),
        b"" if salt is None else tlv(0xA2, integer(salt)), rest)


def rsa_signers(random):
    def signer(name, key, algorithm=None):
        return Signer(
            name, key.spki(algorithm) if algorithm else key.spki(), sequence(oid(HASHES[SHA256][1]), NULL),
            key.pkcs1(SHA256))

    for bits in (
        512, 768, 1023, 1024, 1025, 1536, 2040, 2047, 2048, 2049, 2056, 3071, 3072, 4096, 8191, 8192, 8193, 8200, 16384
    ):
        yield signer(f"RSA {bits}", RSA(random, bits))
    for bits, exponents in [
        (2048, (-1, 0, 1, 2, 3, 17, 65536, (1 << 31) - 1, (1 << 32) + 1, (1 << 33) - 1, (1 << 33) + 1, (1 << 64) + 1,
                1 << 2040 | 1)), (4096, ((1 << 33) - 1, (1 << 64) - 1, (1 << 64) + 1)),
    ]:
        for exponent in exponents:
            yield signer(f"RSA {bits} e={exponent if exponent < 1 << 65 else 'huge'}", RSA(random, bits, exponent))
    key = RSA(random)
    usual = signer("RSA", key)
    for kind in HASHES:
        yield usual.signing(kind.name, sequence(oid(HASHES[kind][1]), NULL), key.pkcs1(kind))
    for name, algorithm, kind in [
        ("sha256, no NULL", sequence(oid(HASHES[SHA256][1])), SHA256),
        ("sha256, odd parameters", sequence(oid(HASHES[SHA256][1]), sequence()), SHA256),
        ("sha1 in a digest that sha256 announces", usual.algorithm, SHA1),
        ("sha1 by its old identifier", sequence(oid(OLD_SHA1), NULL), SHA1),
        ("the identifier of a key", sequence(oid(RSA_KEY), NULL), SHA256),
    ]:
        yield usual.signing(name, algorithm, key.pkcs1(kind))
    for kind, mask, salt, parameters in [
        *((kind, kind, kind.digest_size, pss_parameters(kind, kind, kind.digest_size)) for kind in (
            SHA1, SHA224, SHA256, SHA384, SHA512, SHA3)),
        *((SHA256, SHA256, salt, pss_parameters(SHA256, SHA256, salt)) for salt in (0, 1, 20, 222)),
        (SHA256, SHA256, 20, pss_parameters(SHA256, SHA256, None)),
        (SHA256, SHA256, 32, pss_parameters(SHA256, SHA256, 20)),
        (SHA256, SHA256, 32, pss_parameters(SHA256, SHA256, -1)),
        (SHA256, SHA256, 32, pss_parameters(SHA256, SHA256, 32, null=b"")),
        (SHA256, SHA256, 32, pss_parameters(SHA256, SHA256, 32, rest=tlv(0xA3, integer(1)))),
        (SHA256, SHA256, 32, pss_parameters(SHA256, SHA256, 32, rest=tlv(0xA3, integer(2)))),
        (SHA256, SHA1, 32, pss_parameters(SHA256, SHA1, 32)), (SHA256, SHA512, 32, pss_parameters(SHA256, SHA512, 32)),
        (SHA512, SHA256, 64, pss_parameters(SHA512, SHA256, 64)),
        (SHA1, SHA1, 20, sequence()), (SHA256, SHA256, 32, b""), (SHA256, SHA256, 32, NULL),
    ]:
        name = f"PSS {kind.name} {mask.name} {salt} {parameters[2:].hex()}"
        yield usual.signing(name, sequence(oid(PSS), parameters), key.pss(kind, mask, salt))
    # Keys for PSS alone (RFC 4055, section 1.2), without parameters and with those that every signature must have.
    pss = sequence(oid(PSS), pss_parameters(SHA256, SHA256, 32))
    for bits, parameters in ((2048, b""), (2048, pss_parameters(SHA256, SHA256, 32)),
                             (2048, pss_parameters(SHA384, SHA384, 48)), (1024, b"")):
        key = RSA(random, bits)
        yield Signer(f"RSA-PSS {bits} {parameters.hex()}", key.spki(sequence(oid(PSS), parameters)), pss, key.pss(
            SHA256, SHA256, 32))
    key = RSA(random)
    yield signer("RSA-PSS that signs as RSA", key, sequence(oid(PSS)))


def ec_signers(random):
    def signer(curve, kind=SHA256):
        key = ec.derive_private_key(random.getrandbits(curve.key_size - 2) + 1, curve)
        spki = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return Signer(curve.name, spki, algorithm(kind), sign(key, kind)), key

    def algorithm(kind):
        return sequence(oid(HASHES[kind][2]))

    def sign(key, kind):
        return lambda octets: key.sign(octets, ec.ECDSA(kind(), deterministic_signing=True))

    for curve in (ec.SECP192R1, ec.SECP224R1, ec.SECP256R1, ec.SECP384R1, ec.SECP521R1, ec.SECP256K1,
                  ec.BrainpoolP256R1, ec.BrainpoolP384R1, ec.BrainpoolP512R1):
        yield signer(curve())[0]
    for curve, kinds in ((ec.SECP256R1, (SHA1, SHA224, SHA384, SHA512, SHA3)), (ec.SECP384R1, (SHA1, SHA256, SHA512)),
                         (ec.SECP521R1, (SHA1, SHA384, SHA512))):
        usual, key = signer(curve(), SHA384 if curve is ec.SECP384R1 else SHA256)
        for kind in kinds:
            yield usual.signing(kind.name, algorithm(kind), sign(key, kind))
    usual, key = signer(ec.SECP256R1())
    yield usual.signing("NULL", sequence(oid(HASHES[SHA256][2]), NULL), usual.sign)
    yield usual.signing("sha1 that sha256 announces", usual.algorithm, sign(key, SHA1))
    point = usual.spki[-65:]
    identifier = oid("1.2.840.10045.2.1")
    parameters = sequence(
        integer(1), sequence(oid("1.2.840.10045.1.1"), integer(P256_PRIME)),
        sequence(tlv(4, (P256_PRIME - 3).to_bytes(32, "big")), tlv(4, P256_B)), tlv(4, P256_GENERATOR), integer(P256_ORDER),
        integer(1))
    for name, algorithm_of_key, octets in [
        ("by its parameters", sequence(identifier, parameters), point),
        ("without a curve", sequence(identifier), point),
        ("compressed", sequence(identifier, oid("1.2.840.10045.3.1.7")), bytes([2 + point[-1] % 2]) + point[1:33]),
    ]:
        yield dataclasses.replace(
            usual, name=f"P-256 {name}", spki=sequence(algorithm_of_key, bit_string(octets)), usual=None)


def other_signers(random):
    for name, number, key in (("Ed25519", 112, ed25519.Ed25519PrivateKey.from_private_bytes(random.randbytes(32))),
                              ("Ed448", 113, ed448.Ed448PrivateKey.from_private_bytes(random.randbytes(57)))):
        spki = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        usual = Signer(name, spki, sequence(oid(f"1.3.101.{number}")), key.sign)
        yield usual
        yield usual.signing("NULL", sequence(oid(f"1.3.101.{number}"), NULL), key.sign)

    generator, private = pow(2, (DSA_P - 1) // DSA_Q, DSA_P), random.randrange(1, DSA_Q)
    spki = sequence(
        sequence(oid("1.2.840.10040.4.1"), sequence(integer(DSA_P), integer(DSA_Q), integer(generator))),
        bit_string(integer(pow(generator, private, DSA_P))))

    def sign(kind):
        def signature(octets):
            once = 1 + int.from_bytes(hashlib.sha512(octets).digest(), "big") % (DSA_Q - 1)
            r = pow(generator, once, DSA_P) % DSA_Q
            s = pow(once, -1, DSA_Q) * (int.from_bytes(hashed(kind, octets), "big") + private * r) % DSA_Q
            return sequence(integer(r), integer(s))
        return signature

    for kind, identifier in ((SHA1, "1.2.840.10040.4.3"), (SHA256, "2.16.840.1.101.3.4.3.2")):
        yield Signer(f"DSA with {kind.name}", spki, sequence(oid(identifier)), sign(kind))


def signers(random):
    return [*rsa_signers(random), *ec_signers(random), *other_signers(random)]
