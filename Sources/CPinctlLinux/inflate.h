// The part of zlib's interface (zlib.h) that decompression needs. The library is loaded at run time, so its headers
// aren't needed for building.
#ifndef CLINUX_INFLATE_H
#define CLINUX_INFLATE_H

// z_stream. inflateInit2_ compares its size with the library's own.
typedef struct CLinux_z_stream {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;

    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;

    const char *msg;
    void *state;

    void *zalloc;
    void *zfree;
    void *opaque;

    int data_type;
    unsigned long adler;
    unsigned long reserved;
} CLinux_z_stream;

typedef int (*CLinux_inflate_init)(CLinux_z_stream *, int, const char *, int);
typedef int (*CLinux_inflate)(CLinux_z_stream *, int);
typedef int (*CLinux_inflate_reset)(CLinux_z_stream *);
typedef int (*CLinux_inflate_end)(CLinux_z_stream *);

#endif
