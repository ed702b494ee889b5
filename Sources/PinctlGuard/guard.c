// The guard: a library for LD_PRELOAD that asks the verdict service about each TLS handshake that this process makes as a
// client, and fails the handshake as OpenSSL or GnuTLS fails a verification if the service doesn't accept it.
//
// It links neither library. Each interposed function finds the next definition through its caller, because a process may
// contain several copies of OpenSSL, some with symbols that only the modules linked with them can see.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <alloca.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// MARK: The verdict service

enum { question = 1, connected = 2, started = 3 };
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

static struct sockaddr_un service = {.sun_family = AF_UNIX};
static const char *no_service;  // Why there is no address in `service`.
static pthread_once_t configured = PTHREAD_ONCE_INIT;

// Why a handshake of this thread was refused last, until its next handshake.
static _Thread_local __attribute__((tls_model("initial-exec"))) char reason[longest_reason];
static _Thread_local __attribute__((tls_model("initial-exec"))) bool reason_shown;

// Reads the environment once, before the program can change it.
static void configure(void) {
    const char *path = getenv("PINCTL_SOCKET");
    if (path == NULL || path[0] == 0) no_service = "PINCTL_SOCKET isn't set";
    else if (strlen(path) >= sizeof service.sun_path) no_service = "the path in PINCTL_SOCKET is too long";
    else strcpy(service.sun_path, path);
}

static void put(struct frame *frame, int type, const void *value, size_t length) {
    frame->too_long |= length > frame->size - frame->used || frame->size - frame->used - length < 5;
    if (frame->too_long) return;
    unsigned char *field = frame->bytes + frame->used;
    uint32_t size = htonl((uint32_t)length);
    field[0] = (unsigned char)type;
    memcpy(field + 1, &size, 4);
    memmove(field + 5, value, length);
    frame->used += 5 + length;
}

static struct frame frame_of(int kind, void *bytes, size_t size) {
    struct frame frame = {bytes, 6, size, false};
    frame.bytes[4] = 1;
    frame.bytes[5] = (unsigned char)kind;
    // Into the place of the field's value, as stacks may be small.
    ssize_t length = readlink("/proc/self/exe", (char *)frame.bytes + 11, longest_path);
    if (length > 0) put(&frame, program, frame.bytes + 11, (size_t)length);
    uint32_t number = htonl((uint32_t)getpid());
    put(&frame, pid, &number, 4);
    return frame;
}

static void put_peer(struct frame *frame, const struct peer *peer) {
    if (peer->address[0] == 0) return;
    uint16_t number = htons(peer->port);
    put(frame, address, peer->address, strlen(peer->address));
    put(frame, port, &number, 2);
}

static int milliseconds_until(const struct timespec *deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long left = (deadline->tv_sec - now.tv_sec) * 1000 + (deadline->tv_nsec - now.tv_nsec) / 1000000;
    return left > 0 ? (int)left : 0;
}

// Sends or receives exactly `length` bytes before the deadline. On failure, errno has the reason.
static bool transfer(int descriptor, bool sends, unsigned char *bytes, size_t length, const struct timespec *deadline) {
    while (length > 0) {
        ssize_t done = sends ? send(descriptor, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT)
                             : recv(descriptor, bytes, length, MSG_DONTWAIT);
        if (done > 0) {
            bytes += done;
            length -= (size_t)done;
        } else if (done == 0) {
            errno = ECONNRESET;
            return false;
        } else if (errno == EAGAIN) {
            struct pollfd waiting = {descriptor, sends ? POLLOUT : POLLIN, 0};
            int ready = poll(&waiting, 1, milliseconds_until(deadline));
            if (ready == 0) errno = ETIMEDOUT;
            if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
        } else if (errno != EINTR) return false;
    }
    return true;
}

