/* SPDX-License-Identifier: Apache-2.0
 *
 * process: this process's connection to the collector. State that a child must not share lives in pages that
 * the kernel wipes in a forked child (MADV_WIPEONFORK), so that even a fork made by a raw system call starts
 * afresh.
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum process_state { PROCESS_NEW, PROCESS_RECORDED, PROCESS_OFF };

struct process {
	_Atomic int state;
	pthread_mutex_t lock; /* the socket; all zeros is an unlocked mutex */
	struct ring_session *session;
	int fd;
	ino_t inode; /* of the socket: the program may have closed our descriptor and got the number again */
	uint32_t token;
	pid_t parent; /* as of the beginning: who adopts an orphan is not its parent */
	_Atomic uint64_t unique;
};

static struct process *process;
bool rec_use_tsc = true;
bool rec_checking;
bool rec_looking;
bool rec_no_data;
bool rec_keyframes;
bool rec_check_on_device;
bool rec_off; /* for good: no socket was named, or the collector is gone */

void *rec_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void rec_pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

uint64_t rec_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

pthread_mutex_t rec_locks[REC_LOCKS] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER,
};

/* A handler that calls the driver must not find its own thread in here. Not blocked are signals that tell of what
 * the thread itself does, and those that the C library keeps for itself (32, 33). */
#define BIT(signo) (1ull << ((signo)-1))
static const uint64_t held_back = ~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) |
				    BIT(SIGABRT) | BIT(SIGSYS) | BIT(32) | BIT(33));
static __thread uint64_t signal_mask __attribute__((tls_model("initial-exec")));
static __thread unsigned signals_depth __attribute__((tls_model("initial-exec")));

void rec_signals_block(void)
{
	uint64_t before;

	if (signals_depth == 0) {
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held_back, &before, sizeof(before));
		signal_mask = before;
	}
	signals_depth++;
}

void rec_signals_restore(void)
{
	if (--signals_depth == 0)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signal_mask, NULL, sizeof(signal_mask));
}

static void lock_socket(void)
{
	rec_signals_block();
	pthread_mutex_lock(&process->lock);
}

static void unlock_socket(void)
{
	pthread_mutex_unlock(&process->lock);
	rec_signals_restore();
}

/* In a forked child. Also for kernels without MADV_WIPEONFORK. */
static void after_fork(void)
{
	if (process) {
		memset(process, 0, sizeof(*process));
		process->parent = getppid();
	}
	for (unsigned i = 0; i < REC_LOCKS; i++)
		rec_locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	rec_threads_forget();
	rec_range_forget();
}

/* As it was when we were loaded: a program may clear its environment before it calls the driver. */
static char collector[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];

__attribute__((constructor)) static void process_init(void)
{
	int saved = errno;

	if (!rec_environment(RING_ENV_SOCKET, collector, sizeof(collector)))
		collector[0] = '\0';
	process = rec_pages(sizeof(*process));
	if (process) {
		madvise(process, sizeof(*process), MADV_WIPEONFORK);
		process->parent = getppid();
	}
	pthread_atfork(NULL, NULL, after_fork);
	rec_driver_load();
	errno = saved;
}

/* ---- the socket, under process->lock -------------------------------------- */

static int connect_to(const char *where)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = strlen(where);
	int fd, high;

	if (n >= sizeof(a.sun_path))
		return -1;
	memcpy(a.sun_path, where, n);
	if (where[0] == '@')
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&a,
		    offsetof(struct sockaddr_un, sun_path) + n + (where[0] != '@')) != 0) {
		close(fd);
		return -1;
	}
	/* Out of the way of programs that count on getting low numbers. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 500);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static size_t append_file(char *text, size_t used, size_t max, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text + used, max - used);

	if (fd >= 0)
		close(fd);
	return used + (n > 0 ? (size_t)n : 0);
}

static void fill_hello(struct ring_hello *h)
{
	size_t max = sizeof(h->text) - 2, used;
	ssize_t n;

	memset(h, 0, sizeof(*h));
	h->m = (struct ring_message){RING_MSG_HELLO, sizeof(*h)};
	h->version = RING_VERSION;
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)(process->parent ? process->parent : getppid());
	h->token = process->token;
	n = readlink("/proc/self/exe", h->text, 1000);
	used = (n > 0 ? (size_t)n : 0) + 1;
	if (getcwd(h->text + used, 1000))
		used += strlen(h->text + used);
	used++;
	append_file(h->text, used, max, "/proc/self/cmdline");
}

static bool receive(void *buf, size_t bytes, int *attached)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec v = {buf, bytes};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(process->fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(struct ring_message))
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (attached && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(attached, CMSG_DATA(c), sizeof(int));
	return true;
}

static bool transmit(const void *buf, size_t bytes, int attach)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {(void *)(uintptr_t)buf, bytes};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n;

	if (attach >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &attach, sizeof(int));
	}
	do
		n = sendmsg(process->fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)bytes;
}

static bool socket_is_ours(void)
{
	struct stat st;

	return process->fd >= 0 && old_fstat(process->fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_ino == process->inode;
}

static struct ring_session *map_session(int memfd)
{
	struct ring_session *s = mmap(NULL, RING_DATA_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);

	close(memfd);
	if (s == MAP_FAILED)
		return NULL;
	if (s->magic == RING_MAGIC && s->version == RING_VERSION)
		return s;
	munmap(s, RING_DATA_OFFSET);
	return NULL;
}

/* Connects, says hello, and maps the session page unless that is done. */
static bool greet(void)
{
	struct ring_hello *hello;
	struct ring_message welcome;
	struct stat st;
	int memfd = -1;
	bool ok;

	process->fd = *collector ? connect_to(collector) : -1;
	if (process->fd < 0)
		return false;
	if (old_fstat(process->fd, &st) == 0)
		process->inode = st.st_ino;
	hello = rec_pages(sizeof(*hello));
	if (!hello)
		return false;
	fill_hello(hello);
	ok = transmit(hello, sizeof(*hello), -1) && receive(&welcome, sizeof(welcome), &memfd) &&
	     welcome.kind == RING_MSG_WELCOME && memfd >= 0;
	rec_pages_free(hello, sizeof(*hello));
	if (!ok || process->session) {
		if (memfd >= 0)
			close(memfd);
		return ok;
	}
	process->session = map_session(memfd);
	return process->session != NULL;
}

