/* SPDX-License-Identifier: Apache-2.0
 *
 * Where commands come from: scripts first, then stdin. What is read and not yet done is shared by all processes of the
 * debugger, since the one that goes on after a step back is another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CUTRACE_HAVE_LIBEDIT
#	include <histedit.h>
#endif

#include "debug/session.h"

static const char prompt[] = "(cutrace) ";

bool input_is_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ---- scripts ------------------------------------------------------------------------- */

static uint32_t pending(const struct shared *sh)
{
	return sh->pending_end - sh->pending_at;
}

static int too_long(const char *where, struct diag *d)
{
	return diag_set(d, CUTRACE_EINVAL, where, "more than %u bytes of commands", MAX_INPUT - 2);
}

int input_text(struct shared *sh, const char *text, struct diag *d)
{
	size_t n = strlen(text);

	if (n > MAX_INPUT - 2 - sh->pending_end)
		return too_long("", d);
	memcpy(sh->pending + sh->pending_end, text, n);
	sh->pending_end += (uint32_t)n;
	sh->pending[sh->pending_end++] = '\n';
	return 0;
}

/* Text of a file, and a newline, in front of what is pending. */
static int put_before(struct shared *sh, const char *path, int fd, struct diag *d)
{
	uint32_t room = MAX_INPUT - 2 - pending(sh), n = 0;
	ssize_t got = 1;

	memmove(sh->pending + MAX_INPUT - pending(sh), sh->pending + sh->pending_at, pending(sh));
	sh->pending_at = MAX_INPUT - pending(sh);
	sh->pending_end = MAX_INPUT;
	while (n < room && (got = read(fd, sh->pending + n, room - n)) > 0)
		n += (uint32_t)got;
	if (got > 0)
		return too_long(path, d);
	if (got < 0)
		return diag_set(d, CUTRACE_EIO, path, "can't be read: %s", strerror(errno));
	sh->pending[n++] = '\n';
	memmove(sh->pending + n, sh->pending + sh->pending_at, pending(sh));
	sh->pending_end = n + pending(sh);
	sh->pending_at = 0;
	return 0;
}

int input_file(struct shared *sh, const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return diag_set(d, CUTRACE_EIO, path, "can't be opened: %s", strerror(errno));
	if (++sh->scripts > 1000) {
		close(fd);
		return diag_set(d, CUTRACE_EINVAL, path, "too many scripts: does one call itself?");
	}
	rc = put_before(sh, path, fd, d);
	close(fd);
	return rc;
}

/* One line of [*at, end) of `buffer`; what does not fit is cut off. */
static void take_line(const char *buffer, uint32_t *at, uint32_t end, char *line, size_t size)
{
	size_t n = 0;

	while (*at < end && buffer[*at] != '\n') {
		if (n + 1 < size && buffer[*at] != '\r')
			line[n++] = buffer[*at] ? buffer[*at] : '?';
		(*at)++;
	}
	if (*at < end)
		(*at)++;
	line[n] = '\0';
}

/* ---- stdin ------------------------------------------------------------------------------ */

/* False: nothing more comes. */
static bool fill_raw(struct shared *sh)
{
	ssize_t n;

	if (sh->raw_at == sh->raw_end)
		sh->raw_at = sh->raw_end = 0;
	if (sh->raw_end == sizeof(sh->raw)) {
		memmove(sh->raw, sh->raw + sh->raw_at, sh->raw_end - sh->raw_at);
		sh->raw_end -= sh->raw_at;
		sh->raw_at = 0;
	}
	if (sh->raw_end == sizeof(sh->raw)) { /* a line without end */
		sh->raw_end = 0;
		return true;
	}
	n = read(STDIN_FILENO, sh->raw + sh->raw_end, sizeof(sh->raw) - sh->raw_end);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	sh->raw_end += (uint32_t)n;
	return true;
}