// Returns the verdict of an answer without its length, and copies its reason. Refuses what isn't exactly as specified.
static bool is_acceptance(const unsigned char *answer, size_t length, char *text) {
    const char *invalid = "the verdict service sent an invalid answer";
    bool accepts = false;
    unsigned seen = 0;
    text[0] = 0;
    if (answer[0] != 1 || answer[1] != 1) return strcpy(text, invalid), false;
    for (size_t at = 2; at < length;) {
        uint32_t size;
        if (length - at < 5) return strcpy(text, invalid), false;
        unsigned type = answer[at];
        memcpy(&size, answer + at + 1, 4);
        size = ntohl(size);
        at += 5;
        if (type < 1 || type > 3 || seen & 1u << type || size > length - at || (type == 1 && size != 1))
            return strcpy(text, invalid), false;
        seen |= 1u << type;
        if (type == 1) accepts = answer[at] == 1;
        for (size_t i = 0; type == 2 && i < size && i < longest_reason - 1; i++) {
            text[i] = answer[at + i] < ' ' || answer[at + i] == 127 ? '?' : (char)answer[at + i];
            text[i + 1] = 0;
        }
        at += size;
    }
    if (!(seen & 2)) return strcpy(text, invalid), false;
    if (!accepts && text[0] == 0) strcpy(text, "the verdict service refused the handshake");
    return accepts;
}

// Sends a frame, and after a question waits for the answer. Returns whether the service accepted, or got the event.
// Otherwise `text` has the reason. Each call has a connection of its own, so that forked processes share none.
static bool ask(struct frame *frame, char *text) {
    pthread_once(&configured, configure);
    if (no_service != NULL) return strcpy(text, no_service), false;
    if (frame->too_long) return strcpy(text, "the certificate chain is too long"), false;
    int cancellation, descriptor = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += seconds_to_answer;
    unsigned char *answer = frame->bytes + largest_frame;  // Of a question.
    uint32_t size = htonl((uint32_t)frame->used - 4);
    memcpy(frame->bytes, &size, 4);
    struct stat before, after;
    bool accepted = false;

    const char *failed = "can't connect to the verdict service";
    int opened = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Not 0 to 2, which other threads may write to if the program closed them.
    descriptor = opened >= 0 && opened < 3 ? fcntl(opened, F_DUPFD_CLOEXEC, 3) : opened;
    if (descriptor != opened) {
        int error = errno;
        close(opened);
        errno = error;
    }
    if (descriptor < 0 || fstat(descriptor, &before) != 0) goto done;
    // The time limit of connect, which waits while the service's queue is full.
    struct timeval limit = {seconds_to_answer, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    while (connect(descriptor, (struct sockaddr *)&service, sizeof service) != 0)
        if (errno != EINTR || milliseconds_until(&deadline) == 0) goto done;
    failed = "no answer from the verdict service";
    if (!transfer(descriptor, true, frame->bytes, frame->used, &deadline)) goto done;
    if (frame->bytes[5] != question) {
        accepted = true;
        goto done;
    }
    if (!transfer(descriptor, false, answer, 4, &deadline)) goto done;
    memcpy(&size, answer, 4);
    size = ntohl(size);
    failed = NULL;
    if (size < 2 || size > largest_answer) strcpy(text, "the verdict service sent an invalid answer");
    else if (!transfer(descriptor, false, answer, size, &deadline)) failed = "the verdict service's answer is cut off";
    // Another thread may have closed the descriptor, whose number is then another file's.
    else if (fstat(descriptor, &after) != 0 || after.st_ino != before.st_ino || after.st_dev != before.st_dev)
        strcpy(text, "the connection to the verdict service was closed by the program");
    else accepted = is_acceptance(answer, size, text);
done:
    if (!accepted && failed != NULL) snprintf(text, longest_reason, "%s: %s", failed, strerror(errno));
    if (descriptor >= 0) close(descriptor);
    pthread_setcancelstate(cancellation, NULL);
    return accepted;
}

// MARK: Peers

static bool describe(const struct sockaddr *name, struct peer *peer) {
    const struct sockaddr_in *four = (const void *)name;
    const struct sockaddr_in6 *six = (const void *)name;
    if (name->sa_family == AF_INET) {
        peer->port = ntohs(four->sin_port);
        return inet_ntop(AF_INET, &four->sin_addr, peer->address, sizeof peer->address) != NULL;
    }
    if (name->sa_family != AF_INET6) return false;
    peer->port = ntohs(six->sin6_port);
    bool mapped = IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);
    return inet_ntop(mapped ? AF_INET : AF_INET6, six->sin6_addr.s6_addr + (mapped ? 12 : 0), peer->address,
                     sizeof peer->address) != NULL;
}

