"""Mutations of what a chain says; every certificate is signed again afterwards. `other` is a chain to take from."""

import chains
from chains import AKI, ANY, BASIC, CLIENT, CODE, CONSTRAINTS, EXTENDED, POLICIES, SAN, SERVER, SKI, USAGE
from der import integer, oid, sequence, tlv

WEIRD_NAMES = [
    ("dns", "www.example.com"), ("dns", "*.example.com"), ("dns", "*"), ("dns", "*.com"), ("dns", "w*.example.com"),
    ("dns", "www.*.com"), ("dns", "*.*.example.com"), ("dns", "www.example.com."), ("dns", "WWW.EXAMPLE.COM"),
    ("dns", ".example.com"), ("dns", ""), ("dns", "www_1.example.com"), ("dns", "www.example.com\0.example.org"),
    ("dns", "xn--wgv71a.example.com"), ("dns", " www.example.com"), ("dns", "192.0.2.1"), ("dns", b"www.\xe9.com"),
    ("dns", "not.example.com"), ("dns", "a.not.example.com"), ("ip", b"\xc0\x00\x02\x01"), ("ip", b"\xc0\x00\x02"),
    ("ip", b"\xc0\x00\x02\x01\xff\xff\xff\xff"), ("ip", bytes(15) + b"\1"), ("mail", "user@example.com"),
    ("mail", "example.com"), ("uri", "https://www.example.com/"), ("uri", "//"), ("directory", "www.example.com"),
]
SUBTREES = [
    ("dns", "example.com"), ("dns", ".example.com"), ("dns", "example.org"), ("dns", ""), ("dns", "EXAMPLE.com"),
    ("dns", "www.example.com"), ("dns", "*.example.com"), ("dns", "com"), ("dns", "xample.com"),
    ("dns", "api.example.com"),
    ("ip", bytes(8)), ("ip", b"\xc0\x00\x02\x00\xff\xff\xff\x00"), ("ip", b"\xc0\x00\x02\x00\xff\x00\xff\x00"),
    ("ip", b"\xc0\x00\x02\x01"), ("ip", bytes(32)), ("mail", "example.com"), ("uri", "example.com"),
    ("directory", "Root"), ("directory", ""),
]
HOSTS = [
    ("DNS", "www.example.com"), ("DNS", "api.example.com"), ("DNS", "www.example.com."), ("DNS", "example.com"),
    ("DNS", "a.b.example.com"), ("DNS", "example.org"), ("IP", "192.0.2.1"), ("IP", "192.0.2.2"), ("IP", "::1"),
    ("DNS", "not.example.com"),
]


def some(choices, random):
    return random.sample(choices, random.choice([1, 1, 2, 3]))


def any_certificate(chain, random):
    return random.choice([*chain.authorities, chain.leaf, chain.leaf])


def below(chain, certificate):
    """What the certificate issued."""
    return [each for each in [*chain.authorities, chain.leaf] if each.signer is certificate.key]


def give_key(chain, old, new):
    """Puts a key in the place of another one everywhere in the chain."""
    for each in [*chain.authorities, chain.leaf, *chain.strangers]:
        if each.key is old:
            each.key = new
        if each.signer is old:
            each.signer = new
        for kind, wrap in ((SKI, lambda octets: tlv(4, octets)), (AKI, lambda octets: sequence(tlv(0x80, octets)))):
            critical, value = each.extensions.get(kind, (False, None))
            if value == wrap(old.identifier):
                each.extensions[kind] = (critical, wrap(new.identifier))


def drop_intermediate(chain, other, random):
    if chain.authorities[1:]:
        del chain.authorities[random.randrange(1, len(chain.authorities))]


def add_strangers(chain, other, random):
    chain.strangers += random.sample(
        [*other.authorities, other.leaf, *chain.authorities, chain.leaf], random.choice([1, 2]))
    random.shuffle(chain.strangers)


