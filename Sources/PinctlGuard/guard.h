// The guard: a library for LD_PRELOAD that asks the verdict service about each TLS handshake that this process makes as
// a client, and fails the handshake as OpenSSL or GnuTLS fails a verification if the service doesn't accept it.
//
// It links neither library. Each interposed function finds the next definition through its caller, because a process
// may contain several copies of OpenSSL, some with symbols that only the modules linked with them can see.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define PER_THREAD __attribute__((tls_model("initial-exec"), visibility("hidden")))

// MARK: service.c

enum { question = 1, connected = 2, started = 3, unused = 4, unguarded = 5 };
enum { host = 1, port, address, certificate, ocsp, scts, resumed, program, pid, library_name };
enum { largest_frame = 4 + 262144, largest_answer = 4096, longest_path = 4096, longest_event = longest_path + 100 };
enum { seconds_to_answer = 10, longest_reason = 512 };

struct frame {
    unsigned char *bytes;
    size_t used, size;
    bool too_long;
};

struct peer {
    char address[INET6_ADDRSTRLEN];
    uint16_t port;
};

// Why a handshake of this thread was refused last, until its next handshake.
extern _Thread_local PER_THREAD char reason[longest_reason];
extern _Thread_local PER_THREAD bool reason_shown;

const char *service_path(void);
void put(struct frame *frame, int type, const void *value, size_t length);
void put_peer(struct frame *frame, const struct peer *peer);
struct frame frame_of(int kind, const char *file, void *bytes, size_t size);
struct frame new_question(const char *library);
bool ask(struct frame *frame, char *text);
void remember_standard_error(void);
bool is_accepted(struct frame *frame, const char *sni, const char *expected, const struct peer *peer);
const char *with_reason(const char *text);
bool describe(const struct sockaddr *name, struct peer *peer);
struct peer find_peer(int descriptor);

// MARK: modules.c

#define FUNCTIONS(must, may) \
    must(unsigned long, OpenSSL_version_num, (void)) \
    must(int, CRYPTO_get_ex_new_index, (int, long, void *, void *, void *, void *)) \
    must(int, CRYPTO_set_ex_data, (void *, int, void *)) must(void *, CRYPTO_get_ex_data, (const void *, int)) \
    must(void, CRYPTO_free, (void *, const char *, int)) must(void *, SSL_get_ex_data, (const void *, int)) \
    must(void, SSL_CTX_set_info_callback, (void *, void *)) must(void *, SSL_CTX_get_ex_data, (const void *, int)) \
    must(void *, SSL_get_SSL_CTX, (const void *)) must(void *, SSL_get_session, (const void *)) \
    must(int, SSL_is_server, (const void *)) must(int, SSL_in_before, (const void *)) \
    must(const char *, SSL_state_string, (const void *)) must(const char *, SSL_get_servername, (const void *, int)) \
    must(void *, SSL_get0_param, (void *)) must(int, SSL_get_fd, (const void *)) \
    must(void *, SSL_get_peer_cert_chain, (const void *)) must(long, SSL_ctrl, (void *, int, long, void *)) \
    must(int, SSL_session_reused, (const void *)) must(void, SSL_set_verify_result, (void *, long)) \
    must(void, SSL_set_shutdown, (void *, int)) must(void *, SSL_get_rbio, (const void *)) \
    must(void *, SSL_get_wbio, (const void *)) must(void, SSL_set0_rbio, (void *, void *)) \
    must(void, SSL_set0_wbio, (void *, void *)) must(int, OPENSSL_sk_num, (const void *)) \
    must(void *, OPENSSL_sk_value, (const void *, int)) must(int, i2d_X509, (const void *, unsigned char **)) \
    must(void, X509_free, (void *)) must(void *, BIO_meth_new, (int, const char *)) \
    must(int, BIO_meth_set_write, (void *, void *)) must(int, BIO_meth_set_read, (void *, void *)) \
    must(int, BIO_meth_set_ctrl, (void *, void *)) must(int, BIO_meth_set_destroy, (void *, void *)) \
    must(int, BIO_get_new_index, (void)) must(void *, BIO_new, (const void *)) must(int, BIO_up_ref, (void *)) \
    must(int, BIO_method_type, (const void *)) must(void *, BIO_next, (void *)) \
    must(void, BIO_set_next, (void *, void *)) must(void, BIO_set_init, (void *, int)) \
    must(void, BIO_set_data, (void *, void *)) must(void *, BIO_get_data, (void *)) \
    must(void, BIO_clear_flags, (void *, int)) must(long, BIO_ctrl, (void *, int, long, void *)) \
    must(int, ERR_set_mark, (void)) must(int, ERR_pop_to_mark, (void)) \
    may(void *, SSL_get1_peer_certificate, (const void *)) may(void *, SSL_get_peer_certificate, (const void *)) \
    may(const char *, X509_VERIFY_PARAM_get0_host, (void *, int)) \
    may(char *, X509_VERIFY_PARAM_get1_ip_asc, (void *)) may(int, SSL_SESSION_set_max_early_data, (void *, uint32_t)) \
    may(void, ERR_new, (void)) may(void, ERR_set_debug, (const char *, int, const char *)) \
    may(void, ERR_set_error, (int, int, const char *, ...)) \
    may(void, ERR_put_error, (int, int, int, const char *, int)) may(void, ERR_add_error_data, (int, ...))

