// What the guard watches beside handshakes and connections: modules that are loaded, and programs that this one starts.
#define _GNU_SOURCE
#include "guard.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wordexp.h>

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

// The guard isn't loaded into another namespace, so what is loaded there connects and sends unseen.
EXPORTED void *dlmopen(Lmid_t space, const char *file, int mode) {
    void *(*next)(Lmid_t, const char *, int) = next_function(next_dlmopen);
    if (space != LM_ID_BASE && !report_itself()) file = "/a library outside the guard, without the verdict service";
    JUMP next(space, file, mode & ~RTLD_DEEPBIND);
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

// Whether the loader of a program that this one starts finds the guard: this one may have changed its root or user.
bool can_be_preloaded(void) { return faccessat(AT_FDCWD, own_preload + 11, R_OK, AT_EACCESS) == 0; }

// Whether the guard's path is one of those in a value of LD_PRELOAD, which blanks and colons separate.
static bool is_preloaded(const char *list) {
    size_t length = strlen(own_preload + 11);
    for (const char *at = list; (at = strstr(at, own_preload + 11)) != NULL; at++)
        if ((at == list || strchr(" :", at[-1])) && strchr(" :", at[length]) != NULL) return true;
    return false;
}

// Returns the room that a copy of an environment with the guard's variables needs, or 0 if they are in this one.
// `entries` is the number of its pointers. The loader takes the last LD_PRELOAD, and programs may take the first.
static size_t room_for(char *const *environment, size_t *entries) {
    bool has_guard = own_preload[11] == 0, has_service = own_socket[14] == 0, is_complete = true;
    size_t longest = 0;
    *entries = 3;
    for (; environment != NULL && *environment != NULL; environment++, ++*entries) {
        has_service |= strncmp(*environment, own_socket, 14) == 0;
        if (strncmp(*environment, own_preload, 11) != 0 || own_preload[11] == 0) continue;
        has_guard = true;
        if (is_preloaded(*environment + 11)) continue;
        is_complete = false;
        longest += strlen(own_preload) + strlen(*environment);
    }
    return is_complete && has_guard && has_service ? 0 : *entries * sizeof *environment + longest;
}

// Copies an environment, with the variables that load the guard if they are missing, into the room that it needs.
static char **with_guard(char *const *environment, size_t entries, void *memory) {
    bool has_guard = own_preload[11] == 0, has_service = own_socket[14] == 0;
    char **copy = memory, *preload = (char *)(copy + entries);
    size_t count = 0;
    for (; environment != NULL && *environment != NULL; environment++) {
        char *entry = *environment;
        if (strncmp(entry, own_preload, 11) == 0 && own_preload[11] != 0) {
            has_guard = true;
            if (!is_preloaded(entry + 11)) {
                char *end = stpcpy(stpcpy(stpcpy(preload, own_preload), ":"), entry + 11);
                entry = preload;
                preload = end + 1;
            }
        }
        has_service |= strncmp(entry, own_socket, 14) == 0;
        copy[count++] = entry;
    }
    if (!has_guard) copy[count++] = own_preload;
    if (!has_service) copy[count++] = own_socket;
    copy[count] = NULL;
    return copy;
}

// Large copies are mapped: stacks may be small, and a child of vfork may not allocate. What such a child maps stays in
// its parent if the exec succeeds.
enum { most_on_stack = 8192 };

static void *map(size_t room) {
    void *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

// Returns what `call` returns, in which `guarded` is the environment with the guard, or `failure` if the program can't
// be started with it.
#define START(directory, path, searches, environment, failure, call) \
    if (!may_start(directory, path, searches)) return errno = EACCES, failure; \
    size_t entries, room = room_for(environment, &entries); \
    void *memory = room == 0 ? NULL : room > most_on_stack ? map(room) : alloca(room); \
    if (room != 0 && memory == NULL) return errno = ENOMEM, failure; \
    char *const *guarded = room == 0 ? environment : with_guard(environment, entries, memory); \
    int result = call, error = errno; \
    if (room > most_on_stack) munmap(memory, room); \
    errno = error; \
    return result

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment) {
    int (*next)(const char *, char *const *, char *const *) = next_function(next_execve);
    START(AT_FDCWD, path, false, environment, -1, next(path, arguments, guarded));
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment) {
    int (*next)(const char *, char *const *, char *const *) = next_function(next_execvpe);
    START(AT_FDCWD, file, true, environment, -1, next(file, arguments, guarded));
}

EXPORTED int fexecve(int file, char *const *arguments, char *const *environment) {
    int (*next)(int, char *const *, char *const *) = next_function(next_fexecve);
    START(file, "", false, environment, -1, next(file, arguments, guarded));
}

EXPORTED int execveat(int directory, const char *path, char *const *arguments, char *const *environment, int flags) {
    int (*next)(int, const char *, char *const *, char *const *, int) = next_function(next_execveat);
    if (next == NULL) return errno = ENOSYS, -1;
    START(directory, path, false, environment, -1, next(directory, path, arguments, guarded, flags));
}

EXPORTED int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }
EXPORTED int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }

// Declares `arguments`, those of a list that ends with NULL, as the C library does it.
#define ARGUMENTS(first) \
    va_list list; \
    size_t count = 1; \
    va_start(list, first); \
    while (va_arg(list, char *) != NULL) count++; \
    va_end(list); \
    char **arguments = alloca((count + 1) * sizeof *arguments); \
    va_start(list, first); \
    arguments[0] = (char *)(uintptr_t)first; \
    for (size_t i = 1; i <= count; i++) arguments[i] = va_arg(list, char *)

EXPORTED int execl(const char *path, const char *first, ...) {
    ARGUMENTS(first);
    va_end(list);
    return execve(path, arguments, environ);
}

EXPORTED int execlp(const char *file, const char *first, ...) {
    ARGUMENTS(first);
    va_end(list);
    return execvpe(file, arguments, environ);
}

EXPORTED int execle(const char *path, const char *first, ...) {
    ARGUMENTS(first);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}

// `child` is a pid_t, or a descriptor of the child, which the C library of some systems can't return.
#define SPAWN(name, searches) \
    EXPORTED int name(int *child, const char *path, const posix_spawn_file_actions_t *actions, \
                      const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) { \
        int (*next)(int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, \
                    char *const *) = next_function(next_##name); \
        if (next == NULL) return ENOSYS; \
        START(AT_FDCWD, path, searches, environment, errno, \
              next(child, path, actions, attributes, arguments, guarded)); \
    }
SPAWN(posix_spawn, false)
SPAWN(posix_spawnp, true)
SPAWN(pidfd_spawn, false)
SPAWN(pidfd_spawnp, true)

// Puts the guard's variables back into this process's environment, for functions that start a shell with it. Returns
// whether the shell may be started.
static bool restore_environment(void) {
    size_t entries;
    if (!may_start(AT_FDCWD, "/bin/sh", false)) return errno = EACCES, false;
    if (room_for(environ, &entries) == 0) return true;
    const char *preload = getenv("LD_PRELOAD");
    if (own_socket[14] != 0 && setenv("PINCTL_SOCKET", own_socket + 14, 0) != 0) return false;
    if (own_preload[11] == 0) return true;
    if (preload == NULL || preload[0] == 0) return setenv("LD_PRELOAD", own_preload + 11, 1) == 0;
    char *both;
    if (asprintf(&both, "%s:%s", own_preload + 11, preload) < 0) return false;
    bool is_set = setenv("LD_PRELOAD", both, 1) == 0;
    free(both);
    return is_set;
}

EXPORTED int system(const char *command) {
    int (*next)(const char *) = next_function(next_system);
    return restore_environment() ? next(command) : -1;
}

EXPORTED FILE *popen(const char *command, const char *mode) {
    FILE *(*next)(const char *, const char *) = next_function(next_popen);
    return restore_environment() ? next(command, mode) : NULL;
}

EXPORTED int wordexp(const char *words, wordexp_t *expanded, int flags) {
    int (*next)(const char *, wordexp_t *, int) = next_function(next_wordexp);
    return restore_environment() ? next(words, expanded, flags) : WRDE_NOSPACE;
}

__attribute__((constructor)) static void start(void) {
    int error = errno;
    unsigned char bytes[longest_event];
    char text[longest_reason];
    Dl_info info;
    if (dladdr((void *)start, &info) != 0 && realpath(info.dli_fname, own_preload + 11) == NULL) own_preload[11] = 0;
    strcpy(own_socket + 14, service_path());
    watch_forks();
    remember_standard_error();
    for (int i = 0; i < count_of_next; i++) next_function(i);
    struct frame frame = frame_of(started, NULL, bytes, sizeof bytes);
    ask(&frame, text);
    report_own_runtime();
    errno = error;
}
