/* SPDX-License-Identifier: Apache-2.0
 *
 * clients: traced processes: who they are, when they come and go, and what they ask. A process is dead when
 * its pidfd says so; its socket alone proves nothing, because programs close descriptors that they do not
 * know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/collector/internal.h"

int clients_watch(struct collector *c, int fd, int kind, struct process *p)
{
	struct source *s = calloc(1, sizeof(*s));
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};

	if (!s)
		return CUTRACE_ENOMEM;
	s->kind = (__typeof__(s->kind))kind;
	s->fd = fd;
	s->process = p;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e) != 0) {
		free(s);
		return CUTRACE_EIO;
	}
	s->next = c->sources;
	c->sources = s;
	return 0;
}

static void unwatch(struct collector *c, struct source *s)
{
	struct source **at = &c->sources;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	free(s);
}

/* ---- rows ------------------------------------------------------------------------ */

static void write_process(struct collector *c, struct process *p)
{
	if (c->w)
		trace_writer_process(c->w, &p->row);
}

/* A JSON array of strings from NUL-terminated ones that follow each other. */
static char *json_array(const char *p, const char *end)
{
	char *json = malloc((size_t)(end - p) * 6 + 16), *o = json;
	bool first = true;

	if (!json)
		return NULL;
	*o++ = '[';
	while (p < end && *p) {
		if (!first)
			*o++ = ',';
		first = false;
		*o++ = '"';
		for (; p < end && *p; p++) {
			unsigned char ch = (unsigned char)*p;

			if (ch == '"' || ch == '\\') {
				*o++ = '\\';
				*o++ = (char)ch;
			} else if (ch < 32) {
				o += sprintf(o, "\\u%04x", ch);
			} else {
				*o++ = (char)ch;
			}
		}
		*o++ = '"';
		p++;
	}
	strcpy(o, "]");
	return json;
}

static void describe(struct process *p, const struct ring_hello *h)
{
	const char *end = h->text + sizeof(h->text), *exe = h->text, *cwd, *argv;

	cwd = exe + strnlen(exe, sizeof(h->text)) + 1;
	cwd = cwd < end ? cwd : end - 1;
	argv = cwd + strnlen(cwd, (size_t)(end - cwd)) + 1;
	p->row.exe = strndup(exe, sizeof(h->text) - 1);
	p->row.cwd = strndup(cwd, (size_t)(end - cwd));
	p->row.argv_json = argv < end ? json_array(argv, end) : NULL;
}

static void write_overhead(struct collector *c, struct process *p)
{
	if (!c->w)
		return;
	trace_writer_overhead(c->w, p->row.id, "calls", p->calls, p->ring_bytes, 0);
	trace_writer_overhead(c->w, p->row.id, "payloads", p->payload_count, p->payload_bytes, 0);
	trace_writer_overhead(c->w, p->row.id, "waits for the collector", p->waits, 0, p->waited_ns);
}

/* ---- the end of a process -------------------------------------------------------------- */

/* Field 52 of /proc/PID/stat is the wait status, as long as nobody has waited for the zombie (proc(5)). */
static int zombie_status(pid_t pid)
{
	char path[64], text[2048], *p;
	int fd, field, status = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] != 'Z')
		return -1;
	for (field = 2; p && field < 52; field++)
		p = strchr(p + 1, ' ');
	if (p)
		status = atoi(p + 1);
	return status;
}

/* Since Linux 6.15 a pidfd keeps the wait status after somebody has waited (linux/pidfd.h: PIDFD_GET_INFO,
 * ver. 0). */
static int pidfd_status(int pidfd)
{
	struct {
		uint64_t mask, cgroup;
		uint32_t ids[11];
		int32_t exit_code;
	} info = {.mask = 1u << 3 /* PIDFD_INFO_EXIT */};

	_Static_assert(sizeof(info) == 64, "as the kernel has it");
	if (pidfd < 0 || ioctl(pidfd, _IOC(_IOC_READ | _IOC_WRITE, 0xff, 11, sizeof(info)), &info) != 0)
		return -1;
	return info.mask & (1u << 3) ? info.exit_code : -1;
}

/* It is a zombie, or has just been waited for; in between it may become the one while we look for the other.
 */
static int end_status(const struct process *p)
{
	int status = zombie_status(p->pid);

	return status >= 0 ? status : pidfd_status(p->pidfd);
}

static void set_end(struct process *p)
{
	int s = p->status;

	p->row.end_kind = s < 0 ? "lost" : WIFSIGNALED(s) ? "signal" : "exit";
	p->row.end_code = s < 0 ? 0 : WIFSIGNALED(s) ? WTERMSIG(s) : WEXITSTATUS(s);
}