// A copy of OpenSSL in this process.
struct library {
    struct library *next;
    const void *base;
    bool is_complete;  // Otherwise no SSL can be made.
    int indexes[2];    // Of `struct state` in the data of an SSL, and of an SSL_CTX.
    int fence_type;
    void *fence;
#define DECLARE(type, name, parameters) type(*name) parameters;
    FUNCTIONS(DECLARE, DECLARE)
};

// A call of an interposed function: where the function after ours is, and the copy of OpenSSL that the caller uses.
struct site {
    const void *caller;
    const char *name;
    void *next;
    struct library *library;
    bool in_library;
};

// The functions after ours that have one definition in a process, found when the guard is loaded: a child of fork may
// call them, but not the loader.
#define SINGLE(each) \
    each(connect) each(sendto) each(sendmsg) each(sendmmsg) each(close) each(dlopen) each(dlmopen) each(execve) \
    each(execvpe) each(fexecve) each(execveat) each(posix_spawn) each(posix_spawnp) each(pidfd_spawn) \
    each(pidfd_spawnp) each(system) each(popen) each(wordexp)
#define NUMBER_OF(name) next_##name,
enum { SINGLE(NUMBER_OF) count_of_next };

void *next_function(int which);
void *(*next_dlsym(void))(void *, const char *);
void *find(void *module, const char *name);
void *module_of(const void *code, const void **base);
struct site *site_of(const void *caller, const char *name);

// MARK: programs.c

bool may_start(int directory, const char *path, bool searches);
bool report_itself(void);
void report_own_runtime(void);

// MARK: processes.c

bool can_be_preloaded(void);

// MARK: openssl.c

bool prepare(struct library *library);
typedef void callback_function(const void *ssl, int where, int value);
void SSL_set_info_callback(void *ssl, callback_function *callback);
callback_function *SSL_get_info_callback(const void *ssl);
void SSL_CTX_set_info_callback(void *context, callback_function *callback);
callback_function *SSL_CTX_get_info_callback(void *context);
uint32_t SSL_SESSION_get_max_early_data(const void *session);
int SSL_write_early_data(void *ssl, const void *bytes, size_t length, size_t *written);
const char *X509_verify_cert_error_string(long error);
const char *ERR_reason_error_string(unsigned long error);

// MARK: gnutls.c

void watch_forks(void);
int gnutls_server_name_set(void *session, int type, const void *name, size_t length);
void gnutls_session_set_verify_cert(void *session, const char *name, unsigned flags);
void gnutls_session_set_verify_cert2(void *session, void *values, unsigned count, unsigned flags);
void gnutls_deinit(void *session);
int gnutls_handshake(void *session);
size_t gnutls_record_get_max_early_data_size(void *session);
ssize_t gnutls_record_send_early_data(void *session, const void *bytes, size_t length);
const char *gnutls_strerror(int error);
