#include "baseline.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static X509_STORE *store;
static STACK_OF(X509) *chain;
// The same as DER.
static uint8_t *ders[8];
static int sizes[8];
static int count;

static STACK_OF(X509) *read_certificates(const char *path) {
    STACK_OF(X509) *certificates = sk_X509_new_null();
    BIO *file = BIO_new_file(path, "r");
    X509 *certificate;
    while (file && (certificate = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL)
        sk_X509_push(certificates, certificate);
    BIO_free(file);
    return certificates;
}

int baseline_verify_open(const char *chain_path, const char *anchors_path) {
    for (int i = 0; i < count; i++) OPENSSL_free(ders[i]);
    sk_X509_pop_free(chain, X509_free);
    X509_STORE_free(store);
    chain = read_certificates(chain_path);
    count = sk_X509_num(chain);
    if (count > (int)(sizeof ders / sizeof *ders)) return 0;
    for (int i = 0; i < count; i++) {
        ders[i] = NULL;
        sizes[i] = i2d_X509(sk_X509_value(chain, i), &ders[i]);
    }
    store = X509_STORE_new();
    STACK_OF(X509) *anchors = read_certificates(anchors_path);
    for (int i = 0; i < sk_X509_num(anchors); i++) X509_STORE_add_cert(store, sk_X509_value(anchors, i));
    int good = sk_X509_num(chain) > 0 && sk_X509_num(anchors) > 0;
    sk_X509_pop_free(anchors, X509_free);
    return good;
}

// Verifies a chain, leaf first.
static int verify(const char *host, STACK_OF(X509) *chain) {
    int good = 0;
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    if (X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), chain) == 1) {
        X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
        X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        X509_VERIFY_PARAM_set_auth_level(parameters, 2);
        if (X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME) == 1
            && X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1
            && X509_VERIFY_PARAM_set_trust(parameters, X509_TRUST_SSL_SERVER) == 1
            && X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1)
            good = X509_verify_cert(context) == 1;
    }
    X509_STORE_CTX_free(context);
    return good;
}

// Parses the chain and verifies it.
static int verify_der(const char *host) {
    STACK_OF(X509) *parsed = sk_X509_new_reserve(NULL, count);
    for (int i = 0; i < count; i++) {
        const uint8_t *p = ders[i];
        X509 *certificate = d2i_X509(NULL, &p, sizes[i]);
        if (certificate) sk_X509_push(parsed, certificate);
    }
    int good = sk_X509_num(parsed) == count && verify(host, parsed);
    sk_X509_pop_free(parsed, X509_free);
    return good;
}

size_t baseline_verify(const char *host, size_t times, int from_der) {
    size_t good = 0;
    for (size_t i = 0; i < times; i++) good += from_der ? verify_der(host) : verify(host, chain);
    return good;
}
