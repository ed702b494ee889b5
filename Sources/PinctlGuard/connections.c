// The TCP connections of this process. Each is reported, so that the service knows of those without a question. One
// over which nobody can have sent anything is withdrawn when it ends.
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

// A reported connection. What has no place in the table, or was taken by another thread, isn't withdrawn.
struct attempt {
    atomic_flag is_busy;
    _Atomic int descriptor;  // Plus 1, or 0 for none.
    pid_t process;           // Not a child, whose copies of the descriptors are in the same table.
    ino_t inode;
    struct peer peer;
};

static struct attempt attempts[256];

static struct attempt *attempt_of(int descriptor) { return &attempts[(unsigned)descriptor % 256]; }

static ino_t inode_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

static bool report(int kind, const struct peer *peer, char *text) {
    unsigned char bytes[longest_event];
    struct frame frame = frame_of(kind, NULL, bytes, sizeof bytes);
    put_peer(&frame, peer);
    return ask(&frame, text);
}

static bool has_state(int descriptor, struct tcp_info *information) {
    socklen_t size = sizeof *information;
    memset(information, 0, sizeof *information);
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, information, &size) == 0;
}

// Forgets a reported connection. Returns whether it is this one, without a byte of data that was sent or is to be.
static bool take_unused(int descriptor, struct peer *peer, struct tcp_info *information) {
    struct attempt *attempt = attempt_of(descriptor);
    if (atomic_load(&attempt->descriptor) != descriptor + 1) return false;
    if (atomic_flag_test_and_set(&attempt->is_busy)) return false;
    bool is_unused = attempt->descriptor == descriptor + 1 && attempt->process == getpid() &&
                     attempt->inode == inode_of(descriptor) && has_state(descriptor, information) &&
                     information->tcpi_data_segs_out == 0 && information->tcpi_notsent_bytes == 0;
    *peer = attempt->peer;
    atomic_store(&attempt->descriptor, 0);
    atomic_flag_clear(&attempt->is_busy);
    return is_unused;
}

// Remembers a connection. Returns whether it is a new one: a program may call connect again to learn the result.
static bool remember(int descriptor, const struct peer *peer) {
    struct attempt *attempt = attempt_of(descriptor);
    if (atomic_flag_test_and_set(&attempt->is_busy)) return true;
    ino_t inode = inode_of(descriptor);
    bool is_new = attempt->descriptor != descriptor + 1 || attempt->process != getpid() || attempt->inode != inode ||
                  attempt->peer.port != peer->port || strcmp(attempt->peer.address, peer->address) != 0;
    attempt->process = getpid();
    attempt->inode = inode;
    attempt->peer = *peer;
    atomic_store(&attempt->descriptor, descriptor + 1);
    atomic_flag_clear(&attempt->is_busy);
    return is_new;
}

// Reports a connection, with the result and errno of the call that started it. One that can't be reported fails,
// because it would be hidden otherwise.
static ssize_t watched(int descriptor, const struct sockaddr *name, ssize_t result) {
    enum { closed = 7 };  // TCP_CLOSE
    int kind = 0, error = errno;
    struct peer peer;
    struct tcp_info information;
    socklen_t size = sizeof kind;
    char text[longest_reason];
    if (result < 0 && error != EINPROGRESS && error != EINTR) return result;
    bool is_watched = describe(name, &peer) && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 &&
                      kind == SOCK_STREAM;
    // An attempt that has failed already, as on loopback.
    if (is_watched && result < 0 && has_state(descriptor, &information)) is_watched = information.tcpi_state != closed;
    if (is_watched && remember(descriptor, &peer) && !report(connected, &peer, text)) {
        shutdown(descriptor, SHUT_RDWR);
        result = -1;
        error = EACCES;
    }
    errno = error;
    return result;
}

EXPORTED int connect(int descriptor, const struct sockaddr *name, socklen_t length) {
    int (*next)(int, const struct sockaddr *, socklen_t) = next_function(next_connect);
    return (int)watched(descriptor, name, next(descriptor, name, length));
}

// With TCP Fast Open, the first bytes are sent with the connection.
EXPORTED ssize_t sendto(int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *name,
                        socklen_t length) {
    ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = next_function(next_sendto);
    ssize_t result = next(descriptor, bytes, count, flags, name, length);
    return flags & MSG_FASTOPEN && name != NULL ? watched(descriptor, name, result) : result;
}

EXPORTED ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    ssize_t (*next)(int, const struct msghdr *, int) = next_function(next_sendmsg);
    ssize_t result = next(descriptor, message, flags);
    return flags & MSG_FASTOPEN && message->msg_name != NULL ? watched(descriptor, message->msg_name, result) : result;
}

EXPORTED int sendmmsg(int descriptor, struct mmsghdr *messages, unsigned count, int flags) {
    int (*next)(int, struct mmsghdr *, unsigned, int) = next_function(next_sendmmsg);
    int result = next(descriptor, messages, count, flags);
    const struct sockaddr *name = flags & MSG_FASTOPEN && count > 0 ? messages[0].msg_hdr.msg_name : NULL;
    return name != NULL ? (int)watched(descriptor, name, result) : result;
}

// Whether the only file in a set was closed everywhere: then it isn't in the set any more.
static bool is_empty(int set) {
    char path[32] = "/proc/self/fdinfo/", bytes[512];
    snprintf(path + strlen(path), sizeof path - strlen(path), "%d", set);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, bytes, sizeof bytes) : -1;
    if (file >= 0) close(file);
    return length > 0 && memmem(bytes, (size_t)length, "tfd:", 4) == NULL;
}

// A client that tries several addresses closes those that it doesn't use. A duplicate may still send.
EXPORTED int close(int descriptor) {
    int (*next)(int) = next_function(next_close);
    struct peer peer;
    struct tcp_info information;
    int error = errno;
    if (descriptor < 0 || !take_unused(descriptor, &peer, &information)) {
        errno = error;
        return next(descriptor);
    }
    struct epoll_event nothing = {.events = 0};
    int set = epoll_create1(EPOLL_CLOEXEC);
    bool is_in_set = set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &nothing) == 0;
    errno = error;
    int result = next(descriptor);
    error = errno;
    char text[longest_reason];
    if (is_in_set && is_empty(set)) report(unused, &peer, text);
    if (set >= 0) next(set);
    errno = error;
    return result;
}

// Withdraws those that failed, at the end of the program.
__attribute__((destructor)) static void end(void) {
    enum { closed = 7 };  // TCP_CLOSE
    struct peer peer;
    struct tcp_info information;
    char text[longest_reason];
    for (int i = 0; i < 256; i++) {
        int descriptor = atomic_load(&attempts[i].descriptor) - 1;
        if (descriptor >= 0 && take_unused(descriptor, &peer, &information) && information.tcpi_state == closed)
            report(unused, &peer, text);
    }
}