static bool receive_one(struct collector *c, struct source *s, bool *closed);

static void end_process(struct collector *c, struct process *p, const char *kind)
{
	bool closed;

	if (p->ended)
		return;
	p->ended = true;
	/* Rings that it announced and nobody has heard of yet. */
	for (struct source *s = p->connections; s; s = s->next_of_process)
		while (receive_one(c, s, &closed))
			;
	if (p->status < 0 && !kind)
		p->status = end_status(p);
	p->row.t_end = session_now(c);
	if (kind)
		p->row.end_kind = kind;
	else
		set_end(p);
	drain_process_end(c, p);
	write_process(c, p);
	write_overhead(c, p);
	p->gone = true;
}

/* The parent has waited for a process, perhaps before, perhaps after its pidfd told. */
static void exited(struct collector *c, pid_t pid, int status)
{
	struct process *p, *last = NULL;

	for (p = c->processes; p; p = p->next)
		if (p->pid == pid && (!p->row.end_kind || strcmp(p->row.end_kind, "exec") != 0))
			last = p;
	if (!last)
		return;
	last->status = status;
	if (last->ended) {
		set_end(last);
		write_process(c, last);
	}
}

/* ---- messages ------------------------------------------------------------------------------ */

static struct process *find_process(struct collector *c, pid_t pid, bool alive)
{
	struct process *p, *found = NULL;

	for (p = c->processes; p; p = p->next)
		if (p->pid == pid && (!alive || !p->ended))
			found = p;
	return found;
}

static struct process *add_process(struct collector *c, const struct ring_hello *h, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p)), *parent;

	if (!p)
		return NULL;
	parent = find_process(c, (pid_t)h->ppid, false);
	p->row.id = ++c->nprocesses;
	p->row.parent = parent ? parent->row.id : 0;
	p->row.pid = h->pid;
	p->row.t_start = session_now(c);
	p->pid = pid;
	p->token = h->token;
	p->status = -1;
	describe(p, h);
	*c->last_process = p;
	c->last_process = &p->next;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd >= 0 && clients_watch(c, p->pidfd, SOURCE_PIDFD, p) != 0) {
		close(p->pidfd);
		p->pidfd = -1;
	}
	write_process(c, p);
	return p;
}

static pid_t peer_pid(int fd, pid_t said)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.pid > 0 ? cred.pid : said;
}

static void answer(int fd, enum ring_message_kind kind)
{
	struct ring_message m = {kind, sizeof(m)};

	send(fd, &m, sizeof(m), MSG_NOSIGNAL);
}

static void welcome(struct collector *c, int fd)
{
	struct ring_message m = {RING_MSG_WELCOME, sizeof(m)};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {&m, sizeof(m)};
	struct msghdr h = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *x = CMSG_FIRSTHDR(&h);

	x->cmsg_level = SOL_SOCKET;
	x->cmsg_type = SCM_RIGHTS;
	x->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(x), &c->session_fd, sizeof(int));
	/* It is not to wait for what can't be sent (unix(7): ETOOMANYREFS). */
	if (sendmsg(fd, &h, MSG_NOSIGNAL) < 0)
		shutdown(fd, SHUT_RDWR);
}

static void hello(struct collector *c, struct source *s, const struct ring_hello *h)
{
	pid_t pid = peer_pid(s->fd, (pid_t)h->pid);
	struct process *p = find_process(c, pid, true);

	if (h->version != RING_VERSION) {
		collector_diag(
			c, NULL, 0, "error", "collector",
			"process %d speaks version %u of the recorder's protocol, not %u: it is not recorded",
			(int)pid, h->version, RING_VERSION);
		shutdown(s->fd, SHUT_RDWR); /* it waits for an answer */
		return;
	}
	if (p && p->token != h->token) {
		/* The same process with another program in it. */
		end_process(c, p, "exec");
		p = NULL;
	}
	if (!p)
		p = add_process(c, h, pid);
	if (!p) {
		shutdown(s->fd, SHUT_RDWR);
		return;
	}
	s->process = p;
	s->next_of_process = p->connections;
	p->connections = s;
	welcome(c, s->fd);
}