static bool peer_of_socket(int descriptor, struct peer *peer) {
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    return getpeername(descriptor, (struct sockaddr *)&name, &length) == 0 && describe((struct sockaddr *)&name, peer);
}

// Finds the peer of a session. Without a known descriptor, it is the only peer that this process is connected to, if
// all of its TCP sockets have the same one.
static struct peer find_peer(int descriptor) {
    struct peer found = {.address = ""};
    if (descriptor >= 0 && peer_of_socket(descriptor, &found)) return found;
    found.address[0] = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) return found;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct peer peer;
        int kind = 0, number = atoi(entry->d_name);
        socklen_t length = sizeof kind;
        if (entry->d_name[0] == '.' || getsockopt(number, SOL_SOCKET, SO_TYPE, &kind, &length) != 0) continue;
        if (kind != SOCK_STREAM || !peer_of_socket(number, &peer)) continue;
        if (found.address[0] == 0) found = peer;
        else if (strcmp(found.address, peer.address) != 0 || found.port != peer.port) {
            found.address[0] = 0;
            break;
        }
    }
    closedir(directory);
    return found;
}

// MARK: The functions of other libraries

#define FUNCTIONS(must, may) \
    must(unsigned long, OpenSSL_version_num, (void)) \
    must(int, CRYPTO_get_ex_new_index, (int, long, void *, void *, void *, void *)) \
    must(int, CRYPTO_set_ex_data, (void *, int, void *)) must(void *, CRYPTO_get_ex_data, (const void *, int)) \
    must(void, CRYPTO_free, (void *, const char *, int)) must(void *, SSL_get_ex_data, (const void *, int)) \
    must(void, SSL_set_info_callback, (void *, void *)) must(void *, SSL_CTX_get_info_callback, (void *)) \
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
    int index;         // Of `struct state` in the data of an SSL.
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

static _Atomic(struct library *) libraries;
static _Atomic(struct site *) sites[1024];

static void release_state(void *, void *, void *, int, long, void *);
static int copy_state(void *, const void *, void **, int, long, void *);
static int refuse_transfer(void *, void *, int);
static long control_fence(void *, int, long, void *);
static int destroy_fence(void *);

// The dlsym after ours. Calls of it are looked up from this library.
static void *(*next_dlsym(void))(void *, const char *) {
    static _Atomic(void *(*)(void *, const char *)) cached;
    void *(*next)(void *, const char *) = atomic_load(&cached);
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (int i = 0; next == NULL && i < 3; i++) atomic_store(&cached, next = dlvsym(RTLD_NEXT, "dlsym", versions[i]));
    return next;
}

static void *find(void *module, const char *name) { return next_dlsym()(module, name); }

