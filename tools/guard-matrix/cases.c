// Drives TLS handshakes in the ways that programs rarely do, against a server in the same process:
//   cases CASE CERTIFICATE KEY CA [OTHER-CERTIFICATE OTHER-KEY]
// Prints the bytes of application data that the server got, and exits with 0 if the client got its answer, with 1 if
// OpenSSL reported a failed verification, and with 2 after anything else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SSL_CTX *server_context, *client_context;
static SSL *server;
static BIO *client_end, *server_end;
static int received, handshakes, loops;
static const char *name = "localhost";

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    printf("bytes=%d\n", received);
    exit(2);
}

static void load(SSL_CTX *context, const char *certificate, const char *key) {
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) fail("load");
}

static void new_server(void) {
    SSL_free(server);
    if (!BIO_new_bio_pair(&client_end, 65536, &server_end, 65536)) fail("pair");
    server = SSL_new(server_context);
    SSL_set_bio(server, server_end, server_end);
    SSL_set_accept_state(server);
}

// Lets the server read what is there. It answers each byte with one.
static void serve(void) {
    char bytes[256];
    int count;
    while ((count = SSL_read(server, bytes, sizeof bytes)) > 0) {
        received += count;
        SSL_write(server, bytes, count);
    }
    ERR_clear_error();
}

// Repeats a call of the client until it doesn't want more. Returns its result.
static int drive(SSL *client, int (*call)(SSL *)) {
    for (int i = 0; i < 50; i++) {
        ERR_clear_error();
        int result = call(client), error = SSL_get_error(client, result);
        if (result > 0) return result;
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            unsigned long code = ERR_peek_error();
            ERR_print_errors_fp(stderr);
            if (error != SSL_ERROR_SSL) fail("not SSL_ERROR_SSL");
            if (ERR_GET_REASON(code) != SSL_R_CERTIFICATE_VERIFY_FAILED) fail("another reason");
            if (SSL_get_verify_result(client) == X509_V_OK) fail("the result of the verification is X509_V_OK");
            return -1;
        }
        serve();
    }
    fail("no end");
    return -1;
}

static int do_read(SSL *client) { char byte; return SSL_read(client, &byte, 1); }
static int do_write(SSL *client) { return SSL_write(client, "x", 1); }
static int do_peek(SSL *client) { char byte; return SSL_peek(client, &byte, 1); }
static int do_write_ex(SSL *client) { size_t done; return SSL_write_ex(client, "x", 1, &done); }
static int do_read_ex(SSL *client) { char byte; size_t done; return SSL_read_ex(client, &byte, 1, &done); }
static SSL *bio_ssl;
static BIO *ssl_bio;
static int do_bio_write(SSL *client) { (void)client; return BIO_write(ssl_bio, "x", 1); }
static int do_bio_handshake(SSL *client) { (void)client; return BIO_do_handshake(ssl_bio); }

static SSL *new_client(void) {
    SSL *client = SSL_new(client_context);
    new_server();
    SSL_set_bio(client, client_end, client_end);
    SSL_set_connect_state(client);
    if (name != NULL) {
        SSL_set_tlsext_host_name(client, name);
        SSL_set1_host(client, name);
    }
    return client;
}

static int exchange(SSL *client, int (*first)(SSL *)) {
    if (drive(client, first) < 0) {
        // A program that ignores the failure.
        SSL_set_shutdown(client, 0);
        for (int i = 0; i < 3; i++) {
            if (do_write(client) > 0 || do_read(client) > 0) fail("worked after the refusal");
            serve();
        }
        return -1;
    }
    if (first != do_write && first != do_write_ex && first != do_bio_write && drive(client, do_write) < 0) return -1;
    return drive(client, do_read) == 1 ? 1 : -1;
}

static void observe(const SSL *ssl, int where, int value) {
    (void)ssl, (void)value;
    if (where & SSL_CB_HANDSHAKE_DONE) handshakes++;
    if (where & SSL_CB_LOOP) loops++;
}

static int by_symbols_of(int mode) {
    void *library = dlopen("libssl.so.3", mode);
    if (library == NULL) fail(dlerror());
    SSL *(*make)(SSL_CTX *) = (SSL * (*)(SSL_CTX *)) dlsym(library, "SSL_new");
    int (*connects)(SSL *) = (int (*)(SSL *))dlsym(library, "SSL_connect");
    SSL *client = make(client_context);
    new_server();
    SSL_set_bio(client, client_end, client_end);
    SSL_set_tlsext_host_name(client, name);
    return exchange(client, connects);
}

