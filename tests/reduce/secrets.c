/* SPDX-License-Identifier: Apache-2.0
 *
 * secrets PTX [hidden]: a program with things to hide (report.sh plants more of them around it). It scales 64 numbers; in its buffers
 * lie words that the kernel doesn't look at, and some that it does. The driver is looked for as any program does it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define BYTES 4096
enum { N = 64 };

static void *lib;

/* A function of the driver with up to 11 arguments, none of them a float. */
static void ask(const char *name, ...)
{
	__builtin_va_list ap;
	uintptr_t a[11];
	int (*f)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
		 uintptr_t, uintptr_t, uintptr_t);
	void *symbol = dlsym(lib, name);
	int rc = -1;

	__builtin_va_start(ap, name);
	for (int i = 0; i < 11; i++)
		a[i] = __builtin_va_arg(ap, uintptr_t);
	__builtin_va_end(ap);
	memcpy(&f, &symbol, sizeof(f));
	if (f)
		rc = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
	if (rc) {
		fprintf(stderr, "%s: %d\n", name, rc);
		exit(1);
	}
}
#define W(x) ((uintptr_t)(x))
#define Z    W(0), W(0), W(0), W(0), W(0), W(0), W(0), W(0), W(0), W(0), W(0)

static uintptr_t upload(const void *data)
{
	uintptr_t p = 0;

	ask("cuMemAlloc_v2", W(&p), W(BYTES), Z);
	ask("cuMemcpyHtoD_v2", p, W(data), W(BYTES), Z);
	return p;
}

int main(int argc, char **argv)
{
	static float in[BYTES / 4], out[BYTES / 4];
	static char text[BYTES];
	uintptr_t context = 0, module = 0, function = 0, a, b, spare, n = N;
	void *params[] = {&b, &a, &spare, &n};

	lib = argc > 1 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	if (!lib)
		return 2;
	prctl(PR_SET_NAME, "SesamThread");
	ask("cuInit", Z);
	ask("cuCtxCreate_v2", W(&context), Z);
	ask("cuModuleLoad", W(&module), W(argv[1]), Z);
	ask("cuModuleGetFunction", W(&function), module, W("scale"), Z);
	for (int i = 0; i < N; i++)
		in[i] = (float)(i * i + 1) / 3;
	memcpy(in + 4, "OffenGelesen", 12); /* the kernel reads it */
	memcpy(in + N + 100, "SesamTail: never read", 21);
	memcpy(text + 1000, "SesamSpare: a pointer leads here", 32);
	a = upload(in);
	spare = upload(text);
	memcpy(text + 1000, "SesamUnused: nothing leads here.", 32);
	upload(text);
	b = upload(out);
	if (argc > 2 && !strcmp(argv[2], "hidden")) /* from who looks for pointers */
		a = ~a;
	ask("cuLaunchKernel", function, W(1), W(1), W(1), W(N), W(1), W(1), W(0), W(0), W(params), W(0));
	ask("cuMemcpyDtoH_v2", W(out), b, W(sizeof(out)), Z);
	ask("cuCtxSynchronize", Z);
	printf("%g\n", (double)out[N - 1]);
	return 0;
}
