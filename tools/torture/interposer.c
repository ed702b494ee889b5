// Fails one call of a program, chosen by its number. Loaded with LD_PRELOAD by tools/torture/run, which builds it.
//
// TORTURE_PAGE names a file that both processes map (struct page). TORTURE_CALL says which call fails and how:
//
//     FUNCTION NUMBER ERROR KINDS MODE
//
// FUNCTION is a name in `names`. The calls of OpenSSL's allocator are named "allocate". NUMBER counts its calls from 1.
// ERROR is an errno value. KINDS are the letters of the files to which the error can happen, or "*" for calls without a
// file; if the call's file is of another kind, the call isn't changed. MODE is one of
//
//     once    the call fails
//     onward  the call and all later ones fail, as on a full disk
//     short   reading or writing transfers one byte
//     end     reading from a socket finds its end
//     signal  the call succeeds, and the signal with the number ERROR comes before it
//
// Without TORTURE_CALL, calls are only counted. Children of the program aren't changed: the constructor removes the
// variables. Calls that the C library makes itself aren't seen, such as those of getaddrinfo.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES(X) X(allocate) X(accept) X(access) X(chmod) X(close) X(connect) X(epoll_create) X(epoll_ctl) X(epoll_wait) \
    X(eventfd) X(flock) X(fopen) X(fsync) X(getaddrinfo) X(getrandom) X(getsockopt) X(link) X(mkdir) X(mmap) X(open) \
    X(poll) X(posix_spawn) X(pthread_create) X(read) X(readdir) \
    X(readlink) X(realpath) X(recv) X(rename) X(rmdir) X(send) X(setsockopt) X(socket) X(stat) \
    X(unlink) X(waitpid) X(write)

#define ENUM(name) call_##name,
enum call { NAMES(ENUM) call_count };
#define TEXT(name) #name,
static const char *const names[call_count] = { NAMES(TEXT) };

struct page {
    // 0: the call didn't come. 1: it failed. 2: it came, and its file is of another kind.
    _Atomic unsigned fired;
    // The caller: an offset in a file, or a line of OpenSSL's source.
    char where[252];
    // The library in which the program crashed, if it did.
    char crash[64];
    _Atomic unsigned counts[call_count];
};

static struct page nowhere, *page = &nowhere;
static enum call target = call_count;
static unsigned number;
static int error_code;
static char kinds[16], mode[8];

// The last registration of each descriptor, to report its readiness again after an EAGAIN or a short transfer that wasn't
// true: the kernel reports it when a socket that had no input or room has some again, and programs rely on that.
static struct { int poller; struct epoll_event event; } registered[1024];

#define REAL(name) ({ \
    static __typeof__(&name) found; \
    if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    found; })

static void note(void *caller) {
    Dl_info info;
    if (dladdr(caller, &info) && info.dli_fname) {
        const char *file = strrchr(info.dli_fname, '/');
        snprintf(page->where, sizeof page->where, "%s+%#lx", file ? file + 1 : info.dli_fname,
                 (unsigned long)((char *)caller - (char *)info.dli_fbase));
    }
}

static char kind_of(int descriptor) {
    int saved = errno;
    struct stat status;
    char kind = '?';
    if (REAL(fstat)(descriptor, &status) == 0)
        kind = S_ISREG(status.st_mode) ? 'f' : S_ISDIR(status.st_mode) ? 'd' : S_ISFIFO(status.st_mode) ? 'p'
             : S_ISSOCK(status.st_mode) ? 's' : S_ISCHR(status.st_mode) ? 'c' : '?';
    errno = saved;
    return kind;
}

// Whether libdispatch made the call, where it is a library of its own. It opens files in programs that run for a second
// or more, and ends a program in which that fails.
static int is_of_dispatch(void *caller) {
    Dl_info library;
    return caller && dladdr(caller, &library) && library.dli_fname && strstr(library.dli_fname, "/libdispatch.so");
}

// Whether this call shall fail. `kind` is the kind of its file, or '*'.
static int fails(enum call call, char kind, void *caller) {
    if (call == target && is_of_dispatch(caller)) return 0;
    unsigned count = atomic_fetch_add(&page->counts[call], 1) + 1;
    if (call != target || count < number || (count > number && strcmp(mode, "onward") != 0)) return 0;
    if (!strchr(kinds, kind)) {
        if (count == number) atomic_store(&page->fired, 2);
        return 0;
    }
    if (atomic_exchange(&page->fired, 1) != 1 && caller) note(caller);
    if (strcmp(mode, "signal") == 0) {
        raise(error_code);
        return 0;
    }
    errno = error_code;
    return 1;
}
#define FAILS(call, kind) fails(call_##call, kind, __builtin_return_address(0))

