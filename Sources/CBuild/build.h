// What the build knows and the sources don't. Swift can't be given a value on the command line, but a C macro can.

#ifndef CBUILD_H
#define CBUILD_H

// The commit that the program was built from, in hexadecimal. tools/package defines it, and other builds don't.
#ifndef PINCTL_COMMIT
#define PINCTL_COMMIT ""
#endif

#endif
