// The parts of OpenSSL's API that Swift can't import directly. Swift sees functions but not macros, so each shim below
// wraps one macro, or a call whose C signature Swift can't express. Comments name the reason. The shims make no
// decisions.
//
// _GNU_SOURCE must not be defined here: it changes fd_set under SwiftGlibc and breaks debug builds.

#ifndef COPENSSL_SHIMS_H
#define COPENSSL_SHIMS_H

// The low-level SHA-256 is deprecated in 3.0. For the 100 to 500 bytes of a public key it takes half the time of a
// fetched digest.
#define OPENSSL_SUPPRESS_DEPRECATED

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev"
#endif

#include <openssl/opensslv.h>
#if defined(OPENSSL_IS_BORINGSSL) || defined(LIBRESSL_VERSION_NUMBER) || OPENSSL_VERSION_MAJOR < 3
#error "OpenSSL 3.0 or later is required, not BoringSSL, LibreSSL or OpenSSL 1: install libssl-dev, and remove the other \
headers from the include path"
#endif

#include <openssl/bio.h>
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "decoders.h"

// SHA256_Init, _Update and _Final in one call. The context stays on the C stack.
static inline int COpenSSL_SHA256(const void *data, size_t count, unsigned char *out) {
    SHA256_CTX context;
    return SHA256_Init(&context) == 1 && SHA256_Update(&context, data, count) == 1 &&
        SHA256_Final(out, &context) == 1;
}

// The same for SHA-1, which OCSP uses for identifiers.
static inline int COpenSSL_SHA1(const void *data, size_t count, unsigned char *out) {
    SHA_CTX context;
    return SHA1_Init(&context) == 1 && SHA1_Update(&context, data, count) == 1 && SHA1_Final(out, &context) == 1;
}

// ASN1_ITEM_rptr is a macro. ASN1_ANY encodes an element as the bytes it was read from.
static inline int COpenSSL_verify_any(
    const ASN1_TYPE *value, const X509_ALGOR *algorithm, const ASN1_BIT_STRING *signature, EVP_PKEY *key) {
    return ASN1_item_verify(ASN1_ITEM_rptr(ASN1_ANY), algorithm, signature, value, key);
}

// sk_TYPE_* are macros over the untyped stack.
static inline STACK_OF(X509) *COpenSSL_sk_X509_new_reserve(int capacity) {
    return sk_X509_new_reserve(NULL, capacity);
}
static inline int COpenSSL_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline int COpenSSL_sk_X509_num(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *COpenSSL_sk_X509_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
// Frees the stack, not the certificates in it.
static inline void COpenSSL_sk_X509_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

static inline int COpenSSL_sk_X509_NAME_num(const STACK_OF(X509_NAME) *names) { return sk_X509_NAME_num(names); }
static inline const X509_NAME *COpenSSL_sk_X509_NAME_value(const STACK_OF(X509_NAME) *names, int index) {
    return sk_X509_NAME_value(names, index);
}
// pop_free also frees the elements.
static inline int COpenSSL_sk_PKCS7_num(const STACK_OF(PKCS7) *stack) { return sk_PKCS7_num(stack); }
static inline PKCS7 *COpenSSL_sk_PKCS7_value(const STACK_OF(PKCS7) *stack, int index) {
    return sk_PKCS7_value(stack, index);
}
static inline void COpenSSL_sk_PKCS7_pop_free(STACK_OF(PKCS7) *stack) { sk_PKCS7_pop_free(stack, PKCS7_free); }
static inline int COpenSSL_sk_PKCS12_SAFEBAG_num(const STACK_OF(PKCS12_SAFEBAG) *stack) {
    return sk_PKCS12_SAFEBAG_num(stack);
}
static inline PKCS12_SAFEBAG *COpenSSL_sk_PKCS12_SAFEBAG_value(const STACK_OF(PKCS12_SAFEBAG) *stack, int index) {
    return sk_PKCS12_SAFEBAG_value(stack, index);
}
static inline void COpenSSL_sk_PKCS12_SAFEBAG_pop_free(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_pop_free(stack, PKCS12_SAFEBAG_free);
}
static inline int COpenSSL_sk_CONF_VALUE_num(const STACK_OF(CONF_VALUE) *stack) { return sk_CONF_VALUE_num(stack); }
static inline const CONF_VALUE *COpenSSL_sk_CONF_VALUE_value(const STACK_OF(CONF_VALUE) *stack, int index) {
    return sk_CONF_VALUE_value(stack, index);
}

// ASN1_INTEGER is opaque since OpenSSL 4.0, so that Swift has two types for a pointer to one. Returns UINT64_MAX for a
// negative number and for one of over 64 bits, and 0 for NULL.
static inline uint64_t COpenSSL_count(const ASN1_INTEGER *integer) {
    uint64_t value = 0;
    return integer == NULL || ASN1_INTEGER_get_uint64(&value, integer) == 1 ? value : UINT64_MAX;
}
static inline uint64_t COpenSSL_PKCS12_mac_count(const PKCS12 *file) {
    const ASN1_INTEGER *count = NULL;
    PKCS12_get0_mac(NULL, NULL, NULL, &count, file);
    return COpenSSL_count(count);
}

// The calls below are macros over SSL_CTX_ctrl and SSL_ctrl. Those with a result return 1 for success, as the macros
// do.
static inline int COpenSSL_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int COpenSSL_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}
static inline void COpenSSL_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}
static inline void COpenSSL_SSL_CTX_set_max_cert_list(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}
static inline void COpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }
static inline void COpenSSL_SSL_CTX_clear_mode(SSL_CTX *context, long mode) { SSL_CTX_clear_mode(context, mode); }
static inline int COpenSSL_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline int COpenSSL_SSL_set1_sigalgs_list(SSL *ssl, const char *list) {
    return (int)SSL_set1_sigalgs_list(ssl, list);
}
static inline int COpenSSL_SSL_set_min_proto_version(SSL *ssl, int version) {
    return (int)SSL_set_min_proto_version(ssl, version);
}
static inline int COpenSSL_SSL_set_max_proto_version(SSL *ssl, int version) {
    return (int)SSL_set_max_proto_version(ssl, version);
}
// The name of the negotiated key exchange group, or NULL if it isn't known yet.
static inline const char *COpenSSL_SSL_group_name(SSL *ssl) {
    long group = SSL_get_negotiated_group(ssl);
    return group == NID_undef ? NULL : SSL_group_to_name(ssl, (int)group);
}
static inline int COpenSSL_SSL_request_staple(SSL *ssl) {
    return (int)SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp);
}
// The bytes still belong to the SSL. Returns -1 if there are none.
static inline long COpenSSL_SSL_get_staple(SSL *ssl, const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}
static inline int COpenSSL_SSL_set1_chain(SSL *ssl, STACK_OF(X509) *chain) { return (int)SSL_set1_chain(ssl, chain); }
static inline int COpenSSL_SSL_set_retry_verify(SSL *ssl) { return SSL_set_retry_verify(ssl); }

