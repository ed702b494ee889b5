"""x509-limbo's harness protocol for pyca/cryptography, as far as mutate.py needs it."""

import datetime
import ipaddress
import warnings

import cryptography
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

import limbo


def certificate(pem):
    return x509.load_pem_x509_certificate(pem.encode())


def readable(pems, errors):
    """A certificate that cannot be read is no part of a path."""
    for pem in pems:
        try:
            yield certificate(pem)
        except (ValueError, x509.InvalidVersion) as error:
            errors.append(str(error))


def evaluate(case, errors):
    name = case["expected_peer_name"]
    subject = x509.DNSName(name["value"]) if name["kind"] == "DNS" else x509.IPAddress(
        ipaddress.ip_address(name["value"]))
    time = datetime.datetime.fromisoformat(case["validation_time"])
    anchors = list(readable(case["trusted_certs"], errors))
    intermediates = list(readable(case["untrusted_intermediates"], errors))
    if not anchors:
        raise ValueError("no trust anchor")
    verifier = PolicyBuilder().store(Store(anchors)).time(time).build_server_verifier(subject)
    verifier.verify(certificate(case["peer_certificate"]), intermediates)


def refusal(case):
    """The reason for which the chain is refused, or None."""
    errors = []
    # A panic of its Rust is no Exception. The warnings are about serial numbers that are not positive.
    try:
        with warnings.catch_warnings(action="ignore"):
            evaluate(case, errors)
    except BaseException as error:
        return "; not read: ".join([f"{type(error).__name__}: {error}", *errors])
    return None


def judge(case):
    if reason := refusal(case):
        raise limbo.Refused(reason)


if __name__ == "__main__":
    limbo.answer(f"cryptography {cryptography.__version__}", judge)
