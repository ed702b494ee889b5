"""Writes limbo documents of mutated certificates and chains: the same from the same seed.

usage: mutate.py SEED COUNT FOLDER [LIMBO.json]

Half of what is mutated is signed again, so that a verifier gets beyond the signature. The certificates of LIMBO.json,
whose keys nobody has, are mutated as they are.
"""

import base64
import json
import os
import random as randomness
import sys

import chains
from chains import AKI, ANY, BASIC, CLIENT, CODE, CONSTRAINTS, EXTENDED, POLICIES, SAN, SERVER, SKI, USAGE
from der import boolean, integer, length, oid, parse, sequence, tlv

PIECE = 2000


def pem(octets):
    text = base64.b64encode(octets).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


def unpem(text):
    return base64.b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))


def case(identifier, anchors, intermediates, leaf, host, time=chains.NOW):
    return {
        "id": identifier, "conflicts_with": [], "features": [], "importance": "undetermined", "description": "",
        "validation_kind": "SERVER", "trusted_certs": anchors, "untrusted_intermediates": intermediates,
        "peer_certificate": leaf, "peer_certificate_key": None, "validation_time": time, "signature_algorithms": [],
        "key_usage": [], "extended_key_usage": [], "expected_result": "SUCCESS",
        "expected_peer_name": {"kind": host[0], "value": host[1]}, "expected_peer_names": [],
        "max_chain_depth": None, "crls": [],
    }


def written(identifier, chain, replaced=None):
    """A chain as a case; `replaced` maps places to other DER, 0 for the root and -1 for the leaf."""
    replaced = replaced or {}
    path = [replaced.get(at) or each.signed() for at, each in enumerate(chain.authorities)]
    leaf = replaced.get(-1) or chain.leaf.signed()
    presented = list(reversed(path[chain.anchors :])) + [each.signed() for each in chain.strangers]
    return case(
        identifier, [pem(each) for each in path[: chain.anchors]], [pem(each) for each in presented], pem(leaf),
        chain.host)


# Mutations of octets, not signed again.


def mutate_octets(octets, random):
    octets = bytearray(octets)
    match random.randrange(5):
        case 0:
            for _ in range(random.randint(1, 3)):
                octets[random.randrange(len(octets))] ^= 1 << random.randrange(8)
        case 1:
            octets[random.randrange(len(octets))] = random.choice([0, 1, 0x7F, 0x80, 0x81, 0xFF, random.randrange(256)])
        case 2:
            del octets[random.randrange(len(octets)) :]
        case 3:
            at = random.randrange(len(octets))
            octets[at:at] = random.randbytes(random.randint(1, 8))
        case 4:
            at = random.randrange(len(octets))
            del octets[at : at + random.randint(1, 8)]
    return bytes(octets)


# Mutations of a tree of DER, signed again where the key is at hand.


def mutate_tree(octets, random):
    (root,) = parse(octets)
    for _ in range(random.choice([1, 1, 1, 2])):
        random.choice([change_content, change_content, change_tag, change_length, change_children, change_extensions])(
            root, random)
    return root.encoded()


def change_content(root, random):
    node = random.choice([each for each in root.nodes() if each.children is None])
    content = bytearray(node.content)
    match random.randrange(5):
        case 0 if content:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        case 1 if content:
            content[random.randrange(len(content))] = random.choice([0, 0x20, 0x2A, 0x2E, 0x7F, 0xFF])
        case 2:
            del content[random.randrange(len(content) + 1) :]
        case 3:
            content[:0] = random.choice([b"\0", b"\xff", b".", b"*."])
        case _:
            content += random.choice([b"\0", b".", b"\0.example.org", random.randbytes(3)])
    node.content = bytes(content)


def change_tag(root, random):
    node = random.choice(list(root.nodes()))
    node.tag = random.choice([node.tag ^ 1 << random.randrange(8), 1, 2, 4, 5, 12, 19, 22, 23, 24, 30, 0x30, 0x31])


def change_length(root, random):
    node = random.choice(list(root.nodes()))
    tag, kind, off = bytes([node.tag]), random.randrange(4), random.choice([-2, -1, 1, 2, 100])
    node.head = lambda count: tag + [
        b"\x81" + bytes([count & 0xFF]), b"\x83" + count.to_bytes(3, "big"), length(max(count + off, 0)), b"\x80",
    ][kind]


def change_children(root, random):
    node = random.choice([each for each in root.nodes() if each.children])
    at, to = random.randrange(len(node.children)), random.randrange(len(node.children))
    match random.randrange(4):
        case 0:
            del node.children[at]
        case 1:
            node.children.insert(to, node.children[at])
        case 2:
            node.children[at], node.children[to] = node.children[to], node.children[at]
        case 3:
            other = random.choice(list(root.nodes()))
            # No element may come to stand in itself.
            if all(each is not node for each in other.nodes()):
                node.children[at] = other