static bool plain_line(struct session *s, char *line, size_t size)
{
	struct shared *sh = s->sh;

	while (!sh->stdin_ended && !memchr(sh->raw + sh->raw_at, '\n', sh->raw_end - sh->raw_at)) {
		sh->stdin_ended = !fill_raw(sh);
		if (debug_interrupted) {
			debug_interrupted = 0;
			line[0] = '\0';
			return true;
		}
	}
	if (sh->raw_at == sh->raw_end)
		return false;
	take_line(sh->raw, &sh->raw_at, sh->raw_end, line, size);
	return true;
}

#ifdef CUTRACE_HAVE_LIBEDIT
static char *say_prompt(EditLine *el)
{
	(void)el;
	return (char *)(uintptr_t)prompt;
}

/* One for each process: a process that was forked from a checkpoint lacks the lines since then. */
static struct editor {
	EditLine *el;
	History *past;
	uint32_t known; /* lines of the history */
} editor;

static bool open_editor(struct shared *sh)
{
	HistEvent e;

	if (!editor.el) {
		editor.el = el_init("cutrace", stdin, stdout, stderr);
		editor.past = history_init();
		if (!editor.el || !editor.past)
			return false;
		history(editor.past, &e, H_SETSIZE, MAX_HISTORY);
		el_set(editor.el, EL_PROMPT, say_prompt);
		el_set(editor.el, EL_EDITOR, "emacs");
		el_set(editor.el, EL_HIST, history, editor.past);
	}
	if (sh->nhistory > MAX_HISTORY && editor.known < sh->nhistory - MAX_HISTORY)
		editor.known = sh->nhistory - MAX_HISTORY;
	for (; editor.known < sh->nhistory; editor.known++)
		history(editor.past, &e, H_ENTER, sh->history[editor.known % MAX_HISTORY]);
	return true;
}

static bool edited_line(struct session *s, char *line, size_t size)
{
	const char *got;
	int n = 0;

	if (!open_editor(s->sh))
		return plain_line(s, line, size);
	got = el_gets(editor.el, &n);
	if (got && n > 0)
		snprintf(line, size, "%.*s", (int)strcspn(got, "\r\n"), got);
	if (!debug_interrupted)
		return got && n > 0;
	debug_interrupted = 0;
	putchar('\n');
	snprintf(line, size, "#"); /* neither a command, nor the last one again */
	return true;
}
#else
static bool edited_line(struct session *s, char *line, size_t size)
{
	fputs(prompt, stdout);
	fflush(stdout);
	return plain_line(s, line, size);
}
#endif

static void remember(struct shared *sh, const char *line)
{
	if (*line && *line != '#')
		snprintf(sh->history[sh->nhistory++ % MAX_HISTORY], MAX_LINE, "%s\n", line);
}

/* An empty line does the last command again, if it is one of those. */
static void repeat(struct session *s, char *line, size_t size)
{
	const struct command *c;
	struct diag d = DIAG_INIT;
	char last[MAX_LINE];

	if (*line || !s->sh->nhistory)
		return;
	snprintf(last, sizeof(last), "%s", s->sh->history[(s->sh->nhistory - 1) % MAX_HISTORY]);
	last[strcspn(last, "\n")] = '\0';
	c = command_find(last, strcspn(last, " /"), &d);
	if (c && c->repeats)
		snprintf(line, size, "%s", last);
}

bool input_line(struct session *s, char *line, size_t size, bool *scripted)
{
	struct shared *sh = s->sh;
	bool more;

	fflush(stdout);
	*scripted = true;
	if (pending(sh)) {
		take_line(sh->pending, &sh->pending_at, sh->pending_end, line, size);
		return true;
	}
	if (sh->batch)
		return false;
	if (!input_is_terminal())
		return plain_line(s, line, size);
	*scripted = false;
	more = edited_line(s, line, size);
	if (more && *line)
		remember(sh, line);
	else if (more)
		repeat(s, line, size);
	return more;
}
