"""A second implementation of the default profile, written to be read: every path is tried, and every rule is a line.

It serves as evidence. In every chain that this project accepts, this implementation, too, must find a valid path, even
if no other library refuses the chain. It follows RFC 5280, section 6.1, RFC 9525 and the table of
`Profiles.md`. Certificate policies aren't processed: Go and OpenSSL do that, and disagree if this project doesn't.
"""

import collections
import functools
import ipaddress
import re
from time import gmtime, strftime

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa

import chains
from der import oid, sequence, tlv
from limbo import seconds, unpem

STEPS = 5000
PROCESSED = {"2.5.29." + arc for arc in "15 17 19 30 31 32 33 36 37 54".split()}
HASHES = {0x0B: hashes.SHA256, 0x0C: hashes.SHA384, 0x0D: hashes.SHA512}
PSS = oid("1.2.840.113549.1.1.10")
PSS_HASHES = {f"2.16.840.1.101.3.4.2.{last}": digest for last, digest in zip((1, 2, 3), HASHES.values())}
ECDSA = {2: hashes.SHA256, 3: hashes.SHA384, 4: hashes.SHA512}


class Malformed(Exception):
    """Octets that aren't the expected DER."""


Element = collections.namedtuple("Element", "tag contents whole")


def require(condition):
    if not condition:
        raise Malformed("octets that aren't DER of a certificate")


def element(octets, at):
    """The element that starts at this position."""
    start = at
    tag, count, at = octets[at], *(octets[at + 1 : at + 2] or [0x80]), at + 2
    if count >= 0x80:
        width = count & 0x7F
        count, at = int.from_bytes(octets[at : at + width], "big"), at + width
        if not 1 <= width <= 4 or count < 0x80 or count.bit_length() <= 8 * (width - 1):
            raise Malformed("length")
    if at + count > len(octets) or tag & 0x1F == 0x1F:
        raise Malformed("element")
    return Element(tag, octets[at : at + count], octets[start : at + count])


def elements(octets):
    """The elements that fill `octets`."""
    at, found = 0, []
    while at < len(octets):
        found.append(element(octets, at))
        at += len(found[-1].whole)
    return found


def only(octets, tag):
    """The contents of the one element in `octets`."""
    found = elements(octets)
    if len(found) != 1 or found[0][0] != tag:
        raise Malformed("one element")
    return found[0][1]


def tagged(fields, *tags):
    """The elements, given or filling octets, if there are as many as tags and each has its own; None is any tag."""
    fields = elements(fields) if isinstance(fields, bytes) else fields
    require([each.tag if tag else None for each, tag in zip(fields, tags, strict=True)] == list(tags))
    return fields


def dotted(octets):
    """An object identifier. One with padded numbers is named by its octets, since it isn't DER."""
    if not octets or octets[-1] >= 0x80 or re.search(rb"(^|[\0-\x7f])\x80", octets):
        return octets.hex()
    arcs, number = [], 0
    for octet in octets:
        number = number << 7 | octet & 0x7F
        if octet < 0x80:
            arcs, number = [*arcs, number], 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, [first, arcs[0] - 40 * first, *arcs[1:]]))


def time(element):
    tag, contents, _ = element
    text = contents.decode("ascii", "replace")
    if not re.fullmatch(r"\d{12}Z" if tag == 23 else r"\d{14}Z", text) or tag not in (23, 24):
        raise Malformed("time")
    if tag == 23:
        text = ("20" if text < "50" else "19") + text
    return text


def canonical(name):
    """A Name as RFC 5280, section 7.1 compares it: a list of sets of attributes."""
    names = []
    for relative in elements(only(name, 0x30)):
        require(relative.tag == 0x31)
        attributes = []
        for pair in elements(relative.contents):
            require(pair.tag == 0x30)
            (_, kind, _), (tag, value, whole) = tagged(pair.contents, 6, None)
            encoding = {12: "utf-8", 19: "utf-8", 22: "utf-8", 26: "utf-8", 20: "latin-1", 30: "utf-16-be",
                        28: "utf-32-be"}.get(tag)
            if encoding:
                text = value.decode(encoding, "surrogateescape" if encoding == "utf-8" else "replace")
                text = re.sub(r"[A-Z]", lambda letter: letter[0].lower(), text)
                whole = re.sub(r"[\t-\r ]+", " ", text).strip(" ")
            attributes.append((kind, whole))
        names.append(tuple(attributes))
    return tuple(names)


