/* SPDX-License-Identifier: Apache-2.0
 *
 * A compile worker that is broken, or worse: what it does is the end of the name that it was started under, behind links.
 */
#include <elf.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zluda_core/compiler/contract.h"
#include "zluda_core/compiler/wire.h"

static void accept_request(void)
{
	struct wire_message request, m;

	wire_receive(WIRE_FD, &request, 0);
	wire_begin(&m, WIRE_ACCEPTED);
	wire_send(WIRE_FD, &m, 0);
}

static void send_raw(uint64_t bytes, uint32_t kind)
{
	const struct {
		uint32_t magic, kind;
		uint64_t bytes;
	} head = {0x63747761, kind, bytes};

	if (write(WIRE_FD, &head, sizeof(head)) < 0)
		_exit(1);
}

/* An answer that is right but for what is in it. */
static void answer(int rc, const void *object, size_t bytes)
{
	struct wire_message m;
	struct diag d = {.what = "this is why"};

	wire_begin(&m, WIRE_COMPILED);
	wire_put_diag(&m, rc, &d);
	wire_put_u32(&m, 0);
	wire_put_string(&m, "");
	wire_put_string(&m, "");
	wire_put_u32(&m, 1);
	wire_put_bytes(&m, object, bytes);
	for (unsigned k = 0; k < 4; k++)
		wire_put_bytes(&m, NULL, 0);
	wire_send(WIRE_FD, &m, 0);
}

static void ends(void)
{
}

static void killed(void)
{
	accept_request();
	raise(SIGKILL);
}

static void hangs(void)
{
	accept_request();
	for (;;)
		pause();
}

static void noise(void)
{
	uint8_t bytes[4096];

	accept_request();
	for (unsigned k = 0; k < sizeof(bytes); k++)
		bytes[k] = (uint8_t)(k * 37 + 11);
	if (write(WIRE_FD, bytes, sizeof(bytes)) < 0)
		_exit(1);
	pause();
}

static void endless(void)
{
	accept_request();
	send_raw(1ull << 40, WIRE_COMPILED);
	pause();
}

static void cut(void)
{
	accept_request();
	send_raw(1ull << 30, WIRE_COMPILED);
}

static void another(void)
{
	struct wire_message m;

	accept_request();
	wire_begin(&m, WIRE_LINES);
	wire_send(WIRE_FD, &m, 0);
	pause();
}

static void asks(void)
{
	struct wire_message m, text;

	accept_request();
	wire_begin(&m, WIRE_NEED_TEXT);
	while (!wire_send(WIRE_FD, &m, 0) && !wire_receive(WIRE_FD, &text, 0))
		wire_free(&text);
}

static void fatal(void)
{
	struct wire_message m;

	accept_request();
	wire_begin(&m, WIRE_FATAL);
	wire_put_string(&m, "LLVM doesn't like this");
	wire_send(WIRE_FD, &m, 0);
}

static void short_answer(void)
{
	struct wire_message m;

	accept_request();
	wire_begin(&m, WIRE_COMPILED);
	wire_put_u32(&m, 0);
	wire_send(WIRE_FD, &m, 0);
	pause();
}

static void empty(void)
{
	accept_request();
	answer(0, NULL, 0);
	pause();
}

/* A sound code object of another kernel. */
static void foreign(void)
{
	struct {
		Elf64_Ehdr h;
		char names[16];
		Elf64_Shdr sections[2];
	} file = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			.e_type = ET_DYN,
			.e_machine = 224,
			.e_shoff = sizeof(Elf64_Ehdr) + 16,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 2,
			.e_shstrndx = 1}};
	const struct contract c = {
		.kernel = "another", .target = "gfx1100", .build = "", .wave = 32, .max_threads = 1024};
	void *object;
	size_t bytes;

	file.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = 1};
	accept_request();
	if (!contract_attach(&file, sizeof(file), &c, NULL, &object, &bytes, NULL))
		answer(0, object, bytes);
	pause();
}

static void refuses(void)
{
	accept_request();
	answer(CUTRACE_EFORMAT, NULL, 0);
	pause();
}

static const struct {
	const char *name;
	void (*run)(void);
} behaviours[] = {
	{"ends", ends},          {"killed", killed},   {"hangs", hangs},
	{"noise", noise},        {"endless", endless}, {"cut", cut},
	{"another", another},    {"asks", asks},       {"fatal", fatal},
	{"short", short_answer}, {"empty", empty},     {"foreign", foreign},
	{"refuses", refuses},
};

/* pause() is for ever: the one that waits is ended with its program. */
static void end_later(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	char name[PATH_MAX];
	ssize_t n = readlink(argv[0], name, sizeof(name) - 1);

	(void)argc;
	if (n <= 0)
		return 2;
	name[n] = '\0';
	signal(SIGALRM, end_later);
	alarm(60);
	for (size_t k = 0; k < sizeof(behaviours) / sizeof(behaviours[0]); k++) {
		size_t length = strlen(behaviours[k].name);

		if ((size_t)n > length && !strcmp(name + n - length, behaviours[k].name)) {
			behaviours[k].run();
			return 0;
		}
	}
	return 2;
}
