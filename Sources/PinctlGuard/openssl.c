// Handshakes of OpenSSL 1.1 and 3.
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// What the guard keeps for an SSL, and the callback also for an SSL_CTX.
struct state {
    callback_function *callback;  // The program's.
    char *name;                   // SNI when the handshake started.
    bool is_judged;               // In this handshake.
    bool is_fenced;
};

// The data of a fence: a BIO before those of a refused SSL, in which transfers fail.
struct fence {
    struct library *library;
    char text[longest_reason];
};

static void raise_error(struct library *library, const char *text) {
    enum { ssl = 20, certificate_verify_failed = 134 };  // ERR_LIB_SSL, SSL_R_CERTIFICATE_VERIFY_FAILED
    if (library->ERR_set_error != NULL) {
        library->ERR_new();
        library->ERR_set_debug("guard.c", 0, "pinctl");
        library->ERR_set_error(ssl, certificate_verify_failed, "%s", text);
    } else if (library->ERR_put_error != NULL) {
        library->ERR_put_error(ssl, 0, certificate_verify_failed, "guard.c", 0);
        library->ERR_add_error_data(1, text);
    }
}

static struct fence *fence_of(const void *caller, void *bio) {
    void *(*data)(void *) = site_of(caller, "BIO_get_data")->next;
    return data != NULL ? data(bio) : NULL;
}

static int refuse_transfer(void *bio, void *bytes, int length) {
    struct fence *fence = fence_of(CALLER, bio);
    (void)bytes, (void)length;
    if (fence == NULL) return -1;
    fence->library->BIO_clear_flags(bio, 0x0F);  // BIO_FLAGS_RWS and BIO_FLAGS_SHOULD_RETRY
    raise_error(fence->library, fence->text);
    return -1;
}

static long control_fence(void *bio, int command, long number, void *pointer) {
    enum { push = 6, pop = 7, flush = 11 };
    struct fence *fence = fence_of(CALLER, bio);
    if (fence == NULL || command == push || command == pop) return 0;
    if (command == flush) return refuse_transfer(bio, NULL, 0);
    void *next = fence->library->BIO_next(bio);
    return next != NULL ? fence->library->BIO_ctrl(next, command, number, pointer) : 0;
}

static int destroy_fence(void *bio) {
    free(fence_of(CALLER, bio));
    return 1;
}

// Returns a fence before a BIO that stays the program's, or NULL without memory. An SSL without a BIO can't send
// either.
static void *new_fence(struct library *library, void *behind) {
    struct fence *data = malloc(sizeof *data);
    void *bio = data != NULL ? library->BIO_new(library->fence) : NULL;
    if (bio == NULL) return free(data), NULL;
    data->library = library;
    strcpy(data->text, reason);
    library->BIO_set_data(bio, data);
    library->BIO_set_init(bio, 1);
    if (behind != NULL && library->BIO_up_ref(behind)) library->BIO_set_next(bio, behind);
    return bio;
}

// Lets all further transfers of an SSL fail as a verification fails. The handshake fails with the next one: the
// client's last messages aren't sent, so the server can't continue either.
static void refuse(struct library *library, void *ssl, struct state *state) {
    void *reads = library->SSL_get_rbio(ssl), *writes = library->SSL_get_wbio(ssl);
    if (writes != NULL && library->BIO_method_type(writes) == library->fence_type) return;
    if (writes == NULL && !state->is_fenced) {
        // As in QUIC, whose messages are sent otherwise.
        dprintf(2, "%s (the handshake can't be stopped, so the program is)\n", reason);
        abort();
    }
    void *read_fence = new_fence(library, reads), *write_fence = read_fence;
    if (reads != writes) write_fence = new_fence(library, writes);
    else if (read_fence != NULL) library->BIO_up_ref(read_fence);
    library->SSL_set0_rbio(ssl, read_fence);
    library->SSL_set0_wbio(ssl, write_fence);
    library->SSL_set_verify_result(ssl, 50);  // X509_V_ERR_APPLICATION_VERIFICATION
    state->is_fenced = true;
}

// Takes the BIOs back from behind the fences when a program reuses the SSL, which starts another handshake.
static void remove_fences(struct library *library, void *ssl, struct state *state) {
    void *reads = library->SSL_get_rbio(ssl), *writes = library->SSL_get_wbio(ssl);
    state->is_fenced = false;
    for (int i = 0; i < 2; i++) {
        void *bio = i == 0 ? reads : writes;
        if (bio == NULL || library->BIO_method_type(bio) != library->fence_type) continue;
        void *behind = library->BIO_next(bio);
        if (behind != NULL) library->BIO_up_ref(behind);
        (i == 0 ? library->SSL_set0_rbio : library->SSL_set0_wbio)(ssl, behind);
    }
}

static void put_certificate(struct library *library, struct frame *frame, const void *value) {
    unsigned char *bytes = NULL;
    int length = library->i2d_X509(value, &bytes);
    if (length > 0) put(frame, certificate, bytes, (size_t)length);
    else frame->too_long = true;
    library->CRYPTO_free(bytes, "guard.c", 0);
}