def sign_with_other_key(chain, other, random):
    any_certificate(chain, random).signer = random.choice([other.leaf.key, chain.leaf.key, other.authorities[0].key])


def rename_issuer(chain, other, random):
    certificate = any_certificate(chain, random)
    certificate.issuer = random.choice([certificate.subject, other.leaf.issuer, certificate.issuer.upper(), ""])


def rename_authority(chain, other, random):
    authority = random.choice(chain.authorities)
    name = random.choice(["", other.authorities[-1].subject, chain.authorities[0].subject, authority.subject + " "])
    for each in below(chain, authority) if random.random() < 0.7 else []:
        each.issuer = name
    authority.subject = name


def replace_key(chain, other, random):
    authority = random.choice(chain.authorities)
    authority.key = other.leaf.key


def cross_sign(chain, other, random):
    """Another root's certificate for one of the authorities; sometimes in the place of its own."""
    at = random.randrange(len(chain.authorities))
    cross = chains.copied(chain.authorities[at])
    cross.issuer, cross.signer = other.authorities[0].subject, other.authorities[0].key
    cross.extensions[AKI] = (False, sequence(tlv(0x80, cross.signer.identifier)))
    if random.random() < 0.5:
        chain.authorities[at:at] = [other.authorities[0], cross] if at == 0 else []
    chain.strangers.append(cross)


def insert_self_issued(chain, other, random):
    """Without path lengths, in which Go counts the new one too and then tells of any other path it tried."""
    for each in chain.authorities[1:]:
        each.extensions[BASIC] = (True, chains.basic(True))
    at = random.randrange(len(chain.authorities))
    above = chain.authorities[at]
    new = chains.copied(above)
    new.key, new.issuer, new.signer = other.leaf.key, above.subject, above.key
    for each in below(chain, above):
        if each is not above:
            each.signer = new.key
            each.extensions[AKI] = (False, sequence(tlv(0x80, new.key.identifier)))
    new.extensions[SKI] = (False, tlv(4, new.key.identifier))
    new.extensions[AKI] = (False, sequence(tlv(0x80, above.key.identifier)))
    chain.authorities.insert(at + 1, new)


def change_basic(chain, other, random):
    certificate = any_certificate(chain, random)
    if random.random() < 0.2:
        certificate.extensions.pop(BASIC, None)
    else:
        flag = random.random() < 0.6
        certificate.extensions[BASIC] = (
            random.random() < 0.7, chains.basic(flag, random.choice([None, None, 0, 0, 1, 2, -1])))


def change_usage(chain, other, random):
    certificate = any_certificate(chain, random)
    if random.random() < 0.2:
        certificate.extensions.pop(USAGE, None)
    else:
        bits = random.sample(range(8), random.randrange(4))
        certificate.extensions[USAGE] = (random.random() < 0.7, chains.usage(*bits))


def change_extended(chain, other, random):
    certificate = any_certificate(chain, random)
    if random.random() < 0.2:
        certificate.extensions.pop(EXTENDED, None)
    else:
        purposes = some([SERVER, CLIENT, ANY, CODE, "2.16.840.1.113730.4.1", "1.3.6.1.4.1.311.10.3.3"], random)
        certificate.extensions[EXTENDED] = (random.random() < 0.3, sequence(*map(oid, purposes)))


def change_names(chain, other, random):
    names = some(WEIRD_NAMES, random)
    chain.leaf.extensions[SAN] = (random.random() < 0.5, chains.general_names(names))
    if random.random() < 0.3:
        chain.leaf.extensions.pop(SAN)
    chain.leaf.subject = random.choice(["", chain.leaf.subject, "www.example.com", "WWW.example.com"])


def change_host(chain, other, random):
    chain.host = random.choice(HOSTS)


def change_constraints(chain, other, random):
    certificate = random.choice([*chain.authorities, *chain.authorities, chain.leaf])
    permitted, excluded = (some(SUBTREES, random) if random.random() < 0.6 else [] for _ in range(2))
    certificate.extensions[CONSTRAINTS] = (random.random() < 0.8, chains.constraints(permitted, excluded))


