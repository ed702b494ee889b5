"""GnuTLS's gnutls_x509_trust_list_verify_crt2 as a harness for x509-limbo.

The settings are those of a careful client: the purpose of a server, host or address, and the profile MEDIUM, which
requires 112 bits of security as this project's default does. GnuTLS has no verification time, so its clock is set.
"""

import ctypes

import limbo

LIBRARY = limbo.library("libgnutls.so.30", """
    gnutls_x509_crt_init i p
    gnutls_x509_crt_deinit v p
    gnutls_x509_crt_import i p p i
    gnutls_x509_trust_list_init i p u
    gnutls_x509_trust_list_deinit v p u
    gnutls_x509_trust_list_add_cas i p p u u
    gnutls_x509_trust_list_verify_crt2 i p p u p u u p p
    gnutls_global_set_time_function v p
    gnutls_strerror_name s i
    gnutls_check_version s s
""")
PROFILE_MEDIUM, DER, DNS_HOSTNAME, KEY_PURPOSE_OID, IP_ADDRESS = 5 << 24, 0, 1, 2, 4
STATUS = {
    1: "invalid", 5: "revoked", 6: "signer not found", 7: "signer not CA", 8: "insecure algorithm",
    9: "not activated", 10: "expired", 11: "signature failure", 14: "unexpected owner", 16: "signer constraints",
    17: "mismatch", 18: "purpose mismatch", 21: "unknown critical extension",
}
now = 0


@ctypes.CFUNCTYPE(ctypes.c_long, ctypes.POINTER(ctypes.c_long))
def clock(result):
    if result:
        result[0] = now
    return now


class Datum(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint)]


class TypedData(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("data", ctypes.c_char_p), ("size", ctypes.c_uint)]


def succeed(code, what):
    if code < 0:
        raise limbo.Refused(f"{what}: {LIBRARY.gnutls_strerror_name(code).decode()}")


def parsed(texts, role, owned):
    """The certificates as an array. One that can't be parsed is no part of a path, except the leaf."""
    certificates, unread = [], ""
    for text in texts:
        certificate, octets = ctypes.c_void_p(), limbo.unpem(text)
        succeed(LIBRARY.gnutls_x509_crt_init(ctypes.byref(certificate)), "failed")
        code = LIBRARY.gnutls_x509_crt_import(certificate, ctypes.byref(Datum(octets, len(octets))), DER)
        if code < 0:
            LIBRARY.gnutls_x509_crt_deinit(certificate)
            unread = f"; unparsed: {role}"
            continue
        owned.append(certificate)
        certificates.append(certificate)
    return certificates, unread


def evaluate(case):
    global now
    now = limbo.seconds(case)
    owned, store = [], ctypes.c_void_p()
    succeed(LIBRARY.gnutls_x509_trust_list_init(ctypes.byref(store), 0), "failed")
    try:
        leaf, _ = parsed([case["peer_certificate"]], "leaf", owned)
        if not leaf:
            raise limbo.Refused("unparsed: leaf")
        # The store frees what it was given, and what it doesn't take over.
        anchors, unread_anchor = parsed(case["trusted_certs"], "anchor", [])
        if anchors:
            succeed(LIBRARY.gnutls_x509_trust_list_add_cas(
                store, (ctypes.c_void_p * len(anchors))(*anchors), len(anchors), 0), "anchors")
        others, unread = parsed(case["untrusted_intermediates"], "intermediate", owned)
        chain = leaf + others
        name, address = limbo.host(case)
        kind, value = (DNS_HOSTNAME, name) if name else (IP_ADDRESS, address)
        data = (TypedData * 2)(
            TypedData(kind, value, len(value) if address else 0), TypedData(KEY_PURPOSE_OID, b"1.3.6.1.5.5.7.3.1", 0))
        status = ctypes.c_uint(1 << 1)
        code = LIBRARY.gnutls_x509_trust_list_verify_crt2(
            store, (ctypes.c_void_p * len(chain))(*chain), len(chain), data, 2, PROFILE_MEDIUM, ctypes.byref(status),
            None)
        succeed(code, "failed")
        if status.value:
            bits = [bit for bit in range(32) if status.value >> bit & 1]
            names = [STATUS.get(bit, f"bit {bit}") for bit in bits if bit != 1] or ["invalid"]
            raise limbo.Refused(", ".join(names) + unread + unread_anchor)
    finally:
        for certificate in owned:
            LIBRARY.gnutls_x509_crt_deinit(certificate)
        LIBRARY.gnutls_x509_trust_list_deinit(store, 1)


LIBRARY.gnutls_global_set_time_function(clock)
limbo.answer(f"GnuTLS {LIBRARY.gnutls_check_version(None).decode()}", evaluate)
