// Programs that this one starts, or is, whose connections the guard can't see. They are reported.
#define _GNU_SOURCE
#include "guard.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));  // The guard's own, by the linker.

// Returns whether the service got the report.
static bool report(const char *path) {
    unsigned char bytes[longest_event];
    char text[longest_reason];
    struct frame frame = frame_of(unguarded, path, bytes, sizeof bytes);
    return ask(&frame, text);
}

// Reads a program's header and segments. Returns the number of segments, or -1 if the file isn't a program of the
// guard's kind, which the loader can't combine with it.
static int read_segments(int file, ElfW(Phdr) segments[32]) {
    ElfW(Ehdr) header;
    if (pread(file, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, __ehdr_start.e_ident, EI_VERSION) != 0 || header.e_machine != __ehdr_start.e_machine ||
        header.e_phentsize != sizeof *segments) return -1;
    size_t size = (header.e_phnum < 32 ? header.e_phnum : 32) * sizeof *segments;
    return pread(file, segments, size, (off_t)header.e_phoff) == (ssize_t)size ? (int)(size / sizeof *segments) : -1;
}

// Whether the loader preloads a library into a program: its interpreter is the loader of this C library.
static bool is_dynamic(int file) {
    ElfW(Phdr) segments[32];
    int count = read_segments(file, segments);
    for (int i = 0; i < count; i++) {
        char loader[256] = "";
        if (segments[i].p_type != PT_INTERP) continue;
        if (pread(file, loader, sizeof loader - 1, (off_t)segments[i].p_offset) <= 0) return false;
        return strstr(loader, "/ld-linux") != NULL || strstr(loader, "/ld64.so") != NULL;
    }
    return false;
}

// Whether the loader ignores LD_PRELOAD, because the program will have other rights than this process's real user and
// group. The process may have changed its effective ones.
static bool gains_rights(int file) {
    struct stat status;
    if (fstat(file, &status) != 0) return true;
    return (status.st_mode & S_ISUID ? status.st_uid : geteuid()) != getuid() ||
           (status.st_mode & S_ISGID ? status.st_gid : getegid()) != getgid() ||
           (geteuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0);
}

// Whether the guard won't be loaded into a program, or into the interpreter that a script names. One that can't be read
// may be unguarded. One that can't be run isn't a program.
static bool is_unguarded(int directory, const char *path, int depth) {
    char line[256];
    if (path[0] != 0 && faccessat(directory, path, X_OK, AT_EACCESS) != 0) return false;
    int file = path[0] != 0 ? openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : dup(directory);
    if (file < 0) return errno == EACCES;
    struct stat status;
    ssize_t length = pread(file, line, sizeof line - 1, 0);
    bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    bool is_script = length > 2 && line[0] == '#' && line[1] == '!';
    bool is_program = length > 4 && memcmp(line, ELFMAG, SELFMAG) == 0;
    bool is_guarded = !is_file || is_script || !is_program ||
                      (is_dynamic(file) && !gains_rights(file) && can_be_preloaded());
    close(file);
    if (!is_file || !is_script || depth == 4) return !is_guarded;
    line[length] = 0;
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    interpreter[strcspn(interpreter, " \t\n")] = 0;
    return is_unguarded(AT_FDCWD, interpreter, depth + 1);
}

// Whether a program may be started: the guard will be loaded into it, or the service knows that it won't. `searches`
// means PATH, for names without a slash. Doesn't allocate, because the caller may be a child of vfork.
bool may_start(int directory, const char *path, bool searches) {
    int error = errno;
    char found[longest_path];
    const char *list = getenv("PATH");
    bool may = true;
    if (path == NULL || (path[0] == 0 && directory < 0)) return true;
    if (!searches || strchr(path, '/') != NULL) {
        if (is_unguarded(directory, path, 0)) may = report(path[0] != 0 ? path : "a program without a path");
        errno = error;
        return may;
    }
    for (const char *at = list != NULL ? list : "/bin:/usr/bin"; at != NULL;) {
        size_t length = strcspn(at, ":"), rest = strlen(path);
        if (length + rest + 2 < sizeof found) {
            memcpy(found, at, length);
            found[length] = '/';
            memcpy(found + length + (length > 0), path, rest + 1);
            if (access(found, X_OK) == 0) {
                if (is_unguarded(AT_FDCWD, found, 0)) may = report(found);
                break;
            }
        }
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    errno = error;
    return may;
}

// Reports this program, of whose connections some aren't seen. Returns whether the service got the report.
bool report_itself(void) {
    char path[longest_path];
    ssize_t end = readlink("/proc/self/exe", path, sizeof path - 1);
    path[end > 0 ? end : 0] = 0;
    return report(path);
}

// Reports this program if it is one in Go, which calls the system itself: its connections aren't seen.
void report_own_runtime(void) {
    ElfW(Phdr) segments[32];
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), count = file >= 0 ? read_segments(file, segments) : 0;
    for (int i = 0; i < count; i++) {
        char notes[256];
        if (segments[i].p_type != PT_NOTE) continue;
        size_t size = segments[i].p_filesz < sizeof notes ? segments[i].p_filesz : sizeof notes;
        ssize_t length = pread(file, notes, size, (off_t)segments[i].p_offset);
        // A name in a note, and the type of a build identifier.
        if (length <= 0 || memmem(notes, (size_t)length, "\4\0\0\0Go\0\0", 8) == NULL) continue;
        report_itself();
        break;
    }
    if (file >= 0) close(file);
}
