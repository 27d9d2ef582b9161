/* Threads that take no signal, from their first moment on: one that had a signal open for an instant could take what the process waits for,
 * and lose it. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* 0 or a positive errno, as pthread_create. */
static inline int thread_start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

#endif