class Certificate:
    def __init__(self, octets):
        self.octets = octets
        tbs, outer, signature = tagged(only(octets, 0x30), 0x30, 0x30, 3)
        self.tbs, self.outer, self.signature = tbs.whole, outer.whole, signature.contents[1:]
        require(signature.contents[:1] == b"\0")
        fields = elements(tbs.contents)
        self.version = 1
        if fields[0].tag == 0xA0:
            octets = only(fields.pop(0).contents, 2)
            require(octets in (b"\0", b"\1", b"\2"))
            self.version = octets[0] + 1
        serial, inner, issuer, dates, subject, spki = tagged(fields[:6], 2, 0x30, 0x30, 0x30, 0x30, 0x30)
        self.serial, self.inner, self.spki = serial.contents, inner.whole, spki.whole
        self.issuer_octets, self.subject_octets = issuer.whole, subject.whole
        self.issuer, self.subject = canonical(issuer.whole), canonical(subject.whole)
        self.start, self.end = map(time, tagged(dates.contents, None, None))
        algorithm, key = tagged(spki.contents, 0x30, 3)
        require(elements(algorithm.contents)[0].tag == 6 and key.contents[:1] == b"\0" and self.start <= self.end)
        self.key_algorithm, *parameters = [each.whole for each in elements(algorithm.contents)]
        self.key_parameters, self.key_octets = b"".join(parameters), key.contents[1:]
        self.has_unique_identifiers = [each.tag for each in fields[6:] if each.tag in (0x81, 0x82)]
        rest = [each.tag for each in fields[6:]]
        require(rest == sorted(set(rest)) and set(rest) <= {0x81, 0x82, 0xA3})
        self.extensions, self.critical = {}, set()
        for extension in elements(only(fields[-1].contents, 0x30)) if 0xA3 in rest else ():
            require(extension.tag == 0x30)
            fields = elements(extension.contents)
            kind, *flag, value = tagged(fields, *((6, 1, 4) if len(fields) == 3 else (6, 4)))
            kind = dotted(kind.contents)
            require(kind not in self.extensions and all(each.contents in (b"\0", b"\xff") for each in flag))
            self.extensions[kind] = value.contents
            self.critical |= {kind} if flag and flag[0].contents == b"\xff" else set()
        self.check_extensions()

    def check_extensions(self):
        """Raises for an extension that isn't what RFC 5280 says it is, if the path could depend on it."""
        self.sequence(chains.AKI)
        if chains.SKI in self.extensions:
            only(self.extensions[chains.SKI], 4)
        self.basic, self.usage, self.purposes, self.names
        for kind, first in ((chains.POLICIES, 6), ("2.5.29.33", 6), ("2.5.29.31", None)):
            entries = self.sequence(kind)
            require(entries is None or entries and all(each.tag == 0x30 for each in entries))
            # Strict alone reads what follows the policy.
            for each in entries or () if first else ():
                require(element(each.contents, 0).tag == first)
                require(kind != "2.5.29.33" or [field.tag for field in elements(each.contents)] == [6, 6])
        require({each.tag for each in self.sequence("2.5.29.36") or ()} <= {0x80, 0x81})
        if "2.5.29.54" in self.extensions:
            only(self.extensions["2.5.29.54"], 2)
        lists = self.sequence(chains.CONSTRAINTS) or []
        require([each.tag for each in lists] in ([], [0xA0], [0xA1], [0xA0, 0xA1]))
        for subtree in (subtree for each in lists for subtree in elements(each.contents)):
            require(subtree.tag == 0x30 and elements(subtree.contents)[0].tag & 0xC0 == 0x80)

    is_self_issued = property(lambda self: self.issuer == self.subject)

    def sequence(self, kind):
        return elements(only(self.extensions[kind], 0x30)) if kind in self.extensions else None

    @functools.cached_property
    def basic(self):
        """Whether the certificate is a CA's, and the path length."""
        fields = self.sequence(chains.BASIC) or []
        require([each.tag for each in fields] in ([], [1], [2], [1, 2]))
        require(all(each.contents in (b"\0", b"\xff") for each in fields if each.tag == 1))
        lengths = [int.from_bytes(contents, "big", signed=True) for tag, contents, _ in fields if tag == 2]
        return any(tag == 1 and contents == b"\xff" for tag, contents, _ in fields), (lengths or [None])[0]

    @functools.cached_property
    def usage(self):
        """The set of bits of keyUsage; None without one."""
        if chains.USAGE not in self.extensions:
            return None
        bits = only(self.extensions[chains.USAGE], 3)
        require(2 <= len(bits) <= 3 and bits[0] < 8 and not bits[-1] & (1 << bits[0]) - 1)
        return {8 * at + bit for at, octet in enumerate(bits[1:]) for bit in range(8) if octet & 0x80 >> bit}

    @functools.cached_property
    def purposes(self):
        found = self.sequence(chains.EXTENDED)
        require(all(each.tag == 6 for each in found or ()))
        return found if found is None else {dotted(contents) for _, contents, _ in found}

    @functools.cached_property
    def names(self):
        """The alternative names: kind and contents."""
        found = self.sequence(chains.SAN) or []
        require(all(each.tag & 0xC0 == 0x80 and each.tag & 0x1F < 9 for each in found))
        return [(tag & 0x1F, contents) for tag, contents, _ in found]

    @property
    def has_constructed_name(self):
        """Whether an alternative name is constructed though its kind is primitive."""
        return any(tag & 0x20 and tag & 0x1F in (1, 2, 6, 7, 8) for tag, _, _ in self.sequence(chains.SAN) or [])

    @functools.cached_property
    def constrained(self):
        emails = [(1, attribute[1].encode()) for relative in self.subject for attribute in relative
                  if dotted(attribute[0]) == "1.2.840.113549.1.9.1" and isinstance(attribute[1], str)]
        return ([(4, self.subject_octets)] if self.subject else []) + emails + self.names

    @functools.cached_property
    def constraints(self):
        """The permitted and the excluded subtrees: kind and contents. None without the extension."""
        lists = self.sequence(chains.CONSTRAINTS)
        if lists is None:
            return None
        subtrees = {0xA0: [], 0xA1: []}
        for tag, contents, _ in lists:
            for _, subtree, _ in elements(contents):
                ((kind, base, _),) = elements(subtree)
                subtrees[tag].append((kind & 0x1F, base))
            if not subtrees[tag]:
                raise Malformed("empty subtrees")
        if not lists:
            raise Malformed("no subtrees")
        return subtrees[0xA0], subtrees[0xA1]

    @functools.cached_property
    def key(self):
        try:
            return serialization.load_der_public_key(self.spki)
        except (ValueError, UnsupportedAlgorithm):
            return None

    def is_strong(self):
        match self.key:
            case rsa.RSAPublicKey() as key:
                exponent = key.public_numbers().e
                return 2048 <= key.key_size <= 8192 and exponent.bit_length() <= 33 and exponent % 2 and exponent > 1
            case ec.EllipticCurvePublicKey() as key:
                # RFC 8422, section 5.1.2: TLS has named curves and uncompressed points only.
                return self.key_parameters[:1] == b"\6" and self.key_octets[:1] == b"\4" and key.curve.name in (
                    "secp224r1", "secp256r1", "secp384r1", "secp521r1", "secp256k1", "brainpoolP256r1",
                    "brainpoolP384r1", "brainpoolP512r1")
            case ed25519.Ed25519PublicKey() | ed448.Ed448PublicKey():
                return True
        return False


