"""The explanations of differences, one row each. The first row that fits a difference is its explanation.

A row names the profiles and libraries that it is about, a pattern of the refusing side's reason, a condition on the DER
of the case, and the explanation. Two conditions hold besides the row's:

- A chain that a profile accepts is only explained if the reference finds a valid path in it.
- The reason must match the pattern of the row, so that another reason for the same refusal needs a row of its own.
"""

import re
from dataclasses import dataclass, field
from typing import Callable

import chains
from evidence import *
from reference import Malformed, elements, only

ANYONE = ("Go", "pyca", "GnuTLS", "OpenSSL", "OpenSSL strict")
OPENSSL = ("OpenSSL", "OpenSSL strict")
BOTH = ("default", "strict")
DEFAULT, STRICT = ("default",), ("strict",)
POLICY_CONSTRAINTS, INHIBIT_ANY, MAPPINGS = "2.5.29.36", "2.5.29.54", "2.5.29.33"


@dataclass
class Row:
    profiles: tuple
    peers: tuple
    pattern: str
    condition: Callable
    reason: str


# This project accepts, the library refuses.
ACCEPTED = [
    # Names.
    Row(BOTH, ("Go",), r"signed by unknown authority", names_differ_in_octets,
        "names that differ in case, spaces or string type are equal (RFC 5280, 7.1); Go compares octets"),
]
REFUSED = []


def explanation(difference):
    """The direction, library and reason of the first row that fits, or None."""
    if difference.accepts and difference.path is None:
        return None
    for row in ACCEPTED if difference.accepts else REFUSED:
        if difference.profile in row.profiles and difference.peer in row.peers and re.search(
                row.pattern, difference.refusal) and row.condition(difference):
            return "accepted, refused by" if difference.accepts else "refused, accepted by", difference.peer, row.reason
    return None
