/* The entry of the program, and old versions of the few symbols that glibc 2.34 moved: linked on a new distribution, the probe starts on an
 * old one. The usual crt1.o would ask for __libc_start_main of glibc 2.34; a library that was linked there would ask for dlopen of the
 * same. */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#ifdef OLDEST
extern int __libc_start_main(int (*program)(int, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*rtld_fini)(void), void *stack_end);
int main(int argc, char **argv);

__asm__(".symver __libc_start_main,__libc_start_main@" OLDEST);
#endif

#if defined(__x86_64__)
__asm__(".text\n"
	".globl _start\n"
	".type _start,@function\n"
	"_start:\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rsp, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	andq $-16, %rsp\n"
	"	call probe_start\n"
	"	hlt\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl _start\n"
	".type _start,%function\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x1, x0\n"
	"	mov x0, sp\n"
	"	bl probe_start\n"
	"	brk #1\n");
#endif

#ifdef OLDEST
void probe_start(long *stack, void (*rtld_fini)(void));

void probe_start(long *stack, void (*rtld_fini)(void))
{
	__libc_start_main(main, (int)stack[0], (char **)(stack + 1), 0, 0, rtld_fini, stack);
}
#endif