static void report_again(int descriptor) {
    int saved = errno;
    if (descriptor >= 0 && descriptor < 1024 && registered[descriptor].poller > 0)
        REAL(epoll_ctl)(registered[descriptor].poller, EPOLL_CTL_MOD, descriptor, &registered[descriptor].event);
    errno = saved;
}

static int is(const char *word) { return strcmp(mode, word) == 0; }

// EAGAIN happens to non-blocking descriptors only.
static char kind_of_transfer(int descriptor) {
    char kind = kind_of(descriptor);
    if (error_code == EAGAIN && target != call_count && is("once")) {
        int flags = fcntl(descriptor, F_GETFL);
        if (flags >= 0 && !(flags & O_NONBLOCK)) return '-';
    }
    return kind;
}

ssize_t read(int descriptor, void *buffer, size_t size) {
    if (!FAILS(read, kind_of_transfer(descriptor))) return REAL(read)(descriptor, buffer, size);
    if (is("short")) return REAL(read)(descriptor, buffer, size ? 1 : 0);
    if (is("end")) return 0;
    report_again(descriptor);
    return -1;
}

ssize_t pread(int descriptor, void *buffer, size_t size, off_t offset) {
    if (!FAILS(read, kind_of(descriptor))) return REAL(pread)(descriptor, buffer, size, offset);
    return is("short") ? REAL(pread)(descriptor, buffer, size ? 1 : 0, offset) : -1;
}

ssize_t pread64(int descriptor, void *buffer, size_t size, off64_t offset) {
    if (!FAILS(read, kind_of(descriptor))) return REAL(pread64)(descriptor, buffer, size, offset);
    return is("short") ? REAL(pread64)(descriptor, buffer, size ? 1 : 0, offset) : -1;
}

ssize_t write(int descriptor, const void *buffer, size_t size) {
    if (!FAILS(write, kind_of_transfer(descriptor))) return REAL(write)(descriptor, buffer, size);
    return is("short") ? REAL(write)(descriptor, buffer, size ? 1 : 0) : -1;
}

ssize_t pwrite(int descriptor, const void *buffer, size_t size, off_t offset) {
    if (!FAILS(write, kind_of(descriptor))) return REAL(pwrite)(descriptor, buffer, size, offset);
    return is("short") ? REAL(pwrite)(descriptor, buffer, size ? 1 : 0, offset) : -1;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    return FAILS(write, kind_of(descriptor)) ? -1 : REAL(writev)(descriptor, parts, count);
}

ssize_t recv(int descriptor, void *buffer, size_t size, int flags) {
    if (!FAILS(recv, kind_of_transfer(descriptor))) return REAL(recv)(descriptor, buffer, size, flags);
    if (is("end")) return 0;
    if (is("short")) {
        ssize_t count = REAL(recv)(descriptor, buffer, size ? 1 : 0, flags);
        report_again(descriptor);
        return count;
    }
    report_again(descriptor);
    return -1;
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    if (!FAILS(recv, kind_of_transfer(descriptor))) return REAL(recvmsg)(descriptor, message, flags);
    report_again(descriptor);
    return -1;
}

ssize_t send(int descriptor, const void *buffer, size_t size, int flags) {
    if (!FAILS(send, kind_of_transfer(descriptor))) return REAL(send)(descriptor, buffer, size, flags);
    if (is("short")) {
        ssize_t count = REAL(send)(descriptor, buffer, size ? 1 : 0, flags);
        report_again(descriptor);
        return count;
    }
    report_again(descriptor);
    return -1;
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    if (!FAILS(send, kind_of_transfer(descriptor))) return REAL(sendmsg)(descriptor, message, flags);
    report_again(descriptor);
    return -1;
}

// The letter of an open is 'n' if it can create a file, and 'o' otherwise. Those in /proc don't count: once a second,
// libdispatch looks at its threads there, and it traps if it can't.
#define FAILS_OPEN(path, flags) (strncmp(path, "/proc/", 6) != 0 && FAILS(open, flags & O_CREAT ? 'n' : 'o'))
static mode_t mode_of(int flags, va_list more) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t rights = mode_of(flags, more); \
        va_end(more); \
        return FAILS_OPEN(path, flags) ? -1 : REAL(name)(path, flags, rights); \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t rights = mode_of(flags, more); \
        va_end(more); \
        return FAILS_OPEN(path, flags) ? -1 : REAL(name)(directory, path, flags, rights); \
    }
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *how) { return FAILS(fopen, '*') ? NULL : REAL(fopen)(path, how); }
FILE *fopen64(const char *path, const char *how) { return FAILS(fopen, '*') ? NULL : REAL(fopen64)(path, how); }

