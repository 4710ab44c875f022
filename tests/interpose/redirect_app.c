/* SPDX-License-Identifier: Apache-2.0
 *
 * redirect_app: prints the driver's version, having found the driver in the way that its build says.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int cuDriverGetVersion(int *version);

int main(void)
{
	int version = 0;
#ifdef CLEAR_ENVIRONMENT /* as daemons do it */
	clearenv();
#endif
#ifdef USE_DLOPEN
	void *handle = dlopen(USE_DLOPEN, RTLD_NOW);
	int (*get)(int *) = handle ? (int (*)(int *))dlsym(handle, "cuDriverGetVersion") : NULL;

	if (!get) {
		puts(dlerror());
		return 1;
	}
	get(&version);
#else
	cuDriverGetVersion(&version);
#endif
	printf("%d\n", version);
	return 0;
}
