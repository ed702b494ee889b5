// delay MILLISECONDS PORT COUNT: relays 127.0.2.1:PORT to 127.0.1.1:PORT, and so on for COUNT addresses, and holds every
// byte back for so long in either direction: a network that is far away. Prints a line when it listens, and ends when
// its standard input does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// One end of a relayed connection. What is read here is written to the other end.
struct end {
    int descriptor;
    struct end *other;
    // Whether the last byte of this end was read, and was written to the other.
    int is_read, is_written;
};

// Bytes on their way, none for the end of them.
struct parcel {
    struct parcel *next;
    long long due;
    struct end *from;
    size_t count;
    char bytes[];
};

static struct parcel *first, **last = &first;
static long long delay;
static int poller;

static long long now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int local(int network, int host, int port, struct sockaddr_in *address) {
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    address->sin_addr.s_addr = htonl(0x7F000000u | (unsigned)network << 8 | (unsigned)host);
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void watch(int descriptor, void *pointer) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = pointer};
    epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
}

static void post(struct end *from, const char *bytes, size_t count) {
    struct parcel *parcel = malloc(sizeof *parcel + count);
    *parcel = (struct parcel){.due = now() + delay, .from = from, .count = count};
    memcpy(parcel->bytes, bytes, count);
    *last = parcel;
    last = &parcel->next;
}

static void take(struct end *end) {
    static char bytes[65536];
    ssize_t count = read(end->descriptor, bytes, sizeof bytes);
    if (count <= 0) {
        end->is_read = 1;
        epoll_ctl(poller, EPOLL_CTL_DEL, end->descriptor, NULL);
    }
    post(end, bytes, count > 0 ? (size_t)count : 0);
}

static void deliver(struct parcel *parcel) {
    struct end *from = parcel->from, *to = from->other;
    if (parcel->count > 0) {
        send(to->descriptor, parcel->bytes, parcel->count, MSG_NOSIGNAL);
        return;
    }
    shutdown(to->descriptor, SHUT_WR);
    from->is_written = 1;
    if (!to->is_written) return;
    close(from->descriptor);
    close(to->descriptor);
    free(from < to ? from : to);
}

static void relay(int listener, int host, int port) {
    int near = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (near < 0) return;
    struct sockaddr_in address;
    int far = local(1, host, port, &address);
    if (far < 0 || connect(far, (struct sockaddr *)&address, sizeof address) != 0) {
        close(near);
        if (far >= 0) close(far);
        return;
    }
    int on = 1;
    struct end *ends = calloc(2, sizeof *ends);
    for (int i = 0; i < 2; i++) {
        ends[i].descriptor = i == 0 ? near : far;
        ends[i].other = &ends[1 - i];
        setsockopt(ends[i].descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(ends[i].descriptor, &ends[i]);
    }
}

int main(int argument_count, char **arguments) {
    if (argument_count != 4) return 2;
    delay = atoll(arguments[1]) * 1000000;
    int port = atoi(arguments[2]), count = atoi(arguments[3]);
    // Listeners are known by where they stand in this array.
    static struct end listeners[255];
    static struct end input;
    if (count < 1 || count > 254) return 2;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    poller = epoll_create1(EPOLL_CLOEXEC);
    watch(0, &input);
    for (int host = 1; host <= count; host++) {
        struct sockaddr_in address;
        int listener = local(2, host, port, &address), on = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0) return 2;
        listeners[host].descriptor = listener;
        watch(listener, &listeners[host]);
    }
    printf("listening\n");
    fflush(stdout);
    while (1) {
        long long left = first ? first->due - now() : 0;
        if (left < 0) left = 0;
        struct timespec wait = {left / 1000000000, left % 1000000000};
        struct epoll_event events[64];
        int ready = epoll_pwait2(poller, events, 64, first ? &wait : NULL, NULL);
        for (int i = 0; i < ready; i++) {
            struct end *end = events[i].data.ptr;
            if (end == &input) {
                char bytes[64];
                if (read(0, bytes, sizeof bytes) <= 0) return 0;
            } else if (end >= listeners && end < listeners + 255) {
                relay(end->descriptor, (int)(end - listeners), port);
            } else if (!end->is_read) {
                take(end);
            }
        }
        while (first && first->due <= now()) {
            struct parcel *parcel = first;
            first = parcel->next;
            if (!first) last = &first;
            deliver(parcel);
            free(parcel);
        }
    }
}
