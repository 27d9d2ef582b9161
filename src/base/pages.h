/* Pages of memory, taken from the kernel in one call.
 *
 * Page by page, each first touch interrupts the program; in a virtual machine that can take longer than what is done with the page. For
 * memory of which nearly all will be written to.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

void pages_take(void *p, size_t size); /* a kernel before 5.14 refuses, and nothing is lost */

#endif
