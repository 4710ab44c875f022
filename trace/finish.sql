-- SPDX-License-Identifier: Apache-2.0
-- What is made when a trace is closed: views. They are derived: a reader needs none.

-- The writer looked up with these what a call destroyed.
DROP INDEX IF EXISTS stream_alive;
DROP INDEX IF EXISTS context_alive;

-- Names of result codes, by library.
CREATE TABLE result_name (library TEXT, value INTEGER, name TEXT NOT NULL, PRIMARY KEY (library, value)) WITHOUT ROWID;

CREATE VIEW calls AS
SELECT c.id AS id, t.process AS process, t.tid AS tid, f.name AS function,
  CASE WHEN c.t_exit IS NULL THEN 'in flight' ELSE coalesce(r.name, c.result) END AS result,
  c.t_enter / 1e6 AS start_ms, (c.t_exit - c.t_enter) / 1e6 AS duration_ms, c.parent AS parent
FROM call c JOIN function f ON f.id = c.func JOIN thread t ON t.id = c.thread
  LEFT JOIN result_name r ON r.library = f.library AND r.value = c.result;

-- A poll that found work unfinished (CUDA_ERROR_NOT_READY, 600) is no error, and what private functions return is no result code.
CREATE VIEW errors AS
SELECT c.id AS id, t.process AS process, t.tid AS tid, f.name AS function,
  coalesce(r.name, c.result) AS result, c.t_enter / 1e6 AS start_ms
FROM call c JOIN function f ON f.id = c.func JOIN thread t ON t.id = c.thread
  LEFT JOIN result_name r ON r.library = f.library AND r.value = c.result
WHERE c.result <> 0 AND c.result <> 600 AND f.known AND f.name NOT LIKE 'export:%';

CREATE VIEW functions AS
SELECT f.name AS function, count(*) AS calls, sum(c.result <> 0 AND c.result <> 600 AND f.known AND f.name NOT LIKE 'export:%') AS errors,
  sum(c.t_exit - c.t_enter) / 1e6 AS total_ms, avg(c.t_exit - c.t_enter) / 1e3 AS mean_us,
  max(c.t_exit - c.t_enter) / 1e3 AS max_us
FROM call c JOIN function f ON f.id = c.func GROUP BY c.func ORDER BY total_ms DESC;

CREATE VIEW launches AS
SELECT l.call AS call, t.process AS process, t.tid AS tid, k.name AS kernel,
  printf('%dx%dx%d', l.gx, l.gy, l.gz) AS grid, printf('%dx%dx%d', l.bx, l.by, l.bz) AS block,
  l.shared_bytes AS shared_bytes, printf('0x%llx', l.stream) AS stream, l.cooperative AS cooperative,
  c.t_enter / 1e6 AS start_ms, (c.t_exit - c.t_enter) / 1e6 AS call_ms
FROM launch l JOIN call c ON c.id = l.call JOIN thread t ON t.id = c.thread LEFT JOIN kernel k ON k.id = l.kernel;

CREATE VIEW kernels AS
SELECT k.id AS id, k.name AS name, k.has_ptx AS has_ptx, count(l.call) AS launches,
  sum(l.gx * l.gy * l.gz * l.bx * l.by * l.bz) AS threads, k.param_bytes AS param_bytes, k.module AS module,
  min(l.call) AS first_call
FROM kernel k LEFT JOIN launch l ON l.kernel = k.id GROUP BY k.id ORDER BY launches DESC;

CREATE VIEW transfers AS
SELECT p.call AS call, f.name AS function, p.kind AS kind, b.bytes AS bytes, p.buffer AS buffer,
  CASE WHEN p.device_address IS NOT NULL THEN printf('0x%llx', p.device_address) END AS device_address, p.note AS note
FROM payload p JOIN call c ON c.id = p.call JOIN function f ON f.id = c.func LEFT JOIN buffer b ON b.id = p.buffer;
