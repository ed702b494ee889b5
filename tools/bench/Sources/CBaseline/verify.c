#include "baseline.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static X509_STORE *store;
static STACK_OF(X509) *chain;

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
    sk_X509_pop_free(chain, X509_free);
    X509_STORE_free(store);
    chain = read_certificates(chain_path);
    store = X509_STORE_new();
    STACK_OF(X509) *anchors = read_certificates(anchors_path);
    for (int i = 0; i < sk_X509_num(anchors); i++) X509_STORE_add_cert(store, sk_X509_value(anchors, i));
    int good = sk_X509_num(chain) > 0 && sk_X509_num(anchors) > 0;
    sk_X509_pop_free(anchors, X509_free);
    return good;
}

size_t baseline_verify(const char *host, size_t times) {
    size_t good = 0;
    for (size_t i = 0; i < times; i++) {
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        if (X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), chain) == 1) {
            X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
            X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
            X509_VERIFY_PARAM_set_auth_level(parameters, 2);
            if (X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME) == 1
                && X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1
                && X509_VERIFY_PARAM_set_trust(parameters, X509_TRUST_SSL_SERVER) == 1
                && X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1)
                good += X509_verify_cert(context) == 1;
        }
        X509_STORE_CTX_free(context);
    }
    return good;
}