int main(int count, char **arguments) {
    if (count < 5) return 2;
    const char *what = arguments[1];
    server_context = SSL_CTX_new(TLS_server_method());
    client_context = SSL_CTX_new(TLS_client_method());
    load(server_context, arguments[2], arguments[3]);
    SSL_CTX_load_verify_locations(client_context, arguments[4], NULL);
    SSL_CTX_set_verify(client_context, SSL_VERIFY_PEER, NULL);
    if (strstr(what, "1.2")) SSL_CTX_set_max_proto_version(client_context, TLS1_2_VERSION);
    if (strstr(what, "rsa")) SSL_CTX_set_cipher_list(client_context, "AES128-SHA256");
    int result = -1;
    if (strncmp(what, "noname", 6) == 0) name = NULL;
    if (strncmp(what, "write-ex", 8) == 0) result = exchange(new_client(), do_write_ex);
    else if (strncmp(what, "write", 5) == 0) result = exchange(new_client(), do_write);
    else if (strncmp(what, "read-ex", 7) == 0) {
        SSL *client = new_client();
        received -= 1, SSL_set_num_tickets(server, 0);
        // Nothing to read follows, so the handshake is complete when the server waits for data.
        for (int i = 0; i < 10 && !SSL_is_init_finished(server); i++) {
            if (do_read_ex(client) <= 0 && ERR_peek_error() != 0) break;
            serve();
        }
        received += 1;
        result = exchange(client, SSL_do_handshake);
    } else if (strncmp(what, "read", 4) == 0) {
        SSL *client = new_client();
        for (int i = 0; i < 10 && do_read(client) <= 0 && ERR_peek_error() == 0; i++) serve();
        result = exchange(client, SSL_do_handshake);
    } else if (strncmp(what, "peek", 4) == 0) {
        SSL *client = new_client();
        for (int i = 0; i < 10 && do_peek(client) <= 0 && ERR_peek_error() == 0; i++) serve();
        result = exchange(client, SSL_connect);
    } else if (strncmp(what, "bio", 3) == 0) {
        ssl_bio = BIO_new_ssl(client_context, 1);
        new_server();
        BIO_push(ssl_bio, client_end);
        BIO_get_ssl(ssl_bio, &bio_ssl);
        SSL_set_tlsext_host_name(bio_ssl, name);
        result = exchange(bio_ssl, strstr(what, "handshake") ? do_bio_handshake : do_bio_write);
    } else if (strncmp(what, "callback", 8) == 0) {
        SSL_CTX_set_info_callback(client_context, observe);
        SSL *client = new_client();
        if (strstr(what, "ssl")) {
            SSL_CTX_set_info_callback(client_context, NULL);
            SSL_set_info_callback(client, observe);
            if (SSL_get_info_callback(client) != observe) fail("SSL_get_info_callback");
        } else if (SSL_get_info_callback(client) != NULL) fail("SSL_get_info_callback of another's");
        result = exchange(client, SSL_connect);
        if (loops == 0 || (result > 0 && handshakes != 1)) fail("the program's callback wasn't called");
    } else if (strncmp(what, "dup", 3) == 0) {
        SSL *original = SSL_new(client_context);
        SSL_set_info_callback(original, observe);
        SSL_set_connect_state(original);
        SSL *client = SSL_dup(original);
        SSL_free(original);
        new_server();
        SSL_set_bio(client, client_end, client_end);
        SSL_set_tlsext_host_name(client, name);
        result = exchange(client, SSL_connect);
        if (loops == 0) fail("the program's callback wasn't copied");
        SSL_free(client);
    } else if (strncmp(what, "clear", 5) == 0) {
        // The first handshake is with the other certificate, the second with the first, over the same SSL.
        SSL_CTX *first = SSL_CTX_new(TLS_server_method()), *second = server_context;
        load(first, arguments[5], arguments[6]);
        server_context = first;
        SSL *client = new_client();
        int before = exchange(client, SSL_connect);
        printf("first=%d ", before);
        server_context = second;
        if (!SSL_clear(client)) fail("SSL_clear");
        new_server();
        SSL_set_bio(client, client_end, client_end);
        SSL_set_connect_state(client);
        result = exchange(client, SSL_connect);
    } else if (strncmp(what, "keep", 4) == 0) {
        // SSL_clear without other BIOs, after a refusal: the pair is emptied for the next server.
        SSL *client = new_client();
        int before = exchange(client, SSL_connect);
        printf("first=%d ", before);
        SSL_clear(client);
        SSL_set_connect_state(client);
        BIO_reset(client_end);
        BIO_up_ref(server_end);
        SSL_free(server);
        server = SSL_new(server_context);
        SSL_set_bio(server, server_end, server_end);
        SSL_set_accept_state(server);
        result = exchange(client, SSL_connect);
    } else if (strncmp(what, "names", 5) == 0) {
        // SNI and the name that is verified differ.
        SSL_CTX_set_verify(client_context, SSL_VERIFY_NONE, NULL);
        SSL *client = new_client();
        SSL_set1_host(client, "other.example");
        result = exchange(client, SSL_connect);
    } else if (strncmp(what, "rebio", 5) == 0) {
        // A program that ignores the failure, sets the BIO again and continues.
        SSL *client = new_client();
        BIO_up_ref(client_end);
        result = drive(client, SSL_connect);
        SSL_set_bio(client, client_end, client_end);
        for (int i = 0; i < 10; i++) {
            ERR_clear_error();
            SSL_connect(client);
            serve();
        }
        if (do_write(client) > 0 || do_read(client) > 0) fail("worked after the refusal");
        serve();
    } else if (strncmp(what, "renegotiate", 11) == 0) {
        // Otherwise the session is resumed, with the old certificate.
        SSL_CTX_set_options(server_context, SSL_OP_NO_TICKET);
        SSL_CTX_set_session_cache_mode(server_context, SSL_SESS_CACHE_OFF);
        SSL *client = new_client();
        result = exchange(client, SSL_connect);
        SSL_CTX *other = SSL_CTX_new(TLS_server_method());
        load(other, arguments[5], arguments[6]);
        SSL_set_SSL_CTX(server, other);
        SSL_use_certificate_chain_file(server, arguments[5]);
        SSL_use_PrivateKey_file(server, arguments[6], SSL_FILETYPE_PEM);
        if (SSL_renegotiate(server) != 1 || SSL_do_handshake(server) != 1) fail("renegotiate");
        int before = received;
        char byte;
        for (int i = 0; i < 10 && ERR_peek_error() == 0; i++) {
            SSL_read(client, &byte, 1);
            if (ERR_peek_error() != 0) break;
            serve();
        }
        result = exchange(client, do_write);
        printf("after=%d ", received - before);
    } else if (strncmp(what, "dlsym-local", 11) == 0) result = by_symbols_of(RTLD_NOW | RTLD_LOCAL);
    else if (strncmp(what, "early", 5) == 0) {
        // As a program with functions found by dlsym, for which the guard's functions aren't called.
        SSL_CTX_set_max_early_data(server_context, 1000);
        SSL_CTX_set_options(server_context, SSL_OP_NO_ANTI_REPLAY);
        SSL_CTX_set_session_id_context(server_context, (unsigned char *)"cases", 5);
        SSL *client = new_client();
        SSL_CTX_set_session_cache_mode(client_context, SSL_SESS_CACHE_CLIENT);
        result = exchange(client, SSL_connect);
        SSL_SESSION *session = SSL_get1_session(client);
        void *library = dlopen("libssl.so.3", RTLD_NOLOAD | RTLD_LAZY);
        uint32_t (*most)(const SSL_SESSION *) =
            (uint32_t(*)(const SSL_SESSION *))dlsym(library, "SSL_SESSION_get_max_early_data");
        int (*writes)(SSL *, const void *, size_t, size_t *) =
            (int (*)(SSL *, const void *, size_t, size_t *))dlsym(library, "SSL_write_early_data");
        printf("offered=%u seen=%u ", most(session), SSL_SESSION_get_max_early_data(session));
        client = new_client();
        SSL_set_session(client, session);
        size_t done = 0;
        if (strstr(what, "plain")) writes = SSL_write_early_data;
        int wrote = writes(client, "early", 5, &done);
        char bytes[64];
        size_t got = 0;
        int state = SSL_read_early_data(server, bytes, sizeof bytes, &got);
        printf("wrote=%d early=%zu state=%d ", wrote, got, state);
        ERR_print_errors_fp(stderr);
        received += (int)got;
    } else result = exchange(new_client(), strstr(what, "do") ? SSL_do_handshake : SSL_connect);
    printf("bytes=%d\n", received);
    if (result > 0 && ERR_peek_error() != 0 && strncmp(what, "early", 5) != 0) fail("errors stay in the queue");
    return result > 0 ? 0 : 1;
}
