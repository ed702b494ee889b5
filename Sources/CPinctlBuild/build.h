// What the build knows and the sources don't. Swift can't be given a value on the command line, but a C macro can.

#ifndef CBUILD_H
#define CBUILD_H

// tools/package defines it, and other builds don't.
#ifndef PINCTL_COMMIT
#define PINCTL_COMMIT 0
#endif

// The first 16 hexadecimal digits of the commit that the program was built from, or 0 if it isn't known. Swift imports no
// macro of the command line, only a constant with its value.
static const unsigned long long CBuild_commit = PINCTL_COMMIT;

#endif
