#include <stdio.h>

int main(void)
{
	printf("davy %s\n", DAVY_VERSION);
	return 0;
}