@functools.lru_cache(4096)
def certificate(pem):
    """A certificate, or None for one that isn't DER."""
    try:
        return Certificate(unpem(pem))
    except (Malformed, ValueError, IndexError, TypeError):
        return None


def pss_of(parameters):
    """The hash and the length of the salt of RSASSA-PSS-params (RFC 4055, section 3.1), with one hash of the profile
    for both purposes. Raises for others."""
    first, second, *rest = elements(only(parameters, 0x30))
    for kind, digest in PSS_HASHES.items():
        for null in (b"", b"\5\0"):
            algorithm = sequence(oid(kind), null)
            if (first.whole, second.whole) == (
                    tlv(0xA0, algorithm), tlv(0xA1, sequence(oid("1.2.840.113549.1.1.8"), algorithm))):
                fields = {each.tag: int.from_bytes(only(each.contents, 2), "big", signed=True) for each in rest}
                if fields.pop(0xA3, 1) == 1 and (salt := fields.pop(0xA2, 20)) >= 0 and not fields:
                    return digest, salt
    raise Malformed("parameters")


@functools.lru_cache(65536)
def is_signed(below, above):
    """Whether the key of one certificate verifies the signature of the other. Only algorithms of the profile count."""
    ((_, kind, _), *parameters) = elements(only(below.inner, 0x30))
    parameters = b"".join(each.whole for each in parameters)
    key, octets, signature = above.key, below.tbs, below.signature
    is_for_pss = above.key_algorithm == PSS
    try:
        match key:
            case rsa.RSAPublicKey() if kind[:-1] == PSS[2:-1] and kind[-1] in HASHES and not is_for_pss:
                require(parameters in (b"", b"\5\0"))
                key.verify(signature, octets, padding.PKCS1v15(), HASHES[kind[-1]]())
            case rsa.RSAPublicKey() if kind == PSS[2:]:
                digest, salt = pss_of(parameters)
                # A key for PSS alone may have parameters: its hash, and the shortest salt (RFC 4055, section 3.3).
                if is_for_pss and above.key_parameters:
                    allowed, shortest = pss_of(above.key_parameters)
                    require(allowed is digest and salt >= shortest)
                key.verify(signature, octets, padding.PSS(padding.MGF1(digest()), salt), digest())
            case _ if parameters:
                return False
            case ec.EllipticCurvePublicKey() if kind[:-1] == oid("1.2.840.10045.4.3.2")[2:-1] and kind[-1] in ECDSA:
                key.verify(signature, octets, ec.ECDSA(ECDSA[kind[-1]]()))
            case ed25519.Ed25519PublicKey() if kind == b"\x2b\x65\x70":
                key.verify(signature, octets)
            case ed448.Ed448PublicKey() if kind == b"\x2b\x65\x71":
                key.verify(signature, octets)
            case _:
                return False
    except (InvalidSignature, ValueError, Malformed):
        return False
    return True


