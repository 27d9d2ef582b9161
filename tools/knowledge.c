#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[2], "w") : NULL;
	return !f || fputs("empty", f) < 0 || fclose(f);
}