static void judge(struct library *library, void *ssl, struct state *state) {
    struct frame frame = new_question("OpenSSL");
    state->is_judged = true;
    library->ERR_set_mark();
    void *chain = library->SSL_get_peer_cert_chain(ssl);
    int count = chain != NULL ? library->OPENSSL_sk_num(chain) : 0;
    for (int i = 0; i < count; i++) put_certificate(library, &frame, library->OPENSSL_sk_value(chain, i));
    if (count <= 0) {
        void *(*get)(const void *) = library->SSL_get1_peer_certificate;
        if (get == NULL) get = library->SSL_get_peer_certificate;
        void *leaf = get != NULL ? get(ssl) : NULL;
        if (leaf != NULL) put_certificate(library, &frame, leaf);
        if (leaf != NULL) library->X509_free(leaf);
    }
    void *response = NULL;
    long length = library->SSL_ctrl(ssl, 70, 0, &response);  // SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP
    if (length > 0 && response != NULL) put(&frame, ocsp, response, (size_t)length);
    put(&frame, resumed, library->SSL_session_reused(ssl) ? "\1" : "\0", 1);

    void *parameters = library->SSL_get0_param(ssl);
    const char *expected = NULL, *other;
    char *ip = NULL;
    for (int i = 0; library->X509_VERIFY_PARAM_get0_host != NULL; i++) {
        other = library->X509_VERIFY_PARAM_get0_host(parameters, i);
        if (other == NULL) break;
        if (i == 0) expected = other;
        if (state->name != NULL && strcasecmp(state->name, other) == 0) expected = state->name;
    }
    if (expected == NULL && library->X509_VERIFY_PARAM_get1_ip_asc != NULL)
        expected = ip = library->X509_VERIFY_PARAM_get1_ip_asc(parameters);
    if (expected == state->name) expected = NULL;
    struct peer peer = find_peer(library->SSL_get_fd(ssl));
    bool accepted = is_accepted(&frame, state->name, expected, &peer);
    library->CRYPTO_free(ip, "guard.c", 0);
    library->ERR_pop_to_mark();
    free(frame.bytes);
    if (!accepted) refuse(library, ssl, state);
}

// Starts a handshake: forgets the last one, and lets this one offer no early data, which would be sent before a
// verdict.
static void begin(struct library *library, void *ssl, struct state *state) {
    reason[0] = 0;
    state->is_judged = false;
    if (state->is_fenced) remove_fences(library, ssl, state);
    if (!library->SSL_in_before(ssl)) return;  // A renegotiation.
    void *session = library->SSL_get_session(ssl);
    if (session != NULL && library->SSL_SESSION_set_max_early_data != NULL)
        library->SSL_SESSION_set_max_early_data(session, 0);
    // Later, this would be the name of the session that is resumed.
    const char *name = library->SSL_get_servername(ssl, 0);
    free(state->name);
    state->name = name != NULL ? strdup(name) : NULL;
}

// The information callback of every SSL_CTX. The verdict comes before the client's last messages: after
// ServerHelloDone, or in TLS 1.3 and resumed sessions after the server's Finished. Calls the program's callback, too.
static void observe(const void *constant, int where, int value) {
    enum { loop = 0x01, start = 0x10, done = 0x20 };
    struct library *library = site_of(CALLER, "SSL_get_ex_data")->library;
    if (library == NULL || !library->is_complete) return;
    void *ssl = (void *)(uintptr_t)constant;
    struct state nothing = {.callback = NULL}, *state = library->SSL_get_ex_data(ssl, library->indexes[0]);
    if (state == NULL) state = &nothing;
    if (!library->SSL_is_server(ssl)) {
        int error = errno;
        const char *message = library->SSL_state_string(ssl);
        bool is_last = where & loop && (strcmp(message, "TRSD") == 0 || strcmp(message, "TRFIN") == 0);
        if (where & start) begin(library, ssl, state);
        else if (state->is_fenced) refuse(library, ssl, state);  // Again, if the program has set other BIOs.
        else if ((is_last || where & done) && !state->is_judged) judge(library, ssl, state);
        // No message follows, so that what the server sent already could still be read: SSL_RECEIVED_SHUTDOWN.
        if (where & done && state->is_fenced) library->SSL_set_shutdown(ssl, 2);
        if (where & done) state->is_judged = false;
        errno = error;
    }
    free(nothing.name);
    const struct state *context = library->SSL_CTX_get_ex_data(library->SSL_get_SSL_CTX(ssl), library->indexes[1]);
    if (state->callback != NULL) state->callback(ssl, where, value);
    else if (context != NULL && context->callback != NULL) context->callback(ssl, where, value);
}

static void release_state(void *ssl, void *value, void *data, int index, long number, void *library) {
    struct state *state = value;
    (void)ssl, (void)data, (void)index, (void)number, (void)library;
    if (state != NULL) free(state->name);
    free(state);
}

// Lets the copy of an SSL keep its own state, with the callback of the original.
static int copy_state(void *to, const void *from, void **value, int index, long number, void *library) {
    struct state *copy = ((struct library *)library)->CRYPTO_get_ex_data(to, index), *original = *value;
    (void)from, (void)number;
    if (copy != NULL && original != NULL) copy->callback = original->callback;
    *value = copy;
    return 1;
}