def matches(case, leaf):
    """RFC 9525, section 6."""
    wanted = case["expected_peer_name"]["value"]
    if case["expected_peer_name"]["kind"] == "IP":
        return (7, ipaddress.ip_address(wanted).packed) in leaf.names
    host = wanted.lower().removesuffix(".").encode()
    if not is_host(host) or re.fullmatch(rb"(.*\.)?(\d+|0x[0-9a-f]*)", host):
        return False
    for kind, name in leaf.names:
        name = name.lower()
        parent = host.partition(b".")[2]
        if kind == 2 and (name == host or b"." in parent and name == b"*." + parent):
            return True
    return False


def is_host(name):
    return len(name) <= 253 and all(re.fullmatch(rb"[a-z0-9_-]{1,63}", label) for label in name.split(b"."))


def is_within(host, domain):
    return host == domain or host.endswith(b"." + domain)


def mask_of(base):
    half = len(base) // 2
    mask = int.from_bytes(base[half:], "big")
    inverse = mask ^ (1 << 8 * half) - 1
    if len(base) not in (8, 32) or inverse & inverse + 1:
        raise Malformed("mask")
    return int.from_bytes(base[:half], "big"), mask, half


def covers(kind, base, name, excludes):
    """Whether a subtree covers a name of its kind (RFC 5280, section 4.2.1.10). Raises for what can't be compared."""
    match kind:
        case 2:
            base, name = base.lower(), name.lower()
            is_wildcard, host = name.startswith(b"*."), name.removeprefix(b"*.")
            domain = base.removeprefix(b".")
            if domain and not is_host(domain) or base == b"." or not is_host(host):
                raise Malformed("DNS name")
            if base.startswith(b"."):
                return is_within(host, domain) and (is_wildcard or host != domain)
            if not domain or is_within(host, domain):
                return True
            return excludes and is_wildcard and domain.partition(b".")[2] == host and b"." in domain
        case 7:
            network, mask, size = mask_of(base)
            if len(name) not in (4, 16) or name[:12] == bytes(10) + b"\xff\xff" and len(name) == 16:
                raise Malformed("address")
            return len(name) == size and not (int.from_bytes(name, "big") ^ network) & mask
        case 1 | 6:
            if kind == 1:
                local, at, host = name.rpartition(b"@")
                if not at or not local or b"@" in local or not re.fullmatch(rb"[!-~]+", local):
                    raise Malformed("mailbox")
            else:
                found = re.match(rb"[^:]+://(?:[^/?#]*@)?([^/?#:]*)", name)
                if not found or re.fullmatch(rb"[\d.]+", found[1]):
                    raise Malformed("URI")
                host = found[1]
            host = host.lower()
            if kind == 1 and b"@" in base:
                other, _, domain = base.rpartition(b"@")
                if not is_host(host) or not other or not is_host(domain.lower()):
                    raise Malformed("host")
                return local == other and host == domain.lower()
            base = base.lower()
            if not is_host(host) or not is_host(base.removeprefix(b".")):
                raise Malformed("host")
            return host != base[1:] and is_within(host, base[1:]) if base.startswith(b".") else host == base
        case 4:
            prefix, name = canonical(base), canonical(name)
            return name[: len(prefix)] == prefix
    raise Malformed("kind of name")


