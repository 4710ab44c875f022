/* SPDX-License-Identifier: Apache-2.0
 *
 * What `cutrace record` told this process, also after the program has cleared its environment, as daemons do it: the
 * kernel shows the one that the process began with (proc(5), /proc/PID/environ).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/recorder.h"

/* One variable after the other, each with a NUL behind it. */
struct scan {
	const char *name;
	size_t length; /* of the name */
	size_t at;     /* in the variable */
	bool ours;     /* as far as it was read */
	char *out;
	size_t used, size;
};

/* True at the end of the variable that is looked for. */
static bool take(struct scan *s, char c)
{
	bool found = !c && s->ours && s->at > s->length;

	if (!c) {
		s->out[found ? s->used : 0] = '\0';
		s->at = s->used = 0;
		s->ours = true;
		return found;
	}
	if (s->at <= s->length)
		s->ours = s->ours && c == (s->at < s->length ? s->name[s->at] : '=');
	else if (s->used + 1 < s->size)
		s->out[s->used++] = c;
	else
		s->ours = false;
	s->at++;
	return false;
}

static bool begun_with(const char *name, char *out, size_t size)
{
	struct scan s = {.name = name, .length = strlen(name), .ours = true, .out = out, .size = size};
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	bool found = false;
	char buffer[1024];
	ssize_t n;

	while (fd >= 0 && !found && (n = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t k = 0; k < n && !found; k++)
			found = take(&s, buffer[k]);
	if (fd >= 0)
		close(fd);
	return found;
}

bool rec_environment(const char *name, char *out, size_t size)
{
	const char *value = getenv(name);

	if (!value)
		return begun_with(name, out, size);
	if (strlen(value) >= size)
		return false;
	strcpy(out, value);
	return true;
}
