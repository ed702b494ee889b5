// What the guard watches beside handshakes: connections, modules that are loaded, and programs that this one starts.
#define _GNU_SOURCE
#include "guard.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The functions after ours, found when the guard is loaded: a child of fork may call exec, but not the loader.
enum { next_connect, next_dlopen, next_execve, next_execvpe, next_posix_spawn, next_posix_spawnp, count_of_next };
static _Atomic(void *) next_functions[count_of_next];

static void *next_function(int which) {
    static const char *const names[] = {"connect", "dlopen", "execve", "execvpe", "posix_spawn", "posix_spawnp"};
    void *next = atomic_load(&next_functions[which]);
    if (next == NULL) atomic_store(&next_functions[which], next = find(RTLD_NEXT, names[which]));
    return next;
}

// Reports each TCP connection, so that the service knows of those without a question. One that can't be reported fails,
// because it would be hidden otherwise.
EXPORTED int connect(int descriptor, const struct sockaddr *name, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t) = next_function(next_connect);
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

// Symbols of libraries that are loaded with RTLD_DEEPBIND, as PHP loads its extensions, would be found before ours.
// Ends in a jump, because dlopen searches the directories that its caller's module names.
#if __has_attribute(musttail)
#define JUMP __attribute__((musttail)) return
#else
#define JUMP return
#endif
EXPORTED void *dlopen(const char *file, int mode) {
    void *(*next)(const char *, int) = next_function(next_dlopen);
    JUMP next(file, mode & ~RTLD_DEEPBIND);
}

// Programs that look for functions in a library itself get ours.
EXPORTED void *dlsym(void *module, const char *name) {
#define OURS(name) {#name, (void *)name}
    static const struct { const char *name; void *function; } ours[] = {
        OURS(SSL_set_info_callback), OURS(SSL_get_info_callback), OURS(SSL_CTX_set_info_callback),
        OURS(SSL_CTX_get_info_callback), OURS(SSL_SESSION_get_max_early_data),
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

static char own_preload[longest_path + 12] = "LD_PRELOAD=", own_socket[256] = "PINCTL_SOCKET=";

// Whether the guard's path is one of those in a value of LD_PRELOAD, which blanks and colons separate.
static bool is_preloaded(const char *list) {
    size_t length = strlen(own_preload + 11);
    for (const char *at = list; (at = strstr(at, own_preload + 11)) != NULL; at++)
        if ((at == list || strchr(" :", at[-1])) && strchr(" :", at[length]) != NULL) return true;
    return false;
}

// Copies an environment, with the variables that load the guard if they are missing. Doesn't allocate, because the
// caller may be a child of vfork.
static char **with_guard(char *const *environment, char **copy, char *preload) {
    bool has_guard = own_preload[11] == 0, has_service = own_socket[14] == 0;
    size_t count = 0;
    for (; environment != NULL && *environment != NULL; environment++) {
        char *entry = *environment;
        if (strncmp(entry, own_preload, 11) == 0 && !has_guard) {
            if (!is_preloaded(entry + 11))
                entry = strcat(strcat(strcpy(preload, own_preload), ":"), entry + 11);
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

// Declares `guarded`, an environment on the stack of the caller.
#define WITH_GUARD(environment) \
    size_t longest, room = room_for(environment, &longest); \
    char **copy = alloca(room), *preload = alloca(longest); \
    char **guarded = with_guard(environment, copy, preload)

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment) {
    int (*next)(const char *, char *const *, char *const *) = next_function(next_execve);
    WITH_GUARD(environment);
    return next(path, arguments, guarded);
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment) {
    int (*next)(const char *, char *const *, char *const *) = next_function(next_execvpe);
    WITH_GUARD(environment);
    return next(file, arguments, guarded);
}

EXPORTED int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }
EXPORTED int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }

#define SPAWN(name) \
    EXPORTED int name(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions, \
                      const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) { \
        int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
                    char *const *, char *const *) = next_function(next_##name); \
        WITH_GUARD(environment); \
        return next(child, path, actions, attributes, arguments, guarded); \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

__attribute__((constructor)) static void start(void) {
    int error = errno;
    unsigned char bytes[longest_event];
    char text[longest_reason];
    Dl_info info;
    if (dladdr((void *)start, &info) != 0 && realpath(info.dli_fname, own_preload + 11) == NULL) own_preload[11] = 0;
    strcpy(own_socket + 14, service_path());
    watch_forks();
    for (int i = 0; i < count_of_next; i++) next_function(i);
    struct frame frame = frame_of(started, bytes, sizeof bytes);
    ask(&frame, text);
    errno = error;
}
