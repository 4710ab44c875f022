-- SPDX-License-Identifier: Apache-2.0
-- The trace: tables. docs/format.md explains them. One file, SQLite 3,
-- application_id 0x43555452 ("CUTR"), user_version = schema version.
-- Times are nanoseconds since the recording began. Addresses and other
-- 64-bit patterns are SQLite integers (two's complement). Floats are stored as their bits.

CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- uuid, created_utc, cutrace_version, command, host_os, cpu, driver_path, driver_version, device_option,
-- closed (1 = finished properly), start_unix_ns, options

CREATE TABLE process (
  id INTEGER PRIMARY KEY,           -- 1, 2, ... in order of appearance
  pid INTEGER, parent INTEGER,      -- parent: process.id or NULL
  exe TEXT, argv TEXT,              -- argv: JSON array
  cwd TEXT,
  t_start INTEGER, t_end INTEGER,
  end_kind TEXT,                    -- 'exit', 'exec', 'signal', 'lost', NULL while running
  end_code INTEGER
);
CREATE TABLE thread (
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, tid INTEGER, name TEXT,
  t_start INTEGER, t_end INTEGER
);

-- What the driver offered each process, asked by the recorder when cuInit had succeeded.
CREATE TABLE device (
  process INTEGER, ordinal INTEGER, name TEXT, cc INTEGER, -- cc: compute capability, 10 * major + minor
  bytes INTEGER, sm_count INTEGER, uuid BLOB,
  PRIMARY KEY (process, ordinal)
) WITHOUT ROWID;

-- Functions that occur in this trace.
CREATE TABLE function (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,        -- 'cuMemAlloc_v2', or 'export:UUID:slot', or an unknown function's name
  library TEXT NOT NULL,            -- 'cuda'
  known INTEGER NOT NULL,           -- 0: recorded by a generic thunk: raw registers only
  nparams INTEGER NOT NULL,
  signature TEXT                    -- C prototype
);

-- One row per call, in order of id. id is the recording's global sequence number: it orders call entries across threads and processes.
CREATE TABLE call (
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  parent INTEGER,                   -- enclosing call, NULL at the outermost level
  func INTEGER NOT NULL,
  t_enter INTEGER NOT NULL,
  t_exit INTEGER,                   -- NULL: in flight when the recording ended
  seq_seen INTEGER,                 -- newest id taken by anyone when this call ended: X ended before Y began <=> X.seq_seen < Y.id
  result INTEGER,                   -- NULL in flight
  -- raw arguments in order of parameters (all beyond 16 in call_overflow)
  a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15,
  -- what scalar out-parameters pointed to after a call: n-th pointer parameter of dir out/inout whose pointee is a scalar, handle or device pointer
  o0, o1, o2, o3, o4, o5, o6, o7
);
CREATE TABLE call_overflow (call INTEGER, idx INTEGER, value INTEGER, PRIMARY KEY (call, idx)) WITHOUT ROWID;
-- Host memory that a call read (phase 0) or wrote (phase 1): structs, arrays, strings, without payload.
-- data: blocks {u64 address, u32 bytes, u32 param, bytes, padding to 8} one after the other, little-endian.
CREATE TABLE call_memory (call INTEGER, phase INTEGER, data BLOB NOT NULL, PRIMARY KEY (call, phase)) WITHOUT ROWID;

-- Content-addressed data.
CREATE TABLE chunk (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,               -- XXH3-128 of the plain bytes, canonical (big-endian) form
  bytes INTEGER NOT NULL,           -- plain
  codec INTEGER NOT NULL,           -- 0 stored, 1 zstd, 2 in the payload log at `log_offset`
  log_offset INTEGER,
  data BLOB
);
-- A buffer is a sequence of chunks (1 MiB each but the last).
CREATE TABLE buffer (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,               -- XXH3-128 of the whole
  bytes INTEGER NOT NULL
);
CREATE TABLE buffer_chunk (buffer INTEGER, idx INTEGER, chunk INTEGER NOT NULL, PRIMARY KEY (buffer, idx)) WITHOUT ROWID;

-- Large data of a call.
CREATE TABLE payload (
  id INTEGER PRIMARY KEY,
  call INTEGER NOT NULL,
  param INTEGER NOT NULL,           -- parameter index, -1: none
  kind TEXT NOT NULL,               -- 'h2d', 'd2h', 'image', 'unavailable'
  address INTEGER,                  -- host address the bytes were taken from
  device_address INTEGER,           -- device range it went to or came from, when known
  width INTEGER, height INTEGER, depth INTEGER, -- bytes per row, rows, slices as packed in the buffer; height = depth = 1 for linear copies
  buffer INTEGER,                   -- NULL when unavailable
  note TEXT                         -- why unavailable
);

CREATE TABLE context (id INTEGER PRIMARY KEY, process INTEGER, handle INTEGER, device INTEGER, primary_ctx INTEGER, created INTEGER, destroyed INTEGER);
CREATE TABLE stream (id INTEGER PRIMARY KEY, process INTEGER, handle INTEGER, context INTEGER, flags INTEGER, priority INTEGER, created INTEGER, destroyed INTEGER);
-- created, destroyed: calls. base, bytes: device address range.
CREATE TABLE allocation (
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, base INTEGER NOT NULL, bytes INTEGER NOT NULL,
  kind TEXT NOT NULL,               -- 'device', 'host', 'registered', 'managed', 'vmm', 'global', 'pool'
  host_address INTEGER,
  created INTEGER, destroyed INTEGER
);
CREATE TABLE module (
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, handle INTEGER NOT NULL,
  is_library INTEGER NOT NULL, parent INTEGER, -- module row of the library that a module handle belongs to
  image INTEGER,                    -- buffer
  created INTEGER, destroyed INTEGER
);
-- Code images, once each; ptx is the text chosen for analysis (NULL: machine code only).
CREATE TABLE image (
  buffer INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,               -- 'ptx', 'cubin', 'fatbin', 'unknown'
  ptx INTEGER,                      -- buffer of the PTX text
  archs TEXT                        -- 'ptx:80 elf:80 elf:90'
);
CREATE TABLE kernel (
  id INTEGER PRIMARY KEY, module INTEGER, name TEXT NOT NULL,
  has_ptx INTEGER NOT NULL, param_bytes INTEGER, line INTEGER
);
CREATE TABLE kernel_param (
  kernel INTEGER, idx INTEGER, name TEXT, type TEXT, offset INTEGER, bytes INTEGER,
  is_pointer INTEGER, is_read INTEGER, is_written INTEGER, elem_type TEXT,
  PRIMARY KEY (kernel, idx)
) WITHOUT ROWID;
CREATE TABLE kernel_handle (process INTEGER, handle INTEGER, kernel INTEGER, created INTEGER);
-- One row per kernel launch; call is the recorded API call.
CREATE TABLE launch (
  call INTEGER PRIMARY KEY, kernel INTEGER, stream INTEGER,
  gx INTEGER, gy INTEGER, gz INTEGER, bx INTEGER, by INTEGER, bz INTEGER, shared_bytes INTEGER, cooperative INTEGER,
  params INTEGER                    -- buffer: packed parameter block
);
-- --check: hash of an allocation after a launch (XXH3-128).
CREATE TABLE launch_hash (
  launch INTEGER, base INTEGER, bytes INTEGER, hash BLOB NOT NULL, PRIMARY KEY (launch, base)
) WITHOUT ROWID;
-- --check: what a range held after a launch, in numbers (since version 2). hash: XXH3-128 of the hashes of its chunks, where
-- it was computed on the device; docs/format.md. The numbers are 0 where type is NULL, not known; sums, least and greatest are of
-- finite elements (NULL: there is none).
CREATE TABLE launch_sketch (
  launch INTEGER, base INTEGER, bytes INTEGER, hash BLOB, type TEXT,
  elements INTEGER, nan INTEGER, infinite INTEGER, zero INTEGER,
  least REAL, greatest REAL, sum REAL, magnitude REAL,
  block_bytes INTEGER, blocks BLOB, samples BLOB, -- doubles, little-endian
  PRIMARY KEY (launch, base)
) WITHOUT ROWID;
-- Which code of an image the driver took (since version 2): 'ptx:80', 'elf:90'.
CREATE TABLE image_run (image INTEGER, process INTEGER, what TEXT NOT NULL, PRIMARY KEY (image, process)) WITHOUT ROWID;
-- What the device could see change without a call (mapped, managed memory, host callbacks).
CREATE TABLE host_write (id INTEGER PRIMARY KEY, call INTEGER, address INTEGER, bytes INTEGER, buffer INTEGER);
CREATE TABLE diagnostic (
  id INTEGER PRIMARY KEY, t INTEGER, process INTEGER, call INTEGER,
  severity TEXT NOT NULL,           -- 'info', 'warning', 'error'
  source TEXT NOT NULL,             -- 'recorder', 'collector', 'driver'
  message TEXT NOT NULL
);
-- The recorder's own cost.
CREATE TABLE overhead (process INTEGER, what TEXT, count INTEGER, bytes INTEGER, ns INTEGER);

-- Needed while recording, and by readers of a trace that was not closed; others are in indexes.sql, the views come at close (finish.sql).
-- Small contents are found by other means: an index over random hashes would make every commit write all of its pages.
CREATE INDEX chunk_hash ON chunk(hash) WHERE bytes > 4096;
CREATE INDEX buffer_hash ON buffer(hash) WHERE bytes > 4096;
CREATE INDEX payload_call ON payload(call);
