// runner ROUNDS COMMAND… -- COMMAND… --: runs commands in turn, so many rounds, and prints one line for each run:
// its number, wall time in nanoseconds, peak resident set in KiB, wait status, CPU time in nanoseconds.
//
// It is a program of its own because a process inherits the peak of the one that starts it: this one is small.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long nanoseconds(struct timeval time) { return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL; }

int main(int count, char **arguments) {
    char **commands[32];
    int number = 0;
    for (int i = 2, start = 2; i < count && number < 32; i++) {
        if (strcmp(arguments[i], "--") != 0) continue;
        arguments[i] = NULL;
        commands[number++] = arguments + start;
        start = i + 1;
    }
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    int rounds = count > 1 ? atoi(arguments[1]) : 0;
    // Round 0 warms the caches and is not told of.
    for (int round = 0; round <= rounds; round++) {
        for (int turn = 0; turn < number; turn++) {
            int index = round % 2 ? turn : number - 1 - turn;
            pid_t child;
            int status;
            struct rusage usage;
            long long start = now();
            if (posix_spawnp(&child, commands[index][0], &quiet, NULL, commands[index], environ) != 0) return 2;
            if (wait4(child, &status, 0, &usage) != child) return 2;
            long long end = now();
            if (round == 0) continue;
            long long cpu = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
            printf("%d %lld %ld %d %lld\n", index, end - start, usage.ru_maxrss, status, cpu);
        }
    }
    return 0;
}