def obeys(constraints, names):
    permitted, excluded = constraints
    # A malformed subtree is a defect whether or not a name of its kind is there.
    examples = {2: b"a.example", 7: bytes(4), 1: b"a@a.example", 6: b"https://a.example", 4: b"\x30\0"}
    for kind, base in permitted + excluded:
        if kind in examples:
            covers(kind, base, examples[kind], True)
    for kind, name in names:
        allowed = [base for other, base in permitted if other == kind]
        if allowed and not any(covers(kind, base, name, False) for base in allowed):
            return False
        if any(covers(kind, base, name, True) for other, base in excluded if other == kind):
            return False
    return True


def is_acceptable(certificate, now, place):
    """Whether the certificate may be the leaf, an intermediate or the anchor of a path."""
    is_authority, _ = certificate.basic
    usage = certificate.usage
    if not certificate.start <= now <= certificate.end:
        return False
    if certificate.purposes is not None and certificate.purposes.isdisjoint({chains.SERVER, chains.ANY}):
        return False
    if certificate.critical - PROCESSED or certificate.inner != certificate.outer and not same_but_null(certificate):
        return False
    if certificate.version < 3 and certificate.extensions or not certificate.is_strong():
        return False
    if place == "leaf":
        return certificate.constraints is None and (usage is None or not usage.isdisjoint({0, 2, 4}))
    is_old = place == "anchor" and certificate.version == 1 and not certificate.extensions
    return (is_authority or is_old) and (usage is None or 5 in usage)


def same_but_null(certificate):
    inner, outer = ([each for each in elements(only(octets, 0x30)) if each[2] != b"\5\0"]
                    for octets in (certificate.inner, certificate.outer))
    return inner == outer


def is_valid(path):
    """RFC 5280, section 6.1.3 (b) and (c) and section 6.1.4 (g) and (l) to (m), without policies."""
    for depth, issuer in enumerate(path):
        below = [each for at, each in enumerate(path[:depth]) if at == 0 or not each.is_self_issued]
        length = issuer.basic[1]
        if depth and length is not None and len([each for each in below if each is not path[0]]) > length:
            return False
        if issuer.constraints and not all(obeys(issuer.constraints, each.constrained) for each in below):
            return False
    return True


def search(path, others, anchors, now, steps):
    """The first valid path that starts with this one, or None."""
    last = path[-1]
    for issuer, place in [(each, "anchor") for each in anchors] + [(each, "intermediate") for each in others]:
        steps[0] += 1
        if steps[0] > STEPS or len(path) == 12 or issuer.subject != last.issuer or any(
                (each.subject, each.spki) == (issuer.subject, issuer.spki) for each in path):
            continue
        try:
            if not is_acceptable(issuer, now, place) or not is_signed(last, issuer):
                continue
            found = path + [issuer]
            if place == "intermediate":
                found = search(found, others, anchors, now, steps)
            elif not is_valid(found):
                found = None
        except (Malformed, ValueError, IndexError):
            continue
        if found:
            return found
    return None


def moment(case):
    """The time of validation, as certificates have it."""
    return strftime("%Y%m%d%H%M%SZ", gmtime(seconds(case)))


def valid_path(case):
    """A valid path, leaf first, or None."""
    leaf = certificate(case["peer_certificate"])
    now = moment(case)
    anchors, others = (list(dict.fromkeys(filter(None, map(certificate, case[key]))))
                       for key in ("trusted_certs", "untrusted_intermediates"))
    try:
        if not leaf or not matches(case, leaf) or not is_acceptable(leaf, now, "leaf"):
            return None
        if any(each.octets == leaf.octets for each in anchors):
            return [leaf]
        return search([leaf], others, anchors, now, [0])
    except (Malformed, ValueError, IndexError):
        return None
