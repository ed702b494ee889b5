// Linux calls that Swift's Glibc module leaves out, and the types of GSSAPI and zlib.
#ifndef CLINUX_SHIMS_H
#define CLINUX_SHIMS_H

#ifdef __linux__
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

#include "gssapi.h"
#include "inflate.h"

#endif
