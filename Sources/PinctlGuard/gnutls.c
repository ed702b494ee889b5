// Handshakes of GnuTLS 3.
#define _GNU_SOURCE
#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The names that a program expects in a session, which GnuTLS doesn't return to clients.
struct names {
    struct names *next;
    const void *session;
    char *sni, *expected;
};

static struct names *table[64];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_table(void) { pthread_mutex_lock(&table_lock); }
static void unlock_table(void) { pthread_mutex_unlock(&table_lock); }

void watch_forks(void) { pthread_atfork(lock_table, unlock_table, unlock_table); }

static struct names **find_names(const void *session) {
    struct names **names = &table[((uintptr_t)session >> 6) % 64];
    while (*names != NULL && (*names)->session != session) names = &(*names)->next;
    return names;
}

static void remember(const void *session, const char *sni, const char *expected) {
    lock_table();
    struct names **names = find_names(session);
    if (*names == NULL && (*names = calloc(1, sizeof **names)) != NULL) (*names)->session = session;
    char **name = *names == NULL ? NULL : sni != NULL ? &(*names)->sni : &(*names)->expected;
    if (name != NULL) {
        free(*name);
        *name = strdup(sni != NULL ? sni : expected);
    }
    unlock_table();
}

EXPORTED int gnutls_server_name_set(void *session, int type, const void *name, size_t length) {
    int (*next)(void *, int, const void *, size_t) = site_of(CALLER, "gnutls_server_name_set")->next;
    char copy[256] = "";
    if (next == NULL) return -50;  // GNUTLS_E_INVALID_REQUEST
    if (type == 1 && length < sizeof copy && name != NULL) memcpy(copy, name, length);
    if (copy[0] != 0) remember(session, copy, NULL);
    return next(session, type, name, length);
}

EXPORTED void gnutls_session_set_verify_cert(void *session, const char *name, unsigned flags) {
    void (*next)(void *, const char *, unsigned) = site_of(CALLER, "gnutls_session_set_verify_cert")->next;
    if (name != NULL) remember(session, NULL, name);
    if (next != NULL) next(session, name, flags);
}

EXPORTED void gnutls_session_set_verify_cert2(void *session, void *values, unsigned count, unsigned flags) {
    void (*next)(void *, void *, unsigned, unsigned) = site_of(CALLER, "gnutls_session_set_verify_cert2")->next;
    const struct { int type; const char *data; unsigned size; } *value = values;
    for (unsigned i = 0; i < count; i++)
        if (value[i].type == 1 && value[i].data != NULL) remember(session, NULL, value[i].data);
    if (next != NULL) next(session, values, count, flags);
}

EXPORTED void gnutls_deinit(void *session) {
    void (*next)(void *) = site_of(CALLER, "gnutls_deinit")->next;
    lock_table();
    struct names **place = find_names(session), *names = *place;
    if (names != NULL) *place = names->next;
    unlock_table();
    if (names != NULL) free(names->sni), free(names->expected);
    free(names);
    if (next != NULL) next(session);
}

static ssize_t fail_transfer(void *transport, void *bytes, size_t length) {
    (void)transport, (void)bytes, (void)length;
    errno = EPIPE;
    return -1;
}

EXPORTED int gnutls_handshake(void *session) {
    struct site *site = site_of(CALLER, "gnutls_handshake");
    struct { unsigned char *data; unsigned size; } const *chain, response = {NULL, 0};
    const void *base;
    int (*next)(void *) = site->next;
    void *module = module_of(site->next, &base);
    if (module == NULL) return -50;  // GNUTLS_E_INVALID_REQUEST
    reason[0] = 0;
    int result = next(session);
    if (result != 0) return result;
#define GNUTLS(type, name, ...) type (*name)(__VA_ARGS__) = find(module, "gnutls_" #name)
    GNUTLS(int, server_name_get, void *, void *, size_t *, unsigned *, unsigned);
    GNUTLS(const void *, certificate_get_peers, void *, unsigned *);
    GNUTLS(int, ocsp_status_request_get, void *, void *);
    GNUTLS(int, session_is_resumed, void *);
    GNUTLS(void *, transport_get_ptr, void *);
    GNUTLS(void, transport_set_push_function, void *, void *);
    GNUTLS(void, transport_set_pull_function, void *, void *);
    GNUTLS(int, alert_send, void *, int, int);
    if (!server_name_get || !certificate_get_peers || !ocsp_status_request_get || !session_is_resumed ||
        !transport_get_ptr || !transport_set_push_function || !transport_set_pull_function || !alert_send) return -50;
    char name[256];
    size_t length = sizeof name;
    unsigned type, count = 0;
    // Only clients may not ask for the name that the client sent.
    if (server_name_get(session, name, &length, &type, 0) != -50) return 0;
    int error = errno;
    struct frame frame = new_question("GnuTLS");
    chain = certificate_get_peers(session, &count);
    for (unsigned i = 0; chain != NULL && i < count; i++) put(&frame, certificate, chain[i].data, chain[i].size);
    if (ocsp_status_request_get(session, (void *)&response) == 0 && response.data != NULL)
        put(&frame, ocsp, response.data, response.size);
    put(&frame, resumed, session_is_resumed(session) ? "\1" : "\0", 1);
    // A descriptor, or a pointer of the program's.
    uintptr_t transport = (uintptr_t)transport_get_ptr(session);
    struct peer peer = find_peer(transport < 1 << 20 ? (int)transport : -1);
    lock_table();
    struct names *names = *find_names(session);
    char *sni = names != NULL && names->sni != NULL ? strdup(names->sni) : NULL;
    char *expected = names != NULL && names->expected != NULL ? strdup(names->expected) : NULL;
    unlock_table();
    bool is_one = sni != NULL && expected != NULL && strcasecmp(sni, expected) == 0;
    bool accepted = is_accepted(&frame, sni, is_one ? NULL : expected, &peer);
    free(sni), free(expected), free(frame.bytes);
    if (!accepted) {
        alert_send(session, 2, 42);  // GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE
        transport_set_push_function(session, (void *)fail_transfer);
        transport_set_pull_function(session, (void *)fail_transfer);
    }
    errno = error;
    return accepted ? 0 : -348;  // GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR
}

EXPORTED size_t gnutls_record_get_max_early_data_size(void *session) {
    (void)session;
    return 0;
}

EXPORTED ssize_t gnutls_record_send_early_data(void *session, const void *bytes, size_t length) {
    (void)session, (void)bytes, (void)length;
    return -50;  // GNUTLS_E_INVALID_REQUEST
}

EXPORTED const char *gnutls_strerror(int error) {
    const char *(*next)(int) = site_of(CALLER, "gnutls_strerror")->next;
    const char *text = next != NULL ? next(error) : "GnuTLS isn't loaded";
    return error == -348 && reason[0] != 0 ? with_reason(text) : text;
}
