"""Cases of x509-limbo with mutated certificates and chains: the same from the same seed.

Most of what is mutated is signed again, so that a verifier gets beyond the signature. The certificates of limbo.json,
whose keys nobody has, are mutated as they are. Other chains have a weak or unusual key or signature of `signers.py`.
"""

import base64
import json
import random as randomness

import chains
from chain_mutations import MUTATIONS, give_key
from der_mutations import mutate_octets, mutate_tree
from limbo import unpem
from signers import signers

def pem(octets):
    text = base64.b64encode(octets).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


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


def mutated_chain(number, bases, random):
    chain, other = (each.copied() for each in random.sample(bases, 2))
    mutations = random.choices(MUTATIONS, k=random.choice([0] + [1] * 10 + [2] * 6 + [3] * 3))
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


def weak_chain(number, bases, unusual, random):
    """A chain of which one key, or one signature, is unusual. Every signer has its turn."""
    chain, other = (each.copied() for each in random.sample(bases, 2))
    mutations = random.choices(MUTATIONS, k=random.choice([0, 0, 0, 1]))
    for mutation in mutations:
        mutation(chain, other, random)
    signer = unusual[number % len(unusual)]
    place = random.choice([-1, *range(len(chain.authorities))])
    certificate = chain.leaf if place == -1 else chain.authorities[place]
    what = random.choice(["key", "signature"])
    if what == "key":
        give_key(chain, certificate.key, signer)
    else:
        give_key(chain, certificate.signer, signer.usual or signer)
        certificate.signer = signer
    names = "+".join([what, *(each.__name__ for each in mutations)])
    return written(f"weak::{number}::{names}::{signer.name}", chain)


class Mutations:
    """The cases of a seed. A piece depends on the seed and its numbers alone, so that pieces can be made in parallel."""

    def __init__(self, seed, limbo=None):
        self.seed = seed
        random = randomness.Random(seed)
        keys = [chains.Key(kind, random) for kind in ["P-256"] * 8 + ["P-384"] * 2 + ["RSA"] * 2]
        self.bases = [chains.mint(keys, random) for _ in range(40)]
        self.unusual = signers(randomness.Random(f"{seed} signers"))
        self.limbo = []
        if limbo:
            with open(limbo) as file:
                self.limbo = [
                    each for each in json.load(file)["testcases"]
                    if each["expected_result"] == "SUCCESS" and each["validation_kind"] == "SERVER"
                    and not each["crls"] and each["max_chain_depth"] is None and each["expected_peer_name"]]
            for each in self.limbo:
                each["validation_time"] = each["validation_time"] or "2026-11-01T00:00:00+00:00"

    def piece(self, kind, numbers):
        """The cases with these numbers: of `certificate`, `chain` or `weak`, or of `base`, the chains that are mutated."""
        random = randomness.Random(f"{self.seed} {kind} {numbers.start}")
        match kind:
            case "base":
                return [written(f"base::{number}", self.bases[number]) for number in numbers]
            case "certificate":
                return [mutated_certificate(number, self.bases, self.limbo, random) for number in numbers]
            case "chain":
                return [mutated_chain(number, self.bases, random) for number in numbers]
            case "weak":
                return [weak_chain(number, self.bases, self.unusual, random) for number in numbers]
