// A provider that is OpenSSL's default provider without encoders and with the decoders of public keys alone. It doesn't
// decide when it is used: that is LibraryContext.swift.

#ifndef COPENSSL_DECODERS_H
#define COPENSSL_DECODERS_H

#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <string.h>

struct COpenSSL_key_decoders {
    // The default library context's default provider, which does the work.
    OSSL_PROVIDER *provider;
    // The decoders that are kept. They end with an empty one.
    OSSL_ALGORITHM decoders[16];
};

// Swift emits a variable of a header only if it is in a function.
static inline struct COpenSSL_key_decoders *COpenSSL_kept(void) {
    static struct COpenSSL_key_decoders kept;
    return &kept;
}

static inline int COpenSSL_keeps_decoder(const OSSL_ALGORITHM *decoder) {
    // The algorithms whose signatures certificates may have.
    static const char *const names[] = {"RSA", "RSA-PSS", "EC", "ED25519", "ED448"};
    const char *name = decoder->algorithm_names;
    size_t length = strcspn(name, ":");
    if (strstr(decoder->property_definition, "input=der") == NULL ||
        strstr(decoder->property_definition, "structure=SubjectPublicKeyInfo") == NULL)
        return 0;
    for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++)
        if (strlen(names[index]) == length && strncmp(names[index], name, length) == 0) return 1;
    return 0;
}

// OSSL_FUNC_provider_query_operation_fn
static const OSSL_ALGORITHM *COpenSSL_query_operation(void *context, int operation, int *isUncached) {
    switch (operation) {
    case OSSL_OP_DECODER:
        *isUncached = 0;
        return COpenSSL_kept()->decoders;
    case OSSL_OP_ENCODER:
    case OSSL_OP_STORE:
        *isUncached = 0;
        return NULL;
    default:
        return OSSL_PROVIDER_query_operation(COpenSSL_kept()->provider, operation, isUncached);
    }
}

// OSSL_FUNC_provider_get_capabilities_fn: the groups of TLS.
static int COpenSSL_get_capabilities(void *context, const char *capability, OSSL_CALLBACK *callback, void *argument) {
    return OSSL_PROVIDER_get_capabilities(COpenSSL_kept()->provider, capability, callback, argument);
}

// OSSL_provider_init_fn
static int COpenSSL_init_provider(
    const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context) {
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))COpenSSL_query_operation},
        {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))COpenSSL_get_capabilities},
        {0, NULL},
    };
    *out = functions;
    *context = OSSL_PROVIDER_get0_provider_ctx(COpenSSL_kept()->provider);
    return 1;
}

// Returns a new library context with the provider above, or NULL. May be called once.
static inline OSSL_LIB_CTX *COpenSSL_new_context_with_key_decoders(void) {
    struct COpenSSL_key_decoders *kept = COpenSSL_kept();
    int isUncached = 0;
    size_t count = 0;
    // 1 leaves the fallback as it is for a program that loads other providers later.
    kept->provider = OSSL_PROVIDER_try_load(NULL, "default", 1);
    if (kept->provider == NULL) return NULL;
    const OSSL_ALGORITHM *decoder = OSSL_PROVIDER_query_operation(kept->provider, OSSL_OP_DECODER, &isUncached);
    for (; decoder != NULL && decoder->algorithm_names != NULL; decoder++) {
        if (!COpenSSL_keeps_decoder(decoder)) continue;
        if (count + 1 == sizeof(kept->decoders) / sizeof(*kept->decoders)) return NULL;
        kept->decoders[count++] = *decoder;
    }
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    if (context == NULL) return NULL;
    if (OSSL_PROVIDER_add_builtin(context, "default-with-key-decoders", COpenSSL_init_provider) == 1 &&
        OSSL_PROVIDER_load(context, "default-with-key-decoders") != NULL)
        return context;
    OSSL_LIB_CTX_free(context);
    return NULL;
}

#endif
