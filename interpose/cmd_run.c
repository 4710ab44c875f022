/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace run: a program on another driver, without recording. Only the environment is changed; cutrace then
 * becomes the program.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/device_option.h"
#include "interpose/record.h"
#include "interpose/target.h"

enum { EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

static void usage(FILE *out)
{
	fputs("usage: cutrace run [--device D | --driver PATH] [--] APP [ARG]...\n\n"
	      "Runs APP with another libcuda.so.1, whichever way it loads it. Nothing is recorded.\n\n"
	      "  --device D      a device of our own driver: hip[:N], AMD GPUs (docs/amd.md);\n"
	      "                  interp[:OPTIONS], an interpreter; amdemu:gfxNNNN[,OPTIONS], code for an\n"
	      "                  AMD GPU on an emulator: gfx90a, gfx942, gfx1030, gfx1100, gfx1151 or\n"
	      "                  gfx1201 (default: CUTRACE_DEVICE, else hip if there is an AMD GPU, else\n"
	      "                  interp)\n"
	      "                  OPTIONS of the last two, separated by commas: deterministic=1;\n"
	      "                  watchdog_ms=N; workers=N; devices=N, so many GPUs\n"
	      "                  interp: check=uninit+races+barriers or check=all looks for reads of\n"
	      "                  unwritten memory, data races, divergent barriers; check_error=1 makes a\n"
	      "                  finding an error (docs/checked-mode.md); cc=MAJOR.MINOR; stack_bytes=N of\n"
	      "                  a thread, for recursion; tensor=seed:N (docs/tensor.md);\n"
	      "                  approx=seed:N, order=seed:N (docs/precision.md);\n"
	      "                  contract=all or contract=seed:N fuses products and sums that PTX allows\n"
	      "                  to be fused\n"
	      "                  amdemu: check_waits=1 makes a result that is used too early an error;\n"
	      "                  perturb=N moves estimates; opt=0..3; print_bytes=N, heap_bytes=N\n"
	      "                  (docs/amdgpu-emulator.md)\n"
	      "  --driver PATH   any other libcuda.so.1\n"
	      "  -h, --help      this text\n\n"
	      "Exits with APP's status; 2 for wrong usage (an unknown option, device or option of a\n"
	      "device), 125 when it could not be started as asked, 126 or 127 when APP can't be executed.\n",
	      out);
}

static int fail(const struct diag *d, int status)
{
	fputs("cutrace run: ", stderr);
	diag_print(d, stderr);
	return status;
}

int cmd_run(int argc, char **argv)
{
	static const struct option longs[] = {{"device", required_argument, NULL, 'd'},
					      {"driver", required_argument, NULL, 'D'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	const char *device = NULL, *driver = NULL;
	struct diag d = DIAG_INIT, warning = DIAG_INIT;
	struct target t;
	int option, status, rc;

	optind = 1;
	while ((option = getopt_long(argc, argv, "+h", longs, NULL)) != -1) {
		switch (option) {
		case 'd': device = optarg; break;
		case 'D': driver = optarg; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return EXIT_USAGE;
		}
	}
	if (optind >= argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	rc = target_find(&t, device || driver ? device : device_option_default(), driver, &d);
	if (rc)
		return fail(&d, rc == CUTRACE_EINVAL ? EXIT_USAGE : EXIT_COULD_NOT);
	if (target_check_program(argv[optind], &warning, &status, &d))
		return fail(&d, status);
	if (warning.code)
		fail(&warning, 0);
	if (target_environment(&t, t.driver, NULL, &d))
		return fail(&d, EXIT_COULD_NOT);
	execvp(argv[optind], argv + optind);
	diag_set(&d, CUTRACE_EIO, argv[optind], "can't be executed: %s", strerror(errno));
	return fail(&d, errno == ENOENT ? 127 : 126);
}