// The descriptor is closed even if closing fails (close(2)).
int close(int descriptor) {
    int failed = FAILS(close, kind_of(descriptor));
    if (descriptor >= 0 && descriptor < 1024) registered[descriptor].poller = 0;
    int result = REAL(close)(descriptor);
    if (!failed) return result;
    errno = error_code;
    return -1;
}

int fsync(int descriptor) { return FAILS(fsync, kind_of(descriptor)) ? -1 : REAL(fsync)(descriptor); }
int fdatasync(int descriptor) { return FAILS(fsync, kind_of(descriptor)) ? -1 : REAL(fdatasync)(descriptor); }

#define PLAIN(call, name, parameters, arguments) \
    int name parameters { return FAILS(call, '*') ? -1 : REAL(name) arguments; }
PLAIN(rename, rename, (const char *from, const char *to), (from, to))
PLAIN(rename, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
PLAIN(rename, renameat2, (int from, const char *old, int to, const char *new, unsigned flags), (from, old, to, new, flags))
PLAIN(link, link, (const char *from, const char *to), (from, to))
PLAIN(link, linkat, (int from, const char *old, int to, const char *new, int flags), (from, old, to, new, flags))
PLAIN(unlink, unlink, (const char *path), (path))
PLAIN(unlink, unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
PLAIN(rmdir, rmdir, (const char *path), (path))
PLAIN(mkdir, mkdir, (const char *path, mode_t rights), (path, rights))
PLAIN(mkdir, mkdirat, (int directory, const char *path, mode_t rights), (directory, path, rights))
PLAIN(chmod, chmod, (const char *path, mode_t rights), (path, rights))
PLAIN(chmod, fchmod, (int descriptor, mode_t rights), (descriptor, rights))
PLAIN(access, access, (const char *path, int rights), (path, rights))
PLAIN(stat, stat, (const char *restrict path, struct stat *restrict status), (path, status))
PLAIN(stat, lstat, (const char *restrict path, struct stat *restrict status), (path, status))
PLAIN(stat, fstat, (int descriptor, struct stat *status), (descriptor, status))
PLAIN(stat, fstatat, (int directory, const char *restrict path, struct stat *restrict status, int flags),
      (directory, path, status, flags))
PLAIN(stat, stat64, (const char *restrict path, struct stat64 *restrict status), (path, status))
PLAIN(stat, lstat64, (const char *restrict path, struct stat64 *restrict status), (path, status))
PLAIN(stat, fstat64, (int descriptor, struct stat64 *status), (descriptor, status))
PLAIN(stat, fstatat64, (int directory, const char *restrict path, struct stat64 *restrict status, int flags),
      (directory, path, status, flags))
PLAIN(waitpid, waitpid, (pid_t child, int *status, int flags), (child, status, flags))
PLAIN(flock, flock, (int descriptor, int operation), (descriptor, operation))
PLAIN(socket, socket, (int family, int type, int protocol), (family, type, protocol))
PLAIN(accept, accept, (int descriptor, struct sockaddr *restrict address, socklen_t *restrict size),
      (descriptor, address, size))
PLAIN(accept, accept4, (int descriptor, struct sockaddr *restrict address, socklen_t *restrict size, int flags),
      (descriptor, address, size, flags))
PLAIN(setsockopt, setsockopt, (int descriptor, int level, int option, const void *value, socklen_t size),
      (descriptor, level, option, value, size))
PLAIN(epoll_create, epoll_create1, (int flags), (flags))
PLAIN(epoll_wait, epoll_wait, (int poller, struct epoll_event *events, int count, int milliseconds),
      (poller, events, count, milliseconds))
PLAIN(eventfd, eventfd, (unsigned count, int flags), (count, flags))
PLAIN(poll, poll, (struct pollfd *entries, nfds_t count, int milliseconds), (entries, count, milliseconds))

ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size) {
    return FAILS(readlink, '*') ? -1 : REAL(readlink)(path, buffer, size);
}
ssize_t readlinkat(int directory, const char *restrict path, char *restrict buffer, size_t size) {
    return FAILS(readlink, '*') ? -1 : REAL(readlinkat)(directory, path, buffer, size);
}
char *realpath(const char *restrict path, char *restrict found) {
    return FAILS(realpath, '*') ? NULL : REAL(realpath)(path, found);
}
struct dirent *readdir(DIR *directory) { return FAILS(readdir, '*') ? NULL : REAL(readdir)(directory); }
struct dirent64 *readdir64(DIR *directory) { return FAILS(readdir, '*') ? NULL : REAL(readdir64)(directory); }

int getentropy(void *buffer, size_t size) { return FAILS(getrandom, '*') ? -1 : REAL(getentropy)(buffer, size); }
ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    return FAILS(getrandom, '*') ? -1 : REAL(getrandom)(buffer, size, flags);
}

