/* For every file that calls dlopen, dlsym or dlerror. */
#ifndef OLD_DL_H
#define OLD_DL_H

/* glibc 2.34 has these in libc.so.6 under a new version; the old one is in both (start.c). */
#if defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5\n.symver dlsym,dlsym@GLIBC_2.2.5\n.symver dlerror,dlerror@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17\n.symver dlsym,dlsym@GLIBC_2.17\n.symver dlerror,dlerror@GLIBC_2.17");
#endif

#endif
