/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace doctor: asks all parts, then prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "dump/json.h"

enum { EXIT_USAGE = 2, EXIT_COULD_NOT = 125, CHILD_SECONDS = 30 };

/* ---- for the parts ---- */

void doctor_say(struct doctor *doc, const char *section, enum doctor_status status, const char *hint,
		const char *fmt, ...)
{
	struct doctor_check *more = realloc(doc->checks, (doc->nchecks + 1) * sizeof(*more)), *c;
	va_list ap;

	if (!more)
		return;
	doc->checks = more;
	c = &more[doc->nchecks++];
	memset(c, 0, sizeof(*c));
	c->section = section;
	c->status = status;
	va_start(ap, fmt);
	vsnprintf(c->what, sizeof(c->what), fmt, ap);
	va_end(ap);
	if (hint)
		snprintf(c->hint, sizeof(c->hint), "%s", hint);
}

bool doctor_expects_gpu(const struct doctor *doc)
{
	return doc->pci_gpus || doc->driver_gpus;
}

const char *doctor_path(char *out, size_t bytes, const char *fmt, ...)
{
	const char *root = getenv("CUTRACE_TEST_ROOT");
	int n = snprintf(out, bytes, "%s", root ? root : "");
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < bytes)
		vsnprintf(out + n, bytes - (size_t)n, fmt, ap);
	va_end(ap);
	return out;
}

void doctor_read(const char *path, char *out, size_t bytes)
{
	FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (!f)
		return;
	if (!fgets(out, (int)bytes, f))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static void child(void (*fn)(void *out), void *out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	alarm(CHILD_SECONDS);
	fn(out);
	_exit(0); /* no destructors of what was loaded */
}

int doctor_in_child(void (*fn)(void *out), void *out, size_t bytes)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	if (shared == MAP_FAILED)
		return -1;
	memcpy(shared, out, bytes);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(fn, shared);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	memcpy(out, shared, bytes);
	munmap(shared, bytes);
	if (pid < 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* ---- printing ---- */

static unsigned problems(const struct doctor *doc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < doc->nchecks; i++)
		n += doc->checks[i].status == DOCTOR_WRONG;
	return n;
}

static const char *status_name(enum doctor_status s)
{
	static const char *const names[] = {"ok", "note", "wrong"};

	return names[s];
}

/* Words of text on lines of at most 100 columns, on a terminal; elsewhere lines are what grep finds things in. */
static void print_wrapped(const char *first, const char *next, const char *text)
{
	size_t column = (size_t)printf("%s", first);
	size_t width = isatty(STDOUT_FILENO) ? 100 : SIZE_MAX;
	const char *space = "";

	while (*text) {
		size_t n = strcspn(text, " ");

		if (*space && column + 1 + n > width) {
			column = (size_t)printf("\n%s", next) - 1;
			space = "";
		}
		column += (size_t)printf("%s%.*s", space, (int)n, text);
		text += n + (text[n] == ' ');
		space = " ";
	}
	putchar('\n');
}

static void print_text(const struct doctor *doc)
{
	const char *section = "";
	unsigned wrong = problems(doc);

	for (unsigned i = 0; i < doc->nchecks; i++) {
		const struct doctor_check *c = &doc->checks[i];
		char lead[16];

		if (strcmp(section, c->section))
			printf("%s%s\n", i ? "\n" : "", c->section);
		section = c->section;
		snprintf(lead, sizeof(lead), "  %-6s", status_name(c->status));
		print_wrapped(lead, "        ", c->what);
		if (c->hint[0])
			print_wrapped("        -> ", "           ", c->hint);
	}
	printf("\nPrograms run on: %s%s\n", doc->device,
	       getenv("CUTRACE_DEVICE") ? " (CUTRACE_DEVICE says so)"
					: " (--device and CUTRACE_DEVICE choose another)");
	if (wrong)
		printf("%u thing%s wrong\n", wrong, wrong == 1 ? " is" : "s are");
	else
		puts("Nothing is wrong");
}

static void print_gpu(struct json *j, const struct doctor_gpu *g)
{
	json_begin(j, '{');
	json_key_text(j, "name", g->name);
	json_key_text(j, "target", g->target);
	json_key_uint(j, "bytes", g->bytes);
	json_key_uint(j, "compute_units", g->compute_units);
	json_key(j, "virtual_memory_management");
	json_bool(j, g->has_vmm);
	json_key(j, "supported");
	json_bool(j, g->is_supported);
	json_end(j, '}');
}

static void print_json_report(const struct doctor *doc)
{
	struct json j = {.out = stdout};

	json_begin(&j, '{');
	json_key_text(&j, "version", CUTRACE_VERSION);
	json_key_text(&j, "device", doc->device);
	json_key_uint(&j, "problems", problems(doc));
	json_key_text(&j, "hip_library", doc->hip_path[0] ? doc->hip_path : NULL);
	json_key_text(&j, "hip_version", doc->hip_version[0] ? doc->hip_version : NULL);
	json_key_text(&j, "amd_support", "emulated, not yet run on hardware");
	json_key(&j, "gpus");
	json_begin(&j, '[');
	for (unsigned i = 0; i < doc->ngpus; i++)
		print_gpu(&j, &doc->gpus[i]);
	json_end(&j, ']');
	json_key(&j, "checks");
	json_begin(&j, '[');
	for (unsigned i = 0; i < doc->nchecks; i++) {
		const struct doctor_check *c = &doc->checks[i];

		json_begin(&j, '{');
		json_key_text(&j, "section", c->section);
		json_key_text(&j, "status", status_name(c->status));
		json_key_text(&j, "what", c->what);
		json_key_text(&j, "hint", c->hint[0] ? c->hint : NULL);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	json_line(&j);
}

static int usage(FILE *out, int status)
{
	fputs("usage: cutrace doctor [--json]\n\n"
	      "Tells what of this machine cutrace can use: AMD's kernel driver, device files and permissions,\n"
	      "ROCm, GPUs and whether code can be compiled for them, NVIDIA's driver, variables that matter;\n"
	      "what is wrong with it, and what to do. Loads the libraries that it finds, in processes of their\n"
	      "own, and changes nothing.\n\n"
	      "  --json      for programs\n"
	      "  -h, --help  this text\n\n"
	      "Exit status: 0 nothing is wrong (also where there is no GPU: programs run on the interpreter),\n"
	      "1 something that is there does not work, 2 wrong usage.\n",
	      out);
	return status;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor doc = {.device = "interp"};
	bool json = false;
	int status;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return usage(stdout, 0);
		if (strcmp(argv[i], "--json")) {
			fprintf(stderr, "cutrace doctor: error: '%s' is not an option\n", argv[i]);
			return usage(stderr, EXIT_USAGE);
		}
		json = true;
	}
	doctor_driver(&doc);
	doctor_rocm(&doc);
	doctor_compiler(&doc);
	doctor_nvidia(&doc);
	doctor_environment(&doc);
	if (json)
		print_json_report(&doc);
	else
		print_text(&doc);
	status = problems(&doc) ? 1 : 0;
	free(doc.checks);
	if (fflush(stdout)) {
		perror("cutrace doctor: error: cannot write the output");
		return EXIT_COULD_NOT;
	}
	return status;
}
