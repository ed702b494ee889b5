"""x509-limbo's harness protocol, as far as mutate.py needs it: a document on standard input, answers on the output."""

import base64
import calendar
import ctypes
import datetime
import ipaddress
import json
import sys


class Refused(Exception):
    """The reason why a library refuses a case."""


def unpem(text):
    return base64.b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))


def seconds(case):
    return calendar.timegm(datetime.datetime.fromisoformat(case["validation_time"]).utctimetuple())


def host(case):
    """The requested DNS name as bytes, or None and the bytes of the address."""
    name = case["expected_peer_name"]
    if name["kind"] == "DNS":
        return name["value"].encode(), None
    return None, ipaddress.ip_address(name["value"]).packed


def library(name, functions):
    """A library with these functions, as `NAME RESULT ARGUMENT…`: p is a pointer, i int, u unsigned, l long, z size_t."""
    types = {"p": ctypes.c_void_p, "i": ctypes.c_int, "u": ctypes.c_uint, "l": ctypes.c_long, "z": ctypes.c_size_t,
             "s": ctypes.c_char_p, "L": ctypes.c_ulong, "v": None}
    loaded = ctypes.CDLL(name)
    for line in functions.split("\n"):
        if line := line.split():
            function = getattr(loaded, line[0])
            function.restype, function.argtypes = types[line[1]], [types[each] for each in line[2:]]
    return loaded


def answer(harness, evaluate):
    results = []
    for case in json.load(sys.stdin)["testcases"]:
        context = None
        try:
            evaluate(case)
        except Refused as refusal:
            context = str(refusal)
        results.append({"id": case["id"], "actual_result": "FAILURE" if context else "SUCCESS", "context": context})
    json.dump({"version": 1, "harness": harness, "results": results}, sys.stdout)