void *mmap(void *address, size_t size, int rights, int flags, int descriptor, off_t offset) {
    return FAILS(mmap, '*') ? MAP_FAILED : REAL(mmap)(address, size, rights, flags, descriptor, offset);
}
void *mmap64(void *address, size_t size, int rights, int flags, int descriptor, off64_t offset) {
    return FAILS(mmap, '*') ? MAP_FAILED : REAL(mmap64)(address, size, rights, flags, descriptor, offset);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict settings, void *(*body)(void *),
                   void *restrict argument) {
    return FAILS(pthread_create, '*') ? error_code : REAL(pthread_create)(thread, settings, body, argument);
}

int posix_spawn(pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
                const posix_spawnattr_t *restrict settings, char *const words[restrict], char *const variables[restrict]) {
    return FAILS(posix_spawn, '*') ? error_code : REAL(posix_spawn)(child, path, actions, settings, words, variables);
}

// The errors are EAI_AGAIN and the like, which are negative.
int getaddrinfo(const char *restrict host, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
    return FAILS(getaddrinfo, '*') ? error_code : REAL(getaddrinfo)(host, service, hints, found);
}

// An interrupted call goes on in the background.
int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    if (!FAILS(connect, '*')) return REAL(connect)(descriptor, address, size);
    if (error_code == EINTR) REAL(connect)(descriptor, address, size);
    errno = error_code;
    return -1;
}

// The only option that programs read is the error of a connect that went on in the background.
int getsockopt(int descriptor, int level, int option, void *restrict value, socklen_t *restrict size) {
    if (level != SOL_SOCKET || option != SO_ERROR || *size < sizeof(int) || !FAILS(getsockopt, '*'))
        return REAL(getsockopt)(descriptor, level, option, value, size);
    *(int *)value = error_code;
    return 0;
}

int epoll_ctl(int poller, int operation, int descriptor, struct epoll_event *event) {
    if (operation != EPOLL_CTL_DEL && FAILS(epoll_ctl, '*')) return -1;
    if (operation != EPOLL_CTL_DEL && descriptor >= 0 && descriptor < 1024) {
        registered[descriptor].event = *event;
        registered[descriptor].poller = poller;
    }
    return REAL(epoll_ctl)(poller, operation, descriptor, event);
}

// OpenSSL's allocator.

static int refuses(const char *file, int line) {
    if (!fails(call_allocate, '*', NULL)) return 0;
    if (!page->where[0]) snprintf(page->where, sizeof page->where, "OpenSSL %s:%d", file ? file : "", line);
    return 1;
}
static void *allocate(size_t size, const char *file, int line) { return refuses(file, line) ? NULL : malloc(size); }
static void *reallocate(void *old, size_t size, const char *file, int line) {
    return refuses(file, line) ? NULL : realloc(old, size);
}
static void release(void *old, const char *file, int line) {
    (void)file, (void)line;
    free(old);
}

// Notes the first library on the stack other than the C library, whose functions crash for their callers.
static void crashed(int signal_number) {
    void *frames[32];
    int count = backtrace(frames, 32);
    Dl_info info, here;
    dladdr((void *)crashed, &here);
    for (int index = 0; index < count && !page->crash[0]; index++)
        if (dladdr(frames[index], &info) && info.dli_fbase != here.dli_fbase && info.dli_fname
            && !strstr(info.dli_fname, "/libc.so"))
            snprintf(page->crash, sizeof page->crash, "%s", strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1
                                                                                       : info.dli_fname);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TORTURE_PAGE"), *call = getenv("TORTURE_CALL");
    if (path) {
        int descriptor = REAL(open)(path, O_RDWR | O_CLOEXEC);
        void *mapped = descriptor < 0 ? MAP_FAILED
            : REAL(mmap)(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (mapped == MAP_FAILED) _exit(99);
        REAL(close)(descriptor);
        page = mapped;
    }
    __typeof__(&CRYPTO_set_mem_functions) set = (__typeof__(set))dlsym(RTLD_DEFAULT, "CRYPTO_set_mem_functions");
    if (set && !set(allocate, reallocate, release)) _exit(99);
    // Loads the unwinder now, while nothing fails.
    void *frame;
    backtrace(&frame, 1);
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    char name[32];
    if (call) {
        if (sscanf(call, "%31s %u %d %15s %7s", name, &number, &error_code, kinds, mode) != 5) _exit(99);
        for (target = 0; target < call_count && strcmp(names[target], name) != 0;) target++;
        if (target == call_count) _exit(99);
    }
    unsetenv("TORTURE_PAGE");
    unsetenv("TORTURE_CALL");
    unsetenv("LD_PRELOAD");
}
