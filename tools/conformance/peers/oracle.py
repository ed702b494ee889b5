"""Judges mutated chains with this project and four other libraries, and explains every difference.

usage: oracle.py SEED COUNT FOLDER LIMBO-HARNESS GO-HARNESS [LIMBO.json]

A difference is a case in which the verdict of a profile and a library's verdict are not the same. Prints the
differences that `explanations.py` has a row for, counted by row, and lists the others, whose cases FOLDER gets as
unexplained.limbo. Exits with 1 if there is one, if this project's harness crashes, if a chain is refused that isn't
mutated yet, or if a harness leaves a case out.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys

from evidence import Difference
from explanations import explanation
from mutate import Mutations

PIECE = 500
HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = ("default", "strict")
mutations = None


def harnesses(ours, go):
    script = lambda name, *arguments: [sys.executable, os.path.join(HERE, name), *arguments]
    return {
        "default": [ours, "--profile", "default"], "strict": [ours, "--profile", "strict"], "Go": [go],
        "pyca": script("harness.py"), "GnuTLS": script("harness_gnutls.py"),
        "OpenSSL": script("harness_openssl.py"), "OpenSSL strict": script("harness_openssl.py", "strict"),
    }


def peers(profile):
    """OpenSSL has two profiles too. Each is compared with the one of its name."""
    return ["Go", "pyca", "GnuTLS", "OpenSSL strict" if profile == "strict" else "OpenSSL"]


class Outcome:
    """What a piece, or the whole run, has shown."""

    def __init__(self):
        self.verdicts = collections.Counter()
        self.explained = collections.Counter()
        self.unexplained = []
        self.faults = []

    def add(self, other):
        self.verdicts += other.verdicts
        self.explained += other.explained
        self.unexplained += other.unexplained
        self.faults += other.faults


def answers(commands, cases):
    """The answers of each harness by case, and what went wrong with the harnesses. They run one after the other."""
    document, found, faults = json.dumps({"version": 1, "testcases": cases}).encode(), {}, []
    for name, command in commands.items():
        run = subprocess.run(command, input=document, stdout=subprocess.PIPE, check=False)
        if run.returncode:
            faults.append(f"{name} exited with {run.returncode} for the piece with {cases[0]['id']}")
        results = json.loads(run.stdout)["results"] if run.returncode == 0 else []
        found[name] = {each["id"]: each for each in results}
    return found, faults


def judge(kind, numbers, ours, go):
    outcome = Outcome()
    cases = mutations.piece(kind, numbers)
    found, outcome.faults = answers(harnesses(ours, go), cases)
    for case in cases:
        mine = {name: found[name].get(case["id"]) for name in found}
        if any(each is None or each["actual_result"] == "SKIPPED" for each in mine.values()):
            outcome.faults.append(f"not answered by everyone: {case['id']}")
            continue
        accepts = {name: each["actual_result"] == "SUCCESS" for name, each in mine.items()}
        outcome.verdicts[kind, tuple(accepts.values())] += 1
        if kind == "base" and not all(accepts.values()):
            outcome.faults.append(f"a chain is refused before it is mutated: {case['id']}")
        if accepts["strict"] and not accepts["default"]:
            outcome.faults.append(f"strict accepts what default refuses: {case['id']}")
        for profile in PROFILES:
            for peer in peers(profile):
                if accepts[profile] != accepts[peer]:
                    difference = Difference(case, profile, peer, mine)
                    reason = explanation(difference)
                    if reason:
                        outcome.explained[reason] += 1
                    else:
                        outcome.unexplained.append((str(difference), case))
    return outcome


def prepare(seed, limbo):
    global mutations
    mutations = Mutations(seed, limbo)


def show(total, seconds_of=None):
    names = list(harnesses("", ""))
    kinds = ("base", "certificate", "chain")
    print("".join(f"{title:>15}" for title in [*names, *(f"{kind}s" for kind in kinds)]))
    for accepted in sorted({accepted for _, accepted in total.verdicts}, reverse=True):
        cells = ["accepts" if each else "-" for each in accepted] + [total.verdicts[kind, accepted] for kind in kinds]
        print("".join(f"{cell:>15}" for cell in cells))
    print(f"differences: {sum(total.explained.values()) + len(total.unexplained)}")
    for (direction, peer, reason), number in sorted(total.explained.items()):
        print(f"{number:>8}  {direction} {peer}: {reason}")
    print(f"unexplained differences: {len(total.unexplained)}")


def main():
    seed, count, folder, ours, go, *limbo = sys.argv[1:]
    pieces = [("base", range(40))] + [
        (kind, range(start, min(start + PIECE, int(count))))
        for start in range(0, int(count), PIECE) for kind in ("certificate", "chain")]
    total = Outcome()
    with concurrent.futures.ProcessPoolExecutor(
            initializer=prepare, initargs=(seed, limbo[0] if limbo else None)) as pool:
        for future in concurrent.futures.as_completed([pool.submit(judge, *each, ours, go) for each in pieces]):
            total.add(future.result())
    show(total)
    for text, _ in total.unexplained:
        print(text)
    for fault in total.faults:
        print(fault)
    if total.unexplained:
        path = os.path.join(folder, "unexplained.limbo")
        with open(path, "w") as file:
            cases = {case["id"]: case for _, case in total.unexplained}
            json.dump({"version": 1, "testcases": list(cases.values())}, file)
        print(f"their cases are in {path}")
    sys.exit(1 if total.unexplained or total.faults else 0)


if __name__ == "__main__":
    main()
