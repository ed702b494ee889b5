// Starts a program in a way that gives it an environment of its own, or keeps the guard from it: starts WAY
// PROGRAM-WITH-ITS-PATH WORD…
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way;
static char **words, *none[] = {"LANG=C", NULL}, *twice[] = {"LD_PRELOAD=", "A=1", "LD_PRELOAD=libc.so.6", NULL};

static int is(const char *name) { return strcmp(way, name) == 0; }

static int ended(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int shell(int by_popen) {
    char line[4096] = "";
    for (char **word = words; *word != NULL; word++) strcat(strcat(line, *word), " ");
    clearenv();
    if (!by_popen) return WEXITSTATUS(system(line));
    FILE *pipe = popen(line, "r");
    for (int byte; (byte = fgetc(pipe)) != EOF;) putchar(byte);
    return WEXITSTATUS(pclose(pipe));
}

// On a small stack, with an environment that doesn't fit on it.
static void *many(void *result) {
    static char *environment[9001];
    pid_t child;
    for (int i = 0; i < 9000; i++) environment[i] = "VARIABLE=1";
    if (posix_spawn(&child, words[0], NULL, NULL, words, environment) == 0) *(int *)result = ended(child);
    if ((child = vfork()) == 0) execve(words[0], words, environment), _exit(4);
    if (*(int *)result != ended(child)) *(int *)result = 5;
    return NULL;
}

int main(int count, char **arguments) {
    pid_t child = 0;
    if (count < 3) return 2;
    way = arguments[1];
    words = arguments + 2;
    const char *name = strrchr(words[0], '/') + 1;
    char *a[4] = {words[0], words[1], words[1] ? words[2] : NULL, NULL};
    if (is("execve")) execve(words[0], words, none);
    if (is("twice")) execve(words[0], words, twice);
    if (is("execvpe")) execvpe(name, words, none);
    if (is("fexecve")) fexecve(open(words[0], O_RDONLY | O_CLOEXEC), words, none);
    if (is("execveat")) execveat(AT_FDCWD, words[0], words, none, 0);
    if (is("execle")) execle(words[0], a[0], a[1], a[2], a[3], NULL, none);
    if (is("execl")) clearenv(), execl(words[0], a[0], a[1], a[2], a[3], NULL);
    if (is("execlp")) clearenv(), execlp(words[0], a[0], a[1], a[2], a[3], NULL);
    if (is("vfork")) {
        if ((child = vfork()) == 0) execve(words[0], words, none), _exit(4);
        return ended(child);
    }
    if (is("posix_spawn")) return posix_spawn(&child, words[0], NULL, NULL, words, none) ? 4 : ended(child);
    if (is("posix_spawnp")) return posix_spawnp(&child, name, NULL, NULL, words, none) ? 4 : ended(child);
    if (is("system")) return shell(0);
    if (is("popen")) return shell(1);
    if (is("namespace")) return dlmopen(LM_ID_NEWLM, words[0], RTLD_NOW) != NULL ? 0 : (puts(dlerror()), 5);
    if (is("group")) return setegid(65534) ? 6 : (execve(words[0], words, none), 4);
    if (is("user")) return seteuid(65534) ? 6 : (execve(words[0], words, none), 4);
    if (is("root")) return chroot(words[1]) ? 6 : (execve(words[0], words, none), 4);
    if (is("root-shell")) return chroot(words[1]) ? 6 : system(words[0]) == -1 ? 4 : 7;
    if (is("many")) {
        int result = 6;
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 << 10);
        if (pthread_create(&thread, &attributes, many, &result) != 0) return 7;
        pthread_join(thread, NULL);
        return result;
    }
    return 4;
}