/* The socket, connected again if the program closed it. */
static bool socket_ready(void)
{
	return socket_is_ours() || greet();
}

/* ---- what others ask for ---------------------------------------------------- */

void rec_stop(void)
{
	process->state = PROCESS_OFF;
	rec_off = true;
}

/* Under the lock. */
static void say(const char *text)
{
	struct ring_say m = {.m = {RING_MSG_SAY, sizeof(m)}};

	strncpy(m.text, text, sizeof(m.text) - 1);
	transmit(&m, sizeof(m), -1);
}

static void take_options(const struct ring_session *s)
{
	rec_checking = s->flags & RING_SESSION_CHECK;
	rec_keyframes = s->flags & (RING_SESSION_KEYFRAMES | RING_SESSION_RANGE);
	rec_keyframe_every = s->keyframe_every;
	rec_looking = s->flags & (RING_SESSION_CHECK | RING_SESSION_OPAQUE | RING_SESSION_KEYFRAMES |
				  RING_SESSION_RANGE);
	rec_no_data = s->flags & RING_SESSION_NO_DATA;
	rec_check_on_device = s->flags & RING_SESSION_ON_DEVICE ||
			      (!rec_driver_is_ours && !(s->flags & RING_SESSION_ON_HOST));
	rec_reference_ptx = s->flags & RING_SESSION_PTX;
	rec_as_cc = (unsigned)s->as_cc;
	if (s->flags & RING_SESSION_RANGE)
		rec_range_start();
	rec_option_hooks_install();
}

static void start(void)
{
	if (process->state != PROCESS_NEW)
		return;
	process->token = (uint32_t)(rec_clock() * 2654435761u) ^ (uint32_t)(uintptr_t)&process;
	if (!greet()) {
		say("this process is not recorded: it had no descriptor or no memory for the page that it "
		    "shares with "
		    "the recording");
		rec_stop();
		return;
	}
	rec_use_tsc = process->session->use_tsc != 0;
	take_options(process->session);
	process->state = PROCESS_RECORDED;
}

struct ring_session *rec_session(void)
{
	if (REC_UNLIKELY(!process))
		return NULL;
	if (process->state == PROCESS_NEW) {
		lock_socket();
		start();
		unlock_socket();
	}
	return process->state == PROCESS_RECORDED ? process->session : NULL;
}

bool rec_collector_lives(void)
{
	struct pollfd p;
	bool alive;

	if (!process || process->state != PROCESS_RECORDED)
		return false;
	if (!atomic_load_explicit(&process->session->collector_alive, memory_order_relaxed))
		return false;
	lock_socket();
	alive = socket_ready();
	p = (struct pollfd){.fd = process->fd, .events = 0};
	if (alive && poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
		alive = false;
	unlock_socket();
	return alive;
}

bool rec_announce_ring(int memfd)
{
	struct ring_message m = {RING_MSG_RING, sizeof(m)};
	bool ok;

	lock_socket();
	ok = socket_ready() && transmit(&m, sizeof(m), memfd) && receive(&m, sizeof(m), NULL) &&
	     m.kind == RING_MSG_TAKEN;
	unlock_socket();
	return ok;
}

void rec_say(const char *text)
{
	lock_socket();
	if (socket_ready())
		say(text);
	unlock_socket();
}

bool rec_ask_params(uint64_t function, uint64_t seq, struct ring_params *answer)
{
	struct ring_ask ask = {.m = {RING_MSG_ASK_PARAMS, sizeof(ask)}, .function = function, .seq = seq};
	bool ok;

	lock_socket();
	ok = socket_ready() && transmit(&ask, sizeof(ask), -1) && receive(answer, sizeof(*answer), NULL) &&
	     answer->m.kind == RING_MSG_PARAMS;
	unlock_socket();
	return ok;
}

bool rec_ask_written(struct ring_ask_written *ask, struct ring_written *answer)
{
	bool ok;

	ask->m.kind = RING_MSG_ASK_WRITTEN;
	ask->m.bytes = (uint32_t)(offsetof(struct ring_ask_written, params) + ask->param_bytes);
	lock_socket();
	ok = socket_ready() && transmit(ask, ask->m.bytes, -1) && receive(answer, sizeof(*answer), NULL) &&
	     answer->m.kind == RING_MSG_WRITTEN;
	unlock_socket();
	return ok && answer->n <= sizeof(answer->p) / sizeof(answer->p[0]);
}

uint64_t rec_unique(void)
{
	return 1 + atomic_fetch_add_explicit(&process->unique, 1, memory_order_relaxed);
}
