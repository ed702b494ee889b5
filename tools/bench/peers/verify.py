"""verify.py CHAIN ANCHORS HOST COUNT: verifies a chain from DER with pyca/cryptography, so many times in each of nine
rounds, and prints the median CPU time of one, in nanoseconds. The anchors are read once."""

import statistics
import sys
import time
import warnings

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.verification import PolicyBuilder, Store


def certificates(path):
    with open(path, "rb") as file:
        return x509.load_pem_x509_certificates(file.read())


def main():
    # Of serial numbers of old roots.
    warnings.simplefilter("ignore")
    chain = [each.public_bytes(Encoding.DER) for each in certificates(sys.argv[1])]
    policy = PolicyBuilder().store(Store(certificates(sys.argv[2])))
    host, count = sys.argv[3], int(sys.argv[4])

    def verify():
        leaf, *intermediates = map(x509.load_der_x509_certificate, chain)
        policy.build_server_verifier(x509.DNSName(host)).verify(leaf, intermediates)

    verify()
    times = []
    for _ in range(9):
        start = time.process_time_ns()
        for _ in range(count):
            verify()
        times.append((time.process_time_ns() - start) // count)
    print(int(statistics.median(times)))


main()