// Registers what the guard needs in a copy of OpenSSL. Returns whether it could.
bool prepare(struct library *library) {
    for (int i = 0; i < 2; i++)
        library->indexes[i] =
            library->CRYPTO_get_ex_new_index(i, 0, library, NULL, (void *)copy_state, (void *)release_state);
    library->fence_type = library->BIO_get_new_index() | 0x200;  // BIO_TYPE_FILTER
    library->fence = library->BIO_meth_new(library->fence_type, "pinctl");
    return library->indexes[0] > 0 && library->indexes[1] > 0 && library->fence != NULL &&
           library->BIO_meth_set_write(library->fence, (void *)refuse_transfer) &&
           library->BIO_meth_set_read(library->fence, (void *)refuse_transfer) &&
           library->BIO_meth_set_ctrl(library->fence, (void *)control_fence) &&
           library->BIO_meth_set_destroy(library->fence, (void *)destroy_fence);
}

// libssl calls this function of libcrypto for each new SSL (class 0) and SSL_CTX (1), however the program found
// SSL_new. The callback is the context's, because an SSL isn't complete yet, and each SSL without one of its own calls
// it.
EXPORTED int CRYPTO_new_ex_data(int class, void *object, void *data) {
    struct site *site = site_of(CALLER, "CRYPTO_new_ex_data");
    struct library *library = site->library;
    int (*next)(int, void *, void *) = site->next;
    if (next == NULL || !next(class, object, data)) return 0;
    if (class < 0 || class > 1 || !site->in_library) return 1;
    struct state *state = library->is_complete ? calloc(1, sizeof *state) : NULL;
    if (state == NULL || !library->CRYPTO_set_ex_data(data, library->indexes[class], state)) return free(state), 0;
    if (class == 1) library->SSL_CTX_set_info_callback(object, (void *)observe);
    return 1;
}

// Returns what is kept for an object of libssl, or NULL if its copy of OpenSSL isn't known.
static struct state *state_of(const struct site *site, int class, const void *object) {
    struct library *library = site->library;
    if (library == NULL || !library->is_complete) return NULL;
    return (class == 0 ? library->SSL_get_ex_data : library->SSL_CTX_get_ex_data)(object, library->indexes[class]);
}

static void set_callback(const struct site *site, int class, void *object, callback_function *callback) {
    struct state *state = state_of(site, class, object);
    void (*next)(void *, callback_function *) = site->next;
    if (state != NULL) state->callback = callback == observe ? NULL : callback;
    else if (next != NULL) next(object, callback);
}

static callback_function *get_callback(const struct site *site, int class, const void *object) {
    struct state *state = state_of(site, class, object);
    callback_function *(*next)(const void *) = site->next;
    return state != NULL ? state->callback : next != NULL ? next(object) : NULL;
}

EXPORTED void SSL_set_info_callback(void *ssl, callback_function *callback) {
    set_callback(site_of(CALLER, "SSL_set_info_callback"), 0, ssl, callback);
}

EXPORTED callback_function *SSL_get_info_callback(const void *ssl) {
    return get_callback(site_of(CALLER, "SSL_get_info_callback"), 0, ssl);
}

EXPORTED void SSL_CTX_set_info_callback(void *context, callback_function *callback) {
    set_callback(site_of(CALLER, "SSL_CTX_set_info_callback"), 1, context, callback);
}

EXPORTED callback_function *SSL_CTX_get_info_callback(void *context) {
    return get_callback(site_of(CALLER, "SSL_CTX_get_info_callback"), 1, context);
}

EXPORTED uint32_t SSL_SESSION_get_max_early_data(const void *session) {
    (void)session;
    return 0;
}

EXPORTED int SSL_write_early_data(void *ssl, const void *bytes, size_t length, size_t *written) {
    struct site *site = site_of(CALLER, "SSL_write_early_data");
    int (*next)(void *, const void *, size_t, size_t *) = site->next;
    if (site->library == NULL || next == NULL) return 0;
    // A server's is what it sends before the client's Finished.
    if (site->library->is_complete && site->library->SSL_is_server(ssl)) return next(ssl, bytes, length, written);
    raise_error(site->library, "pinctl: early data would be sent before the verdict");
    return 0;
}

// Shows the reason in programs that print only these texts.
EXPORTED const char *X509_verify_cert_error_string(long error) {
    const char *(*next)(long) = site_of(CALLER, "X509_verify_cert_error_string")->next;
    if (error == 50 && reason[0] != 0 && !reason_shown) return reason;
    return next != NULL ? next(error) : "certificate verification failed";
}

EXPORTED const char *ERR_reason_error_string(unsigned long error) {
    const char *(*next)(unsigned long) = site_of(CALLER, "ERR_reason_error_string")->next;
    const char *text = next != NULL ? next(error) : NULL;
    return text != NULL && reason[0] != 0 && strcmp(text, "certificate verify failed") == 0 ? with_reason(text) : text;
}
