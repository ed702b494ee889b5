"""OpenSSL's X509_verify_cert as a harness for x509-limbo.

usage: harness_openssl.py [strict] <DOCUMENT.json

The settings are those of a careful client: the server purpose, host or address, security level 2, policy processing, no
common name and no partial wildcard. Any certificate of the store is an anchor, as in the other harnesses. `strict` adds
X509_V_FLAG_X509_STRICT: OpenSSL has two profiles as this project does, and each is compared with the one of its name.
"""

import ctypes
import sys

import limbo

LIBRARY = limbo.library("libcrypto.so.3", """
    d2i_X509 p p p l
    X509_free v p
    X509_STORE_new p
    X509_STORE_free v p
    X509_STORE_add_cert i p p
    X509_STORE_CTX_new p
    X509_STORE_CTX_free v p
    X509_STORE_CTX_init i p p p p
    X509_STORE_CTX_get0_param p p
    X509_STORE_CTX_get_error i p
    X509_STORE_CTX_get_error_depth i p
    X509_verify_cert i p
    X509_verify_cert_error_string s l
    X509_VERIFY_PARAM_set_flags i p L
    X509_VERIFY_PARAM_set_time v p l
    X509_VERIFY_PARAM_set_purpose i p i
    X509_VERIFY_PARAM_set_auth_level v p i
    X509_VERIFY_PARAM_set_hostflags v p u
    X509_VERIFY_PARAM_set1_host i p s z
    X509_VERIFY_PARAM_set1_ip i p s z
    X509_VERIFY_PARAM_add0_policy i p p
    OBJ_txt2obj p s i
    OPENSSL_sk_new_null p
    OPENSSL_sk_push i p p
    OPENSSL_sk_free v p
    ERR_clear_error v
    OpenSSL_version s i
""")
X509_STRICT, POLICY_CHECK, PARTIAL_CHAIN, SSL_SERVER = 0x20, 0x80, 0x80000, 2
NO_PARTIAL_WILDCARDS, NEVER_CHECK_SUBJECT = 0x4, 0x20
ANY_POLICY = b"2.5.29.32.0"
FLAGS = POLICY_CHECK | PARTIAL_CHAIN | (X509_STRICT if "strict" in sys.argv[1:] else 0)


def parsed(text, owned):
    octets = limbo.unpem(text)
    start = ctypes.c_char_p(octets)
    certificate = LIBRARY.d2i_X509(None, ctypes.byref(start), len(octets))
    LIBRARY.ERR_clear_error()
    if certificate:
        owned.append((LIBRARY.X509_free, certificate))
        # d2i_X509 moves the pointer behind the certificate.
        end = ctypes.cast(start, ctypes.c_void_p).value
        begin = ctypes.cast(ctypes.c_char_p(octets), ctypes.c_void_p).value
        return certificate if end - begin == len(octets) else None
    return None


def verify(case, owned):
    leaf = parsed(case["peer_certificate"], owned)
    if not leaf:
        raise limbo.Refused("unparsed: leaf")
    store, context, untrusted = LIBRARY.X509_STORE_new(), LIBRARY.X509_STORE_CTX_new(), LIBRARY.OPENSSL_sk_new_null()
    owned += [
        (LIBRARY.X509_STORE_free, store), (LIBRARY.OPENSSL_sk_free, untrusted), (LIBRARY.X509_STORE_CTX_free, context)]
    unread = ""
    for text in case["trusted_certs"]:
        anchor = parsed(text, owned)
        unread = unread if anchor else "; unparsed: anchor"
        if anchor and LIBRARY.X509_STORE_add_cert(store, anchor) != 1:
            raise limbo.Refused("failed: X509_STORE_add_cert")
    for text in case["untrusted_intermediates"]:
        other = parsed(text, owned)
        unread = unread if other else "; unparsed: intermediate"
        if other and LIBRARY.OPENSSL_sk_push(untrusted, other) <= 0:
            raise limbo.Refused("failed: OPENSSL_sk_push")
    if LIBRARY.X509_STORE_CTX_init(context, store, leaf, untrusted) != 1:
        raise limbo.Refused("failed: X509_STORE_CTX_init")
    parameters = LIBRARY.X509_STORE_CTX_get0_param(context)
    LIBRARY.X509_VERIFY_PARAM_set_hostflags(parameters, NO_PARTIAL_WILDCARDS | NEVER_CHECK_SUBJECT)
    LIBRARY.X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    LIBRARY.X509_VERIFY_PARAM_set_time(parameters, limbo.seconds(case))
    name, address = limbo.host(case)
    is_set = (
        LIBRARY.X509_VERIFY_PARAM_set1_host(parameters, name, len(name)) if name
        else LIBRARY.X509_VERIFY_PARAM_set1_ip(parameters, address, len(address)))
    # RFC 5280, section 6.1.1 (c): the caller accepts any policy.
    policy = LIBRARY.OBJ_txt2obj(ANY_POLICY, 1)
    if is_set != 1 or LIBRARY.X509_VERIFY_PARAM_set_purpose(parameters, SSL_SERVER) != 1 or (
            LIBRARY.X509_VERIFY_PARAM_add0_policy(parameters, policy) != 1 or
            LIBRARY.X509_VERIFY_PARAM_set_flags(parameters, FLAGS) != 1):
        raise limbo.Refused("failed: X509_VERIFY_PARAM")
    if LIBRARY.X509_verify_cert(context) != 1:
        code = LIBRARY.X509_STORE_CTX_get_error(context)
        depth = LIBRARY.X509_STORE_CTX_get_error_depth(context)
        raise limbo.Refused(f"{code} at {depth}: {LIBRARY.X509_verify_cert_error_string(code).decode()}{unread}")


def evaluate(case):
    owned = []
    try:
        verify(case, owned)
    finally:
        for free, value in reversed(owned):
            free(value)
        LIBRARY.ERR_clear_error()


limbo.answer(LIBRARY.OpenSSL_version(0).decode(), evaluate)
