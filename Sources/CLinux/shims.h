// Linux calls that Swift's Glibc module leaves out.
#ifndef CLINUX_SHIMS_H
#define CLINUX_SHIMS_H

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "gssapi.h"

#endif