def change_extensions(root, random):
    lists = [each for each in root.children if each.tag == 0xA3 and each.children]
    if not lists or not lists[0].children[0].children:
        return change_children(root, random)
    extensions = lists[0].children[0].children
    at = random.randrange(len(extensions))
    match random.randrange(6):
        case 0:
            del extensions[at]
        case 1:
            extensions.append(extensions[at])
        case 2:
            random.shuffle(extensions)
        case 3:
            fields = [each for each in extensions[at].children or [] if each.tag != 1]
            is_critical = len(fields) == len(extensions[at].children or [])
            extensions[at].children = fields[:1] + (parse(boolean(True)) if is_critical else []) + fields[1:]
        case 4:
            critical = boolean(random.choice([True, True, False]))
            identifier = random.choice(["1.3.6.1.4.1.99999.1", "2.5.29.36", "2.5.29.54", "2.5.29.31", "2.5.29.33"])
            extensions += parse(sequence(oid(identifier), critical, tlv(4, sequence())))
        case 5:
            extensions[at].children[-1:] = parse(tlv(4, random.choice([b"", sequence(), tlv(5), integer(-1)])))


# Mutations of what a chain says; every certificate is signed again.


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
    ("dns", "www.example.com"), ("dns", "*.example.com"), ("dns", "com"), ("dns", "xample.com"), ("dns", "api.example.com"),
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
            certificate.extensions["2.5.29.36"] = (random.random() < 0.7, sequence(tlv(0x80 | random.randrange(2), bytes([skip]))))
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


CHAIN_MUTATIONS = [
    drop_intermediate, add_strangers, sign_with_other_key, rename_issuer, rename_authority, replace_key, cross_sign,
    insert_self_issued, change_basic, change_basic, change_usage, change_extended, change_extended, change_names,
    change_names, change_host, change_constraints, change_constraints, change_validity, change_anchors,
    authority_as_leaf, leaf_as_authority, change_identifiers, change_policies, change_policies, add_extension,
    change_serial, change_version,
]


def mutated_chain(number, bases, random):
    chain, other = (each.copied() for each in random.sample(bases, 2))
    mutations = random.choices(CHAIN_MUTATIONS, k=random.choice([0] + [1] * 10 + [2] * 6 + [3] * 3))
    for mutation in mutations:
        mutation(chain, other, random)
    return written(f"chain::{number}::" + "+".join(each.__name__ for each in mutations), chain)


def mutated_certificate(number, bases, limbo, random):
    if limbo and random.random() < 0.3:
        base = dict(random.choice(limbo))
        lists = [("peer_certificate", None)] + [
            (key, at) for key in ("trusted_certs", "untrusted_intermediates") for at in range(len(base[key]))]
        key, at = random.choice(lists)
        text = base[key] if at is None else base[key][at]
        mutated = pem(random.choice([mutate_octets, mutate_tree])(unpem(text), random))
        base[key] = mutated if at is None else [*base[key][:at], mutated, *base[key][at + 1 :]]
        base["id"] = f"certificate::{number}::{base['id']}"
        return base
    chain = random.choice(bases)
    place = random.choice([-1, -1, *range(len(chain.authorities))])
    certificate = chain.leaf if place == -1 else chain.authorities[place]
    if random.random() < 0.25:
        how, octets = "octets", mutate_octets(certificate.signed(), random)
    else:
        how, octets = "signed", certificate.signed(mutate_tree(certificate.tbs(), random))
    return written(f"certificate::{number}::{how}", chain, {place: octets})


def main():
    seed, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    random = randomness.Random(seed)
    keys = [chains.Key(kind, random) for kind in ["P-256"] * 8 + ["P-384"] * 2 + ["RSA"] * 2]
    bases = [chains.mint(keys, random) for _ in range(40)]
    limbo = []
    if len(sys.argv) > 4:
        with open(sys.argv[4]) as file:
            limbo = [
                each for each in json.load(file)["testcases"]
                if each["expected_result"] == "SUCCESS" and each["validation_kind"] == "SERVER" and not each["crls"]
                and each["max_chain_depth"] is None and each["expected_peer_name"]]
        for each in limbo:
            each["validation_time"] = each["validation_time"] or "2026-11-01T00:00:00+00:00"
    kinds = {
        "base": [written(f"base::{number}", base) for number, base in enumerate(bases)],
        "certificate": [mutated_certificate(number, bases, limbo, random) for number in range(count)],
        "chain": [mutated_chain(number, bases, random) for number in range(count)],
    }
    for kind, cases in kinds.items():
        for start in range(0, len(cases), PIECE):
            with open(os.path.join(folder, f"{kind}-{start:06}.json"), "w") as file:
                json.dump({"version": 1, "testcases": cases[start : start + PIECE]}, file)


main()
