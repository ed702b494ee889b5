// What the Swift libraries are measured against: the same work in C, on OpenSSL alone.
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

// Objects one behind the other: object i is bytes[ends[i - 1] ..< ends[i]].
struct baseline_corpus {
    const uint8_t *bytes;
    const size_t *ends;
    size_t count;
};

// What was computed: how many pins, and a hash of their first bytes in order, so that the contenders are seen to have
// computed the same.
struct baseline_pins {
    size_t count;
    uint64_t check;
};

// DER certificates: d2i_X509, i2d_X509_PUBKEY, EVP_Digest.
struct baseline_pins baseline_spki_openssl(struct baseline_corpus certificates);

// DER SubjectPublicKeyInfo: SHA256_Init, SHA256_Update, SHA256_Final, nothing else.
struct baseline_pins baseline_sha256(struct baseline_corpus keys);

// A PEM file, read in chunks: base64 through a table, a walk to the SubjectPublicKeyInfo, SHA256_Init and friends.
struct baseline_pins baseline_spki_pem(const char *path);

// Parses a chain, leaf first, and anchors, each a PEM file; 1 when that went well.
int baseline_verify_open(const char *chain, const char *anchors);

// Verifies the opened chain for a host so many times (X509_verify_cert with the Swift library's flags and level, and
// OpenSSL's purpose and host check); returns how often it was found good. Over certificates that are parsed once, or
// parsed (d2i_X509) and freed each time. May run on several threads at once.
size_t baseline_verify(const char *host, size_t times, int from_der);

// CPU time of this thread, in nanoseconds.
uint64_t baseline_cpu_time(void);

// Gives freed memory back to the system (malloc_trim, which Swift's module of the C library lacks).
void baseline_trim(void);

#endif