def change_validity(chain, other, random):
    certificate = any_certificate(chain, random)
    times = ["260601120000Z", "260601120001Z", "260601115959Z", "250101000000Z", "700101000000Z", "491231235959Z"]
    if random.random() < 0.5:
        certificate.start = random.choice(times)
    else:
        certificate.end = random.choice(times)


def change_anchors(chain, other, random):
    match random.randrange(3):
        case 0:
            chain.anchors = random.randint(0, len(chain.authorities))
        case 1:
            chain.authorities[0] = chains.copied(chain.authorities[0])
            chain.authorities[0].key = chain.authorities[0].signer = other.authorities[0].key
        case 2:
            chain.authorities[:1] = other.authorities[:1]


def authority_as_leaf(chain, other, random):
    chain.leaf.extensions[BASIC] = (True, chains.basic(True))
    chain.leaf.extensions[USAGE] = (True, chains.usage(*random.choice([(0,), (5,), (0, 5), (5, 6)])))


def leaf_as_authority(chain, other, random):
    new = other.leaf
    new.issuer, new.signer = chain.leaf.subject or "Leaf", chain.leaf.key
    chain.leaf.subject = new.issuer
    new.extensions[AKI] = (False, sequence(tlv(0x80, new.signer.identifier)))
    chain.authorities.append(chain.leaf)
    chain.leaf, chain.host = new, other.host


def change_identifiers(chain, other, random):
    certificate = any_certificate(chain, random)
    which = random.choice([SKI, AKI])
    wrap = (lambda octets: tlv(4, octets)) if which == SKI else (lambda octets: sequence(tlv(0x80, octets)))
    match random.randrange(3):
        case 0:
            certificate.extensions.pop(which, None)
        case 1:
            certificate.extensions[which] = (random.random() < 0.3, wrap(random.randbytes(20)))
        case 2:
            certificate.extensions[which] = (True, wrap(b""))


def change_policies(chain, other, random):
    certificate = any_certificate(chain, random)
    policies = some(["2.23.140.1.2.1", "2.5.29.32.0", "1.2.3.4", "1.2.3.5"], random)
    match random.randrange(4):
        case 0:
            certificate.extensions[POLICIES] = (random.random() < 0.5, sequence(*(sequence(oid(p)) for p in policies)))
        case 1:
            skip = random.choice([0, 0, 1, 2])
            which = random.choice([0x80, 0x81])
            certificate.extensions["2.5.29.36"] = (random.random() < 0.7, sequence(tlv(which, bytes([skip]))))
        case 2:
            certificate.extensions["2.5.29.54"] = (random.random() < 0.7, integer(random.choice([0, 0, 1, 2])))
        case 3:
            pair = sequence(oid(random.choice(policies)), oid(random.choice(["1.2.3.4", "2.5.29.32.0"])))
            certificate.extensions["2.5.29.33"] = (random.random() < 0.5, sequence(pair))


def add_extension(chain, other, random):
    certificate = any_certificate(chain, random)
    certificate.extensions["1.3.6.1.4.1.99999.1"] = (random.random() < 0.7, tlv(5))


def change_serial(chain, other, random):
    any_certificate(chain, random).serial = random.choice([0, -1, -(1 << 63), 1 << 158, 1 << 159, 1 << 200, 1])


def change_version(chain, other, random):
    any_certificate(chain, random).version = random.choice([0, 1, 3, -1])


MUTATIONS = [
    drop_intermediate, add_strangers, sign_with_other_key, rename_issuer, rename_authority, replace_key, cross_sign,
    insert_self_issued, change_basic, change_basic, change_usage, change_extended, change_extended, change_names,
    change_names, change_host, change_constraints, change_constraints, change_validity, change_anchors,
    authority_as_leaf, leaf_as_authority, change_identifiers, change_policies, change_policies, add_extension,
    change_serial, change_version,
]
