"""Judges mutated and weak chains with this project and four other libraries, and explains every difference.

usage: oracle.py SEED COUNT DIRECTORY LIMBO-HARNESS GO-HARNESS [LIMBO.json]

A difference is a case in which the verdict of a profile and a library's verdict are not the same. Prints the
differences that `explanations.py` has a row for, counted by row, and lists the others, whose cases DIRECTORY gets as
unexplained.limbo. The last lines have the sums for each library and for the run. Exits with 1 if there is one, if this
project's harness crashes, if a chain is refused that isn't mutated yet, if one is accepted in which the reference finds
no valid path, whatever the libraries say, or if a harness leaves a case out.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys

import reference
from evidence import Difference
from explanations import explanation
from mutate import Mutations

PIECE = 500
KINDS = ("base", "certificate", "chain", "weak")
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
        # The names and versions that the harnesses give.
        self.harnesses = {}
        self.verdicts = collections.Counter()
        self.explained = collections.Counter()
        # The difference as text, the library and the case.
        self.unexplained = []
        self.faults = []

    def add(self, other):
        self.harnesses |= other.harnesses
        self.verdicts += other.verdicts
        self.explained += other.explained
        self.unexplained += other.unexplained
        self.faults += other.faults


def answers(commands, cases):
    """The answers of each harness by case, the names of the harnesses, and what went wrong with them. They run one after
    the other."""
    document, found, names, faults = json.dumps({"version": 1, "testcases": cases}).encode(), {}, {}, []
    for name, command in commands.items():
        run = subprocess.run(command, input=document, stdout=subprocess.PIPE, check=False)
        if run.returncode:
            faults.append(f"{name} exited with {run.returncode} for the piece with {cases[0]['id']}")
        answer = json.loads(run.stdout) if run.returncode == 0 else {"harness": name, "results": []}
        found[name], names[name] = {each["id"]: each for each in answer["results"]}, answer.get("harness")
    return found, names, faults


def judge(kind, numbers, ours, go):
    outcome = Outcome()
    cases = mutations.piece(kind, numbers)
    found, outcome.harnesses, outcome.faults = answers(harnesses(ours, go), cases)
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
        if accepts["default"] and reference.valid_path(case) is None:
            outcome.faults.append(f"accepted, but the reference finds no valid path: {case['id']}")
        for profile in PROFILES:
            for peer in peers(profile):
                if accepts[profile] != accepts[peer]:
                    difference = Difference(case, profile, peer, mine)
                    reason = explanation(difference)
                    if reason:
                        outcome.explained[reason] += 1
                    else:
                        outcome.unexplained.append((str(difference), peer, case))
    return outcome


def prepare(seed, limbo):
    global mutations
    mutations = Mutations(seed, limbo)


def show(total):
    names = list(harnesses("", ""))
    print("".join(f"{title:>15}" for title in [*names, *KINDS]))
    for accepted in sorted({accepted for _, accepted in total.verdicts}, reverse=True):
        cells = ["accepts" if each else "-" for each in accepted] + [total.verdicts[kind, accepted] for kind in KINDS]
        print("".join(f"{cell:>15}" for cell in cells))
    for (direction, peer, reason), number in sorted(total.explained.items()):
        print(f"{number:>8}  {direction} {peer}: {reason}")
    for text, _, _ in total.unexplained:
        print(text)
    for fault in total.faults:
        print(fault)


def summarize(seed, total):
    """Prints the sums for each library, and the closing line."""
    names = list(harnesses("", ""))
    chains, explained = total.verdicts.total(), collections.Counter()
    for (_, peer, _), number in total.explained.items():
        explained[peer] += number
    unexplained = collections.Counter(peer for _, peer, _ in total.unexplained)
    for at, name in enumerate(names):
        accepted = sum(number for (_, verdicts), number in total.verdicts.items() if verdicts[at])
        line = f"{name} ({total.harnesses.get(name)}): accepted {accepted:,} of {chains:,}"
        if name not in PROFILES:
            line += f", {explained[name] + unexplained[name]:,} differences, {unexplained[name]:,} unexplained"
        print(line)
    differences = explained.total() + unexplained.total()
    print(f"seed {seed}: {chains:,} chains, {differences:,} differences, {unexplained.total():,} unexplained differences, "
          f"{len(total.faults):,} faults")


def main():
    seed, count, directory, ours, go, *limbo = sys.argv[1:]
    counts = zip(KINDS, (40, int(count), int(count), int(count) // 20))
    pieces = [
        (kind, range(start, min(start + PIECE, end))) for kind, end in counts for start in range(0, end, PIECE)]
    total = Outcome()
    with concurrent.futures.ProcessPoolExecutor(
            initializer=prepare, initargs=(seed, limbo[0] if limbo else None)) as pool:
        for future in concurrent.futures.as_completed([pool.submit(judge, *each, ours, go) for each in pieces]):
            total.add(future.result())
    show(total)
    if total.unexplained:
        path = os.path.join(directory, "unexplained.limbo")
        with open(path, "w") as file:
            cases = {case["id"]: case for _, _, case in total.unexplained}
            json.dump({"version": 1, "testcases": list(cases.values())}, file)
        print(f"their cases are in {path}")
    summarize(seed, total)
    sys.exit(1 if total.unexplained or total.faults else 0)


if __name__ == "__main__":
    main()
