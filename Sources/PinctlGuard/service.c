// The verdict service: frames, questions and answers.
#define _GNU_SOURCE
#include "guard.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un service = {.sun_family = AF_UNIX};
static const char *no_service;  // Why there is no address in `service`.
static pthread_once_t configured = PTHREAD_ONCE_INIT;

_Thread_local PER_THREAD char reason[longest_reason];
_Thread_local PER_THREAD bool reason_shown;

// Reads the environment once, before the program can change it.
static void configure(void) {
    const char *path = getenv("PINCTL_SOCKET");
    if (path == NULL || path[0] == 0) no_service = "PINCTL_SOCKET isn't set";
    else if (strlen(path) >= sizeof service.sun_path) no_service = "the path in PINCTL_SOCKET is too long";
    else strcpy(service.sun_path, path);
}

// Returns the path of the service's socket, or an empty text.
const char *service_path(void) {
    pthread_once(&configured, configure);
    return service.sun_path;
}

void put(struct frame *frame, int type, const void *value, size_t length) {
    frame->too_long |= length > frame->size - frame->used || frame->size - frame->used - length < 5;
    if (frame->too_long) return;
    unsigned char *field = frame->bytes + frame->used;
    uint32_t size = htonl((uint32_t)length);
    field[0] = (unsigned char)type;
    memcpy(field + 1, &size, 4);
    memmove(field + 5, value, length);
    frame->used += 5 + length;
}

// Begins a frame about a program, or about this one without a file.
struct frame frame_of(int kind, const char *file, void *bytes, size_t size) {
    struct frame frame = {bytes, 6, size, false};
    frame.bytes[4] = 1;
    frame.bytes[5] = (unsigned char)kind;
    // Into the place of the field's value, as stacks may be small.
    ssize_t length = file == NULL ? readlink("/proc/self/exe", (char *)frame.bytes + 11, longest_path) : 0;
    if (file != NULL) put(&frame, program, file, strnlen(file, longest_path - 1));
    else if (length > 0) put(&frame, program, frame.bytes + 11, (size_t)length);
    uint32_t number = htonl((uint32_t)getpid());
    put(&frame, pid, &number, 4);
    return frame;
}

void put_peer(struct frame *frame, const struct peer *peer) {
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

static struct stat standard_error;

// Standard error when the guard was loaded, if it is for texts. A socket of the Internet may be a connection.
void remember_standard_error(void) {
    int family = AF_UNIX;
    socklen_t length = sizeof family;
    if (fstat(2, &standard_error) == 0 && S_ISSOCK(standard_error.st_mode)) {
        getsockopt(2, SOL_SOCKET, SO_DOMAIN, &family, &length);
        if (family != AF_UNIX) standard_error.st_ino = 0;
    }
}

// Prints once why connections and programs fail, because programs say only that they couldn't connect or start. The
// program may have opened another file as standard error, which isn't for this.
static void announce(int kind, const char *text) {
    static atomic_flag is_announced = ATOMIC_FLAG_INIT;
    struct stat now;
    if (kind == started || kind == unused || standard_error.st_ino == 0 || fstat(2, &now) != 0 ||
        now.st_ino != standard_error.st_ino || now.st_dev != standard_error.st_dev) return;
    const char *what = kind == unguarded ? "programs without the guard aren't started" : "connections are refused";
    if (!atomic_flag_test_and_set(&is_announced)) dprintf(2, "pinctl: %s: %s\n", what, text);
}

// Sends a frame, and after a question waits for the answer. Returns whether the service accepted, or got the event.
// Otherwise `text` has the reason. Each call has a connection of its own, so that forked processes share none.
bool ask(struct frame *frame, char *text) {
    service_path();
    if (no_service != NULL) {
        if (frame->bytes != NULL) announce(frame->bytes[5], no_service);
        return strcpy(text, no_service), false;
    }
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
    if (!accepted && failed != NULL) {
        snprintf(text, longest_reason, "%s: %s", failed, strerror(errno));
        announce(frame->bytes[5], text);
    }
    if (descriptor >= 0) close(descriptor);
    pthread_setcancelstate(cancellation, NULL);
    return accepted;
}

bool describe(const struct sockaddr *name, struct peer *peer) {
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

// Finds the peer of a session. Without a known descriptor (-1), it is the only peer that this process is connected to,
// if all of its TCP sockets have the same one.
struct peer find_peer(int descriptor) {
    struct peer found = {.address = ""};
    if (descriptor >= 0 && !peer_of_socket(descriptor, &found)) found.address[0] = 0;
    if (descriptor >= 0) return found;
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

// Asks about each name that the program expects: SNI, and the name that it verifies if that is another. Without both,
// the question has no host: the peer's address is no name of the server, because the peer may be a proxy. On refusal,
// `reason` is set.
bool is_accepted(struct frame *frame, const char *sni, const char *expected, const struct peer *peer) {
    char text[longest_reason - 8];
    char answer[longest_reason] = "";
    const char *names[2] = {sni != NULL ? sni : expected, sni != NULL ? expected : NULL};
    put_peer(frame, peer);
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

struct frame new_question(const char *library) {
    void *bytes = malloc(largest_frame + largest_answer);
    if (bytes == NULL) return (struct frame){.too_long = true};
    struct frame frame = frame_of(question, NULL, bytes, largest_frame);
    put(&frame, library_name, library, strlen(library));
    return frame;
}

const char *with_reason(const char *text) {
    static _Thread_local char both[longest_reason + 128];
    snprintf(both, sizeof both, "%s: %s", text, reason);
    reason_shown = true;
    return both;
}