/* memfd: negative when we could not be given it, for want of descriptors. */
static void add_ring(struct collector *c, struct source *s, int memfd)
{
	struct ring *r = memfd >= 0 ? ring_map(memfd, s->process) : NULL;

	/* Without a pidfd a process that counts as gone may live on. */
	if (r && (c->rings || s->process->pidfd < 0))
		session_share_numbers(c);
	answer(s->fd, r ? RING_MSG_TAKEN : RING_MSG_REFUSED);
	if (!r) {
		c->refused++;
		collector_diag(c, s->process, 0, "error", "collector",
			       "a thread's ring could not be %s: the process is not recorded from here on",
			       memfd >= 0 ? "mapped" : "received, there are too many open files");
		return;
	}
	r->next = c->rings;
	c->rings = r;
}

static void say(struct collector *c, struct process *p, const struct ring_say *m)
{
	collector_diag(c, p, 0, "error", "recorder", "%.*s", (int)sizeof(m->text) - 1, m->text);
	c->refused++;
}

/* Of a kernel without PTX nothing can be replayed but what it wrote. */
static uint32_t checked_of(const struct record_options *o, const struct kernel *k)
{
	bool opaque = kernel_is_opaque(k);
	uint32_t is = 0;

	if (check_options_kernel(&o->check, k ? k->name : NULL, opaque))
		is |= RING_CHECKED | (o->check.contents ? RING_CHECKED_CONTENTS : 0u);
	if (opaque && !o->no_opaque && !o->check.opaque)
		is |= RING_CHECKED_ALWAYS | RING_CHECKED_CONTENTS;
	return is;
}

/* Everything the thread published before it asked is read and settled first. */
static void answer_params(struct collector *c, struct source *s, const struct ring_ask *a)
{
	struct ring_params p = {.m = {RING_MSG_PARAMS, sizeof(p)}};
	const struct kernel *k;

	drain_all(c);
	drain_all(c);
	events_run(c, 2 * a->seq + 1);
	k = derive_kernel(s->process, a->function, 2 * a->seq);
	kernel_answer(k, &p);
	p.checked = checked_of(&c->o->record, k);
	send(s->fd, &p, sizeof(p), MSG_NOSIGNAL);
}

static void answer_written(struct collector *c, struct source *s, const struct ring_ask_written *a)
{
	struct ring_written w = {.m = {RING_MSG_WRITTEN, sizeof(w)}};
	struct kernel *k = derive_kernel(s->process, a->function, 2 * a->seq);

	if (!k) { /* its parameters were asked for without it */
		drain_all(c);
		drain_all(c);
		events_run(c, 2 * a->seq + 1);
		k = derive_kernel(s->process, a->function, 2 * a->seq);
	}
	if (k)
		kernel_written(k, a, &w);
	send(s->fd, &w, sizeof(w), MSG_NOSIGNAL);
}

static void message(struct collector *c, struct source *s, const struct ring_message *m, size_t n, int memfd)
{
	switch (m->kind) {
	case RING_MSG_HELLO:
		if (n == sizeof(struct ring_hello) && !s->process)
			hello(c, s, (const struct ring_hello *)m);
		break;
	case RING_MSG_RING:
		if (s->process)
			add_ring(c, s, memfd);
		break;
	case RING_MSG_ASK_PARAMS:
		if (n == sizeof(struct ring_ask) && s->process)
			answer_params(c, s, (const struct ring_ask *)m);
		break;
	case RING_MSG_ASK_WRITTEN:
		if (n >= offsetof(struct ring_ask_written, params) && s->process &&
		    ((const struct ring_ask_written *)m)->param_bytes ==
			    n - offsetof(struct ring_ask_written, params))
			answer_written(c, s, (const struct ring_ask_written *)m);
		break;
	case RING_MSG_SAY:
		if (n == sizeof(struct ring_say) && s->process)
			say(c, s->process, (const struct ring_say *)m);
		break;
	default: break;
	}
}

static void leave_process(struct source *s)
{
	struct source **at = &s->process->connections;

	while (*at && *at != s)
		at = &(*at)->next_of_process;
	if (*at)
		*at = s->next_of_process;
}

/* One message. False when there is none, or the connection is closed. */
static bool receive_one(struct collector *c, struct source *s, bool *closed)
{
	union {
		struct ring_message m;
		struct ring_hello hello;
		struct ring_ask ask;
		struct ring_ask_written written;
		struct ring_say say;
	} u;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec v = {&u, sizeof(u)};
	struct msghdr h = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *x;
	int memfd = -1;
	ssize_t n = recvmsg(s->fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	*closed = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n <= 0)
		return false;
	x = CMSG_FIRSTHDR(&h);
	if (x && x->cmsg_type == SCM_RIGHTS)
		memcpy(&memfd, CMSG_DATA(x), sizeof(int));
	if ((size_t)n >= sizeof(u.m) && u.m.bytes == (size_t)n)
		message(c, s, &u.m, (size_t)n, memfd);
	if (memfd >= 0)
		close(memfd);
	return true;
}