// The SSL_OP_ values are macros that contain a cast, which Swift doesn't import.
static inline uint64_t COpenSSL_SSL_OP_NO_RENEGOTIATION(void) { return SSL_OP_NO_RENEGOTIATION; }
static inline uint64_t COpenSSL_SSL_OP_NO_TICKET(void) { return SSL_OP_NO_TICKET; }

// SSL_get_ex_new_index is a macro. The index stores an integer, so it needs no callbacks.
static inline int COpenSSL_SSL_get_ex_new_index(void) { return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

// Returns whether memory ran out. ERR_GET_REASON is a macro in some versions.
static inline int COpenSSL_is_out_of_memory(unsigned long code) {
    return ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
}

// Returns whether an algorithm is unknown or not provided. ERR_GET_LIB, ERR_GET_REASON and some reasons are macros.
// Errors from the decoder library don't count: decoders also report ERR_R_UNSUPPORTED for the garbage that a wrong
// password produces.
static inline int COpenSSL_is_unsupported(unsigned long code) {
    int reason = ERR_GET_REASON(code);
    switch (ERR_GET_LIB(code)) {
    case ERR_LIB_EVP:
        return reason == ERR_R_UNSUPPORTED || reason == EVP_R_UNSUPPORTED_ALGORITHM ||
            reason == EVP_R_UNKNOWN_PBE_ALGORITHM || reason == EVP_R_UNKNOWN_CIPHER ||
            reason == EVP_R_UNSUPPORTED_CIPHER || reason == EVP_R_UNSUPPORTED_PRF ||
            reason == EVP_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION;
    case ERR_LIB_PEM:
        return reason == PEM_R_UNSUPPORTED_CIPHER || reason == PEM_R_UNSUPPORTED_ENCRYPTION;
    default:
        return 0;
    }
}

// Returns an empty string that outlives the call it is passed to.
static inline const char *COpenSSL_empty(void) { return ""; }

// Returns the reason of an error from libssl, or 0 for other libraries.
static inline int COpenSSL_ssl_reason(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
}

// OPENSSL_free is a macro that records its call site.
static inline void COpenSSL_free(void *pointer) { OPENSSL_free(pointer); }

#endif