// Returns the module that contains an address, which stays loaded from then on.
static void *module_of(const void *code, const void **base) {
    Dl_info info;
    struct link_map *map;
    *base = NULL;
    if (code == NULL || dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) return NULL;
    *base = info.dli_fbase;
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static struct library *known_library(const void *base) {
    struct library *library = atomic_load(&libraries);
    while (library != NULL && library->base != base) library = library->next;
    return library;
}

// Returns the functions of the copy of OpenSSL that a module is linked with, or NULL if there is none. Its version is
// checked, because LibreSSL and OpenSSL 1.0 number the classes of CRYPTO_new_ex_data otherwise.
static struct library *library_of(void *module) {
    const void *base, *own;
    void *function = module != NULL ? find(module, "SSL_get_ex_data") : NULL;
    if (function == NULL) function = find(RTLD_DEFAULT, "SSL_get_ex_data");
    void *handle = module_of(function, &base);
    struct library *library = known_library(base);
    if (handle == NULL || library != NULL) return library;
    unsigned long (*version)(void) = find(handle, "OpenSSL_version_num");
    if (version == NULL || version() < 0x10100000 || version() == 0x20000000) return NULL;
    library = calloc(1, sizeof *library);
    if (library == NULL) return NULL;
    library->base = base;
    library->is_complete = true;
#define LOAD(type, name, parameters) *(void **)&library->name = find(handle, #name);
#define REQUIRE(type, name, parameters) LOAD(type, name, parameters) library->is_complete &= library->name != NULL;
    FUNCTIONS(REQUIRE, LOAD)
    module_of((void *)library->SSL_set_info_callback, &base);
    module_of((void *)library_of, &own);
    library->is_complete &= base != own;
    if (library->is_complete) {
        library->index = library->CRYPTO_get_ex_new_index(0, 0, library, NULL, (void *)copy_state, (void *)release_state);
        library->fence_type = library->BIO_get_new_index() | 0x200;  // BIO_TYPE_FILTER
        library->fence = library->BIO_meth_new(library->fence_type, "pinctl");
        library->is_complete = library->index > 0 && library->fence != NULL &&
                               library->BIO_meth_set_write(library->fence, (void *)refuse_transfer) &&
                               library->BIO_meth_set_read(library->fence, (void *)refuse_transfer) &&
                               library->BIO_meth_set_ctrl(library->fence, (void *)control_fence) &&
                               library->BIO_meth_set_destroy(library->fence, (void *)destroy_fence);
    }
    library->next = atomic_load(&libraries);
    while (!atomic_compare_exchange_weak(&libraries, &library->next, library))
        if (known_library(library->base) != NULL) break;  // Another thread's. What this one registered stays unused.
    return known_library(library->base);
}

// Returns what is known about a call. Doesn't lock, because the caller may hold the loader's lock.
static struct site *site_of(const void *caller, const char *name) {
    static _Thread_local struct site spare;
    size_t slot = (((uintptr_t)caller ^ (uintptr_t)name >> 3) * 0x9E3779B9u >> 12) % 1024, probes = 0;
    struct site *site;
    for (; probes < 16 && (site = atomic_load(&sites[(slot + probes) % 1024])) != NULL; probes++)
        if (site->caller == caller && site->name == name) return site;
    int error = errno;
    const void *base, *own;
    site = malloc(sizeof *site);
    if (site == NULL || probes == 16) {
        free(site);
        site = &spare;
    }
    void *module = module_of(caller, &base);
    site->caller = caller;
    site->name = name;
    site->library = strncmp(name, "gnutls", 6) == 0 ? NULL : library_of(module);
    site->in_library = site->library != NULL && site->library->base == base;
    // First among what the caller is linked with. In the program itself, that may be our function.
    site->next = module != NULL ? find(module, name) : NULL;
    module_of((void *)site_of, &own);
    module_of(site->next, &base);
    if (base == own) site->next = NULL;
    if (site->next == NULL) site->next = find(RTLD_NEXT, name);
    // The caller found our function by dlsym, or is another preloaded library.
    const char *known[] = {"libssl.so.3", "libssl.so.1.1", "libgnutls.so.30"};
    for (int i = 0; site->next == NULL && i < 3; i++) {
        module = dlopen(known[i], RTLD_LAZY | RTLD_NOLOAD);
        if (module != NULL) site->next = find(module, name);
        if (module != NULL && site->library == NULL && i < 2) site->library = library_of(module);
    }
    struct site *empty = NULL;
    if (site != &spare) atomic_compare_exchange_strong(&sites[(slot + probes) % 1024], &empty, site);
    errno = error;
    return site;
}

// MARK: Questions

// Asks about each name that the program expects: SNI, and the name that it verifies if that is another. Without both,
// about the peer's address. On refusal, `reason` is set.
static bool is_accepted(struct frame *frame, const char *sni, const char *expected, const struct peer *peer) {
    char text[longest_reason - 8];
    char answer[longest_reason] = "";
    const char *names[2] = {sni != NULL ? sni : expected, sni != NULL ? expected : NULL};
    put_peer(frame, peer);
    if (names[0] == NULL && peer->address[0] != 0) names[0] = peer->address;
    for (int i = 0; i < 2 && (i == 0 || names[i] != NULL); i++) {
        struct frame copy = *frame;
        if (names[i] != NULL) put(&copy, host, names[i], strlen(names[i]));
        if (ask(&copy, answer)) continue;
        snprintf(text, sizeof text, "%s", answer);
        snprintf(reason, sizeof reason, "pinctl: %s", text);
        reason_shown = false;
        return false;
    }
    return true;
}

static struct frame new_question(const char *library) {
    void *bytes = malloc(largest_frame + largest_answer);
    if (bytes == NULL) return (struct frame){.too_long = true};
    struct frame frame = frame_of(question, bytes, largest_frame);
    put(&frame, library_name, library, strlen(library));
    return frame;
}

// MARK: OpenSSL

// What the guard keeps for an SSL.
struct state {
    void (*callback)(const void *, int, int);  // The program's.
    char *name;                                // SNI when the handshake started.
    bool is_judged;                            // In this handshake.
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

// Returns a fence before a BIO that stays the program's, or NULL without memory. An SSL without a BIO can't send either.
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

// Lets all further transfers of an SSL fail as a verification fails. The handshake fails with the next one: the client's
// last messages aren't sent, so the server can't continue either.
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

// Starts a handshake: forgets the last one, and lets this one offer no early data, which would be sent before a verdict.
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

// The information callback of every SSL. The verdict comes before the client's last messages: after ServerHelloDone, or
// in TLS 1.3 and resumed sessions after the server's Finished. Calls the program's callback, too.
static void observe(const void *constant, int where, int value) {
    enum { loop = 0x01, start = 0x10, done = 0x20 };
    struct library *library = site_of(CALLER, "SSL_get_ex_data")->library;
    if (library == NULL || !library->is_complete) return;
    void *ssl = (void *)(uintptr_t)constant;
    struct state *state = library->SSL_get_ex_data(ssl, library->index);
    if (state == NULL) return;
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
    void (*callback)(const void *, int, int) = state->callback;
    if (callback == NULL) callback = library->SSL_CTX_get_info_callback(library->SSL_get_SSL_CTX(ssl));
    if (callback != NULL && callback != observe) callback(ssl, where, value);
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

// libssl calls this function of libcrypto for each new SSL, however the program found SSL_new. In SSL_set_info_callback
// the SSL is complete enough, and its callback has priority over that of its context.
EXPORTED int CRYPTO_new_ex_data(int class, void *object, void *data) {
    struct site *site = site_of(CALLER, "CRYPTO_new_ex_data");
    struct library *library = site->library;
    int (*next)(int, void *, void *) = site->next;
    if (next == NULL || !next(class, object, data)) return 0;
    if (class != 0 || !site->in_library) return 1;
    struct state *state = library->is_complete ? calloc(1, sizeof *state) : NULL;
    if (state == NULL || !library->CRYPTO_set_ex_data(data, library->index, state)) return free(state), 0;
    library->SSL_set_info_callback(object, (void *)observe);
    return 1;
}

static struct state *state_of(const struct site *site, const void *ssl) {
    if (site->library == NULL || !site->library->is_complete) return NULL;
    return site->library->SSL_get_ex_data(ssl, site->library->index);
}

EXPORTED void SSL_set_info_callback(void *ssl, void (*callback)(const void *, int, int)) {
    struct site *site = site_of(CALLER, "SSL_set_info_callback");
    struct state *state = state_of(site, ssl);
    void (*next)(void *, void (*)(const void *, int, int)) = site->next;
    if (state != NULL) state->callback = callback == observe ? NULL : callback;
    else if (next != NULL) next(ssl, callback);
}

EXPORTED void (*SSL_get_info_callback(const void *ssl))(const void *, int, int) {
    struct site *site = site_of(CALLER, "SSL_get_info_callback");
    struct state *state = state_of(site, ssl);
    void (*(*next)(const void *))(const void *, int, int) = site->next;
    return state != NULL ? state->callback : next != NULL ? next(ssl) : NULL;
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

static const char *with_reason(const char *text) {
    static _Thread_local char both[longest_reason + 128];
    snprintf(both, sizeof both, "%s: %s", text, reason);
    reason_shown = true;
    return both;
}

EXPORTED const char *ERR_reason_error_string(unsigned long error) {
    const char *(*next)(unsigned long) = site_of(CALLER, "ERR_reason_error_string")->next;
    const char *text = next != NULL ? next(error) : NULL;
    return text != NULL && reason[0] != 0 && strcmp(text, "certificate verify failed") == 0 ? with_reason(text) : text;
}

// MARK: GnuTLS

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

// MARK: Connections

// Reports each TCP connection, so that the service knows of those without a question. One that can't be reported fails,
// because it would be hidden otherwise.
EXPORTED int connect(int descriptor, const struct sockaddr *name, socklen_t length) {
    static _Atomic(int (*)(int, const struct sockaddr *, socklen_t)) cached;
    int (*next)(int, const struct sockaddr *, socklen_t) = atomic_load(&cached);
    if (next == NULL) atomic_store(&cached, next = find(RTLD_NEXT, "connect"));
    int result = next(descriptor, name, length), error = errno;
    if (result != 0 && error != EINPROGRESS && error != EINTR) return result;
    struct peer peer;
    int kind = 0;
    struct tcp_info information = {.tcpi_state = 0};
    socklen_t size = sizeof kind, whole = sizeof information;
    bool is_watched = describe(name, &peer) && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 &&
                      kind == SOCK_STREAM;
    // An attempt that has failed already, as on loopback.
    if (is_watched && result != 0 && getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &information, &whole) == 0)
        is_watched = information.tcpi_state != TCP_CLOSE;
    if (is_watched) {
        unsigned char bytes[longest_event];
        char text[longest_reason];
        struct frame frame = frame_of(connected, bytes, sizeof bytes);
        put_peer(&frame, &peer);
        if (!ask(&frame, text)) {
            shutdown(descriptor, SHUT_RDWR);
            result = -1;
            error = EACCES;
        }
    }
    errno = error;
    return result;
}

// Symbols of libraries that are loaded with RTLD_DEEPBIND, as PHP loads its extensions, would be found before ours. Ends
// in a jump, because dlopen searches the directories that its caller's module names.
#if __has_attribute(musttail)
#define JUMP __attribute__((musttail)) return
#else
#define JUMP return
#endif
EXPORTED void *dlopen(const char *file, int mode) {
    static _Atomic(void *(*)(const char *, int)) cached;
    void *(*next)(const char *, int) = atomic_load(&cached);
    if (next == NULL) atomic_store(&cached, next = find(RTLD_NEXT, "dlopen"));
    JUMP next(file, mode & ~RTLD_DEEPBIND);
}

// Programs that look for functions in a library itself get ours.
EXPORTED void *dlsym(void *module, const char *name) {
#define OURS(name) {#name, (void *)name}
    static const struct { const char *name; void *function; } ours[] = {
        OURS(SSL_set_info_callback), OURS(SSL_get_info_callback), OURS(SSL_SESSION_get_max_early_data),
        OURS(SSL_write_early_data), OURS(X509_verify_cert_error_string), OURS(ERR_reason_error_string),
        OURS(gnutls_server_name_set), OURS(gnutls_session_set_verify_cert), OURS(gnutls_session_set_verify_cert2),
        OURS(gnutls_deinit), OURS(gnutls_handshake), OURS(gnutls_record_get_max_early_data_size),
        OURS(gnutls_record_send_early_data), OURS(gnutls_strerror)};
    void *(*next)(void *, const char *) = next_dlsym();
    bool may_be_ours = module != RTLD_NEXT && module != RTLD_DEFAULT;
    for (size_t i = 0; may_be_ours && i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i].name) == 0) return next(module, name) != NULL ? ours[i].function : NULL;
    JUMP next(module, name);
}

// MARK: Programs that this one starts

static char own_preload[longest_path + 12] = "LD_PRELOAD=", own_socket[sizeof service.sun_path + 14] = "PINCTL_SOCKET=";

// Copies an environment, with the variables that load the guard if they are missing. Doesn't allocate, because the caller
// may be a child of vfork.
static char **with_guard(char *const *environment, char **copy, char *preload) {
    bool has_guard = own_preload[11] == 0, has_service = own_socket[14] == 0;
    size_t count = 0;
    for (; environment != NULL && *environment != NULL; environment++) {
        char *entry = *environment;
        if (strncmp(entry, own_preload, 11) == 0 && !has_guard) {
            if (strstr(entry, own_preload + 11) == NULL) entry = strcat(strcat(strcpy(preload, own_preload), ":"), entry + 11);
            has_guard = true;
        }
        has_service |= strncmp(entry, own_socket, 14) == 0;
        copy[count++] = entry;
    }
    if (!has_guard) copy[count++] = own_preload;
    if (!has_service) copy[count++] = own_socket;
    copy[count] = NULL;
    return copy;
}

static size_t room_for(char *const *environment, size_t *longest) {
    size_t count = 3;
    *longest = sizeof own_preload + 1;
    for (; environment != NULL && *environment != NULL; environment++, count++)
        if (strncmp(*environment, own_preload, 11) == 0) *longest += strlen(*environment);
    return count * sizeof *environment;
}

#define WITH_GUARD(environment) with_guard(environment, alloca(room_for(environment, &longest)), alloca(longest))

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment) {
    size_t longest;
    int (*next)(const char *, char *const *, char *const *) = find(RTLD_NEXT, "execve");
    return next(path, arguments, WITH_GUARD(environment));
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment) {
    size_t longest;
    int (*next)(const char *, char *const *, char *const *) = find(RTLD_NEXT, "execvpe");
    return next(file, arguments, WITH_GUARD(environment));
}

EXPORTED int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }
EXPORTED int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }

#define SPAWN(name) \
    EXPORTED int name(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, \
                      const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) { \
        size_t longest; \
        int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
                    char *const *, char *const *) = find(RTLD_NEXT, #name); \
        return next(child, path, actions, attributes, arguments, WITH_GUARD(environment)); \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

__attribute__((constructor)) static void start(void) {
    int error = errno;
    unsigned char bytes[longest_event];
    char text[longest_reason];
    Dl_info info;
    if (dladdr((void *)start, &info) != 0 && realpath(info.dli_fname, own_preload + 11) == NULL) own_preload[11] = 0;
    pthread_once(&configured, configure);
    strcpy(own_socket + 14, service.sun_path);
    pthread_atfork(lock_table, unlock_table, unlock_table);
    struct frame frame = frame_of(started, bytes, sizeof bytes);
    ask(&frame, text);
    errno = error;
}
