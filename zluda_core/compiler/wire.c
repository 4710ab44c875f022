/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define MAGIC     0x63747761u
#define MAX_BYTES (1ull << 31)

struct head {
	uint32_t magic, kind;
	uint64_t bytes;
};

/* ---- payloads --------------------------------------------------------------------------------------- */

void wire_begin(struct wire_message *m, enum wire_kind kind)
{
	*m = (struct wire_message){.kind = kind};
}

static bool make_room(struct wire_message *m, size_t more)
{
	if (m->failed || more > MAX_BYTES - m->bytes) {
		m->failed = true;
		return false;
	}
	if (m->bytes + more > m->room) {
		size_t room = m->bytes + more + m->bytes / 2 + 64;
		uint8_t *p = realloc(m->data, room);

		if (!p) {
			m->failed = true;
			return false;
		}
		m->data = p;
		m->room = room;
	}
	return true;
}

static void append(struct wire_message *m, const void *p, size_t bytes)
{
	if (!make_room(m, bytes) || !bytes)
		return;
	memcpy(m->data + m->bytes, p, bytes);
	m->bytes += bytes;
}

void wire_put_u32(struct wire_message *m, uint32_t v)
{
	append(m, &v, sizeof(v));
}

void wire_put_bytes(struct wire_message *m, const void *p, size_t bytes)
{
	uint64_t n = bytes;

	append(m, &n, sizeof(n));
	append(m, p, bytes);
}

void wire_put_string(struct wire_message *m, const char *s)
{
	s = s ? s : "";
	wire_put_bytes(m, s, strlen(s) + 1);
}

void wire_put_diag(struct wire_message *m, int rc, const struct diag *d)
{
	wire_put_u32(m, (uint32_t)-rc);
	wire_put_string(m, rc ? d->where : "");
	wire_put_string(m, rc ? d->what : "");
	wire_put_string(m, rc ? d->hint : "");
}

static const uint8_t *get(struct wire_message *m, uint64_t bytes)
{
	if (m->failed || bytes > m->bytes - m->at) {
		m->failed = true;
		return NULL;
	}
	m->at += bytes;
	return m->data + m->at - bytes;
}

uint32_t wire_get_u32(struct wire_message *m)
{
	const uint8_t *p = get(m, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return v;
}

const uint8_t *wire_get_bytes(struct wire_message *m, size_t *bytes)
{
	const uint8_t *p = get(m, 8);
	uint64_t n = 0;

	if (p)
		memcpy(&n, p, 8);
	p = get(m, n);
	*bytes = p ? n : 0;
	return p;
}

const char *wire_get_string(struct wire_message *m)
{
	size_t n;
	const uint8_t *p = wire_get_bytes(m, &n);

	if (p && n && !p[n - 1])
		return (const char *)p;
	m->failed = true;
	return "";
}

int wire_get_diag(struct wire_message *m, struct diag *d)
{
	uint32_t code = wire_get_u32(m);
	const char *where = wire_get_string(m), *what = wire_get_string(m), *hint = wire_get_string(m);

	if (m->failed)
		return diag_set(d, CUTRACE_EFORMAT, "", "the compile worker's answer is damaged");
	if (!code)
		return 0;
	if (code > 100)
		code = -CUTRACE_EFORMAT;
	diag_set(d, -(int)code, where, "%s", what);
	if (hint[0])
		diag_hint(d, "%s", hint);
	return -(int)code;
}

void wire_free(struct wire_message *m)
{
	free(m->data);
	*m = (struct wire_message){0};
}

/* ---- the socket ------------------------------------------------------------------------------------- */

int64_t wire_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = {fd, events, 0};

	for (;;) {
		int64_t left = deadline_ms ? deadline_ms - wire_now_ms() : -1;

		if (deadline_ms && left <= 0)
			break;
		int n = poll(&p, 1, left > 1000000 ? 1000000 : (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return CUTRACE_EIO;
	}
	errno = ETIMEDOUT;
	return CUTRACE_EIO;
}

static int gone(void)
{
	return errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN ? CUTRACE_ENOENT : CUTRACE_EIO;
}

static bool again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int send_all(int fd, const void *data, size_t bytes, int64_t deadline_ms)
{
	const uint8_t *p = data;

	while (bytes) {
		ssize_t n = send(fd, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && !again())
			return gone();
		if (n < 0) {
			int rc = wait_for(fd, POLLOUT, deadline_ms);
			if (rc)
				return rc;
			continue;
		}
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, void *data, size_t bytes, int64_t deadline_ms)
{
	uint8_t *p = data;

	while (bytes) {
		ssize_t n = recv(fd, p, bytes, MSG_DONTWAIT);

		if (!n)
			return CUTRACE_ENOENT;
		if (n < 0 && !again())
			return gone();
		if (n < 0) {
			int rc = wait_for(fd, POLLIN, deadline_ms);
			if (rc)
				return rc;
			continue;
		}
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int wire_send(int fd, const struct wire_message *m, int64_t deadline_ms)
{
	struct head h = {MAGIC, m->kind, m->bytes};

	if (m->failed) {
		errno = ENOMEM;
		return CUTRACE_EIO;
	}
	int rc = send_all(fd, &h, sizeof(h), deadline_ms);
	return rc ? rc : send_all(fd, m->data, m->bytes, deadline_ms);
}

/* Memory grows with what has come, not with what was announced. */
static int receive_payload(int fd, struct wire_message *m, uint64_t bytes, int64_t deadline_ms)
{
	while (m->bytes < bytes) {
		uint64_t left = bytes - m->bytes;
		size_t part = left < 4 << 20 ? left : 4 << 20;

		if (!make_room(m, part)) {
			errno = ENOMEM;
			return CUTRACE_EIO;
		}
		int rc = receive_all(fd, m->data + m->bytes, part, deadline_ms);
		if (rc)
			return rc;
		m->bytes += part;
	}
	return 0;
}

int wire_receive(int fd, struct wire_message *m, int64_t deadline_ms)
{
	struct head h;
	int rc = receive_all(fd, &h, sizeof(h), deadline_ms);

	*m = (struct wire_message){0};
	if (rc)
		return rc;
	if (h.magic != MAGIC || h.bytes > MAX_BYTES) {
		errno = EPROTO;
		return CUTRACE_EIO;
	}
	m->kind = h.kind;
	rc = receive_payload(fd, m, h.bytes, deadline_ms);
	if (rc)
		wire_free(m);
	return rc;
}
