/* Functions that must not be used do not compile. Included by every .c file through base/str.h. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#if defined(__GNUC__) && !defined(DAVY_ALLOW_BANNED)
#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok strncpy strncat atoi atol atof gmtime localtime ctime asctime popen
#endif

#endif