/* All that is there: what a round reads from rings may depend on every ring announced before. */
static void receive(struct collector *c, struct source *s)
{
	struct process *p;
	bool closed;

	while (receive_one(c, s, &closed))
		;
	if (!closed)
		return;
	p = s->process;
	if (p)
		leave_process(s);
	unwatch(c, s);
	/* Without a pidfd, on an old kernel, this is all that tells of a process's death. */
	if (p && !p->connections && p->pidfd < 0)
		end_process(c, p, NULL);
}

/* It waits for an answer, and takes the end of the connection for one. */
static void refuse_connection(struct collector *c, int fd)
{
	pid_t pid = peer_pid(fd, 0);

	collector_diag(c, find_process(c, pid, true), 0, "error", "collector",
		       "process %d can't be recorded, or not from here on: the collector has too many open "
		       "files (ulimit -n)",
		       (int)pid);
	c->refused++;
	close(fd);
}

/* The descriptor that is kept for this is given up for a moment. */
static void accept_without_files(struct collector *c)
{
	int fd;

	if (c->spare_fd >= 0)
		close(c->spare_fd);
	fd = accept4(c->o->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		refuse_connection(c, fd);
	c->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_one(struct collector *c)
{
	int fd = accept4(c->o->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && clients_watch(c, fd, SOURCE_CONNECTION, NULL) != 0)
		refuse_connection(c, fd);
	else if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		accept_without_files(c);
}

static void control(struct collector *c, struct source *s)
{
	struct collector_control m;
	ssize_t n = recv(s->fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n == sizeof(m) && m.command == COLLECTOR_EXITED) {
		exited(c, m.pid, m.status);
	} else if (n == sizeof(m) && m.command == COLLECTOR_QUIT) {
		c->quitting = true;
	} else if (n == sizeof(m) && m.command == COLLECTOR_KEYFRAME) {
		atomic_fetch_add(&c->session->keyframes_wanted, 1);
	} else if (n == 0 || n == sizeof(m)) {
		c->finishing = true;
		c->nobody_left = n == sizeof(m) && m.command == COLLECTOR_FINISH_NOW;
		if (n == 0)
			epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	}
}

static void serve(struct collector *c, struct source *s)
{
	struct process *p = s->process;

	switch (s->kind) {
	case SOURCE_LISTEN: accept_one(c); break;
	case SOURCE_CONTROL: control(c, s); break;
	case SOURCE_CONNECTION: receive(c, s); break;
	case SOURCE_PIDFD:
		end_process(c, p, NULL);
		unwatch(c, s);
		p->pidfd = -1;
		break;
	}
}

void clients_poll(struct collector *c)
{
	struct epoll_event events[32];
	int n = 1;

	/* Not for ever: a listening socket stays ready when there are no descriptors left. */
	for (int tries = 0; n > 0 && tries < 64; tries++) {
		n = epoll_wait(c->epoll_fd, events, 32, 0);
		for (int i = 0; i < n; i++)
			serve(c, events[i].data.ptr);
	}
}

bool clients_alive(const struct collector *c)
{
	for (const struct process *p = c->processes; p; p = p->next)
		if (!p->ended)
			return true;
	return false;
}

void clients_free(struct collector *c)
{
	while (c->processes) {
		struct process *p = c->processes;

		c->processes = p->next;
		end_process(c, p, NULL);
		events_run(c, UINT64_MAX);
		derive_forget(c, p);
		for (unsigned i = 0; i < p->nfunctions; i++)
			free(p->functions[i].name);
		free(p->functions);
		free((char *)(uintptr_t)p->row.exe);
		free((char *)(uintptr_t)p->row.cwd);
		free((char *)(uintptr_t)p->row.argv_json);
		free(p);
	}
}

/* Whoever waits for an answer, or is about to connect, is not to wait until the trace is packed. */
void clients_hang_up(struct collector *c)
{
	for (struct source *s = c->sources; s; s = s->next)
		if (s->kind == SOURCE_CONNECTION)
			shutdown(s->fd, SHUT_RDWR);
		else if (s->kind == SOURCE_LISTEN)
			close(s->fd);
}

void clients_close(struct collector *c)
{
	while (c->sources) {
		struct source *s = c->sources;

		c->sources = s->next;
		free(s); /* its descriptor ends with us */
	}
}
