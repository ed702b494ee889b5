"""Holds the harnesses' answers to mutate.py's documents against each other.

usage: compare.py FOLDER     where DOCUMENT.json has DOCUMENT.json.HARNESS beside it

Exits with 1 when the strict profile accepts what both others refuse without a known lack of theirs, when someone
refuses what is not mutated yet, or when a harness left a case out.
"""

import base64
import collections
import glob
import json
import os
import sys

from der import parse

HARNESSES = ["strict", "default", "go", "pyca"]


def certificates(texts):
    """Those of some PEM certificates that are whole DER, as trees."""
    for text in texts:
        octets = base64.b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))
        tree = parse(octets)
        if tree and len(tree) == 1 and tree[0].children and tree[0].children[0].children:
            yield tree[0]


def named(certificate):
    """Issuer and subject: octets, and as RFC 5280, section 7.1 has them compared; nothing when they are not there."""
    fields = [field for field in certificate.children[0].children if field.tag != 0xA0]
    pair = []
    for name in (fields[2], fields[4]) if len(fields) > 4 else ():
        texts = [(node.tag in (12, 19, 22), node.content) for node in name.nodes() if node.children is None]
        pair.append((name.encoded(), [b" ".join(text.lower().split()) if is_text else text for is_text, text in texts]))
    return pair


def critical_extensions(certificate):
    """Identifiers of the critical extensions, as octets."""
    for node in certificate.nodes():
        if node.children and [child.tag for child in node.children] == [6, 1, 4] and node.children[1].content != b"\0":
            yield node.children[0].content


def known_lack(case, go, pyca):
    """What Go or pyca lacks that RFC 5280 has, if that explains the refusal; None when it is one of substance."""
    between = [text for text in case["untrusted_intermediates"] if text not in case["trusted_certs"]]
    trees = list(certificates([case["peer_certificate"], *case["untrusted_intermediates"], *case["trusted_certs"]]))
    pairs = [pair for pair in map(named, trees) if pair]
    for issuer, _ in pairs:
        for _, subject in pairs:
            if issuer[0] != subject[0] and issuer[1] == subject[1]:
                return "names that differ in case, spaces or string type are equal (RFC 5280, 7.1; both compare octets)"
    is_self_issued = any(pair and pair[0][1] == pair[1][1] for pair in map(named, certificates(between)))
    if "too many intermediates for path length" in go and is_self_issued:
        return "self-issued certificates do not count in the path length (RFC 5280, 4.2.1.9; Go counts them)"
    known = {bytes([0x55, 0x1D, arc]) for arc in (14, 15, 17, 18, 19, 30, 31, 32, 33, 35, 36, 37, 54)}
    understood = known.issuperset(identifier for tree in trees for identifier in critical_extensions(tree))
    if "unhandled critical extension" in go and understood:
        return "constraints on directory and other names (Go does not know them and says so)"
    if "invalid basic constraints" in go and "integer overflow" in pyca:
        return "path lengths that no machine word holds (RFC 5280 sets no bound)"
    if "unsupported directoryName constraint" in pyca:
        return "constraints on directory names (pyca does not know them and says so)"
    return None


def main():
    folder = sys.argv[1]
    counts = {kind: collections.Counter() for kind in ("base", "certificate", "chain")}
    alone, lacks, missing = [], collections.Counter(), 0
    for document in sorted(glob.glob(os.path.join(folder, "*.json"))):
        answers = {}
        for harness in HARNESSES:
            with open(f"{document}.{harness}") as file:
                answers[harness] = {each["id"]: each for each in json.load(file)["results"]}
        with open(document) as file:
            cases = json.load(file)["testcases"]
        for case in cases:
            found = [answers[harness].get(case["id"]) for harness in HARNESSES]
            if None in found or any(each["actual_result"] == "SKIPPED" for each in found):
                print(f"not answered by everyone: {case['id']}")
                missing += 1
                continue
            accepted = tuple(each["actual_result"] == "SUCCESS" for each in found)
            counts[case["id"].split("::")[0]][accepted] += 1
            if accepted[0] and not any(accepted[2:]):
                go, pyca = (each["context"] for each in found[2:])
                if lack := known_lack(case, go, pyca):
                    lacks[lack] += 1
                else:
                    alone.append((case, go, pyca))

    print("".join(f"{title:>14}" for title in [*HARNESSES, *(f"{kind}s" for kind in counts)]))
    for accepted in sorted(set().union(*counts.values()), reverse=True):
        cells = ["accepts" if each else "-" for each in accepted] + [counts[kind][accepted] for kind in counts]
        print("".join(f"{cell:>14}" for cell in cells))
    for kind, count in counts.items():
        agreed = [sum(n for key, n in count.items() if key[0] == key[at]) for at in (2, 3)]
        print(f"{kind}s: {count.total()}; strict agrees with Go in {agreed[0]}, with pyca in {agreed[1]}, with one of "
              f"them in {sum(n for key, n in count.items() if key[0] in key[2:])}")
    for lack, number in lacks.most_common():
        print(f"accepted by strict alone, for a known lack: {number}: {lack}")
    print(f"accepted by strict, refused by both: {len(alone)}")
    for case, go, pyca in alone:
        print(f"  {case['id']}\n    go: {go}\n    pyca: {pyca}")
    refused = sum(number for accepted, number in counts["base"].items() if not all(accepted))
    if refused:
        print(f"chains to be mutated that someone refuses as they are: {refused}")
    if alone:
        with open(os.path.join(folder, "alone.limbo"), "w") as file:
            json.dump({"version": 1, "testcases": [case for case, _, _ in alone]}, file)
        print(f"they stand in {folder}/alone.limbo")
    sys.exit(1 if alone or missing or refused else 0)


main()
