// The low-level SHA-256 is deprecated in 3.0, and the fastest there is for the size of a key.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "walk.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

void add_pin(struct baseline_pins *pins, const uint8_t *digest) {
    pins->count++;
    pins->check = pins->check * 31 + digest[0];
}

void hash_pin(struct baseline_pins *pins, const uint8_t *key, size_t size) {
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, key, size);
    SHA256_Final(digest, &context);
    add_pin(pins, digest);
}

struct baseline_pins baseline_sha256(struct baseline_corpus keys) {
    struct baseline_pins pins = {0, 0};
    size_t start = 0;
    for (size_t i = 0; i < keys.count; i++) {
        hash_pin(&pins, keys.bytes + start, keys.ends[i] - start);
        start = keys.ends[i];
    }
    return pins;
}

struct baseline_pins baseline_spki_openssl(struct baseline_corpus certificates) {
    struct baseline_pins pins = {0, 0};
    size_t start = 0;
    for (size_t i = 0; i < certificates.count; i++) {
        const uint8_t *p = certificates.bytes + start;
        uint8_t *key = NULL, digest[EVP_MAX_MD_SIZE];
        X509 *certificate = d2i_X509(NULL, &p, certificates.ends[i] - start);
        int size = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key) : 0;
        if (size > 0 && EVP_Digest(key, size, digest, NULL, EVP_sha256(), NULL) == 1) add_pin(&pins, digest);
        OPENSSL_free(key);
        X509_free(certificate);
        start = certificates.ends[i];
    }
    return pins;
}

// One element that must have this tag: steps `*p` behind it and gives its contents; 0 when there is none.
static int element(const uint8_t **p, const uint8_t *end, uint8_t tag, const uint8_t **contents) {
    if (end - *p < 2 || **p != tag) return 0;
    size_t length = (*p)[1];
    const uint8_t *body = *p + 2;
    if (length >= 0x80) {
        size_t octets = length & 0x7f;
        if (octets < 1 || octets > 4 || (size_t)(end - body) < octets || *body == 0) return 0;
        length = 0;
        for (size_t i = 0; i < octets; i++) length = length << 8 | *body++;
        if (length < 0x80) return 0;
    }
    if (length > (size_t)(end - body)) return 0;
    *contents = body;
    *p = body + length;
    return 1;
}

int find_spki(const uint8_t *der, size_t length, const uint8_t **start, size_t *size) {
    const uint8_t *p = der, *end = der + length, *contents;
    if (!element(&p, end, 0x30, &contents) || p != end) return 0;
    p = contents;
    if (!element(&p, end, 0x30, &contents)) return 0;
    end = p;
    p = contents;
    if (p < end && *p == 0xa0 && !element(&p, end, 0xa0, &contents)) return 0;
    if (!element(&p, end, 0x02, &contents)) return 0;
    // Signature algorithm, issuer, validity, subject.
    for (int i = 0; i < 4; i++)
        if (!element(&p, end, 0x30, &contents)) return 0;
    *start = p;
    if (!element(&p, end, 0x30, &contents)) return 0;
    *size = p - *start;
    return 1;
}
