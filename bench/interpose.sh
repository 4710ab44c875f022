#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# interpose.sh BUILD: what recording costs, against LTTng-UST and uftrace on the same machine in the same run,
# ROUNDS (default 5) times in turn. With --install the Debian packages of those two are installed first (needs root).
set -eu

install=no
[ "${1:-}" = --install ] && { install=yes; shift; }
build=${1:?usage: bench/interpose.sh [--install] BUILD}
build=$(cd "$build" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

[ $install = no ] || apt-get install -y --no-install-recommends lttng-tools liblttng-ust-dev uftrace >/dev/null
cmake --build "$build" --target bench cutrace >/dev/null

bench=$build/bench/interpose_bench
driver=$build/bench/driver/libcuda.so.1
BENCH_DRIVER=$driver
export BENCH_DRIVER

# Lines of the benchmark, with the recorder's name in front.
lines() { sed "s/^/$1 /" >>"$work/results"; }

measure_cutrace() {
	"$build/bin/cutrace" record -q -o "$work/t.cutrace" --driver "$driver" -- "$bench" calls $1 | lines cutrace
	rm -f "$work"/t.cutrace*
}

have_lttng=no
start_lttng() {
	mkdir -p "$work/lttng"
	if ! command -v lttng >/dev/null || ! ${CC:-cc} -O2 -shared -fPIC -I"$here" -o "$work/lttng/libcuda.so.1" \
		-Wl,-soname,libcuda.so.1 "$here/lttng_shim.c" -llttng-ust -ldl 2>"$work/lttng.log"; then
		echo "lttng: not measured, it is not installed (liblttng-ust-dev, lttng-tools): $(head -n 1 "$work/lttng.log")" >&2
		return
	fi
	have_lttng=yes
	export LTTNG_HOME="$work" LTTNG_UST_REGISTER_TIMEOUT=-1
	lttng-sessiond --daemonize --no-kernel >/dev/null 2>&1 || true
}

measure_lttng() {
	[ $have_lttng = yes ] || return 0
	lttng create bench -o "$work/lttng-trace" >/dev/null
	lttng enable-channel -u --subbuf-size=1M --num-subbuf=8 big >/dev/null
	lttng enable-event -u -c big 'bench:*' >/dev/null
	lttng start >/dev/null
	LD_LIBRARY_PATH="$work/lttng" "$bench" calls $1 | lines lttng-ust
	lttng stop >/dev/null
	lttng destroy >/dev/null
	rm -rf "$work/lttng-trace"
}

# the session daemon that was started above, by its own pid file
end_lttng() {
	[ ! -e "$work/.lttng/lttng-sessiond.pid" ] || kill "$(cat "$work/.lttng/lttng-sessiond.pid")" 2>/dev/null || true
}

measure_uftrace() {
	command -v uftrace >/dev/null || return 0
	LD_LIBRARY_PATH=$(dirname "$driver") uftrace record -d "$work/uftrace" -b 4m -A '^cu@arg1,arg2,arg3' -R '^cu@retval' \
		"$build/bench/interpose_bench_pg" calls $1 2>/dev/null | lines uftrace
	rm -rf "$work/uftrace"
}

command -v uftrace >/dev/null || echo "uftrace: not installed, not measured" >&2
start_lttng
for round in $(seq "${ROUNDS:-5}"); do
	"$bench" speed | lines speed
	for threads in 1 2; do
		"$bench" calls $threads | lines bare
		measure_cutrace $threads
		measure_lttng $threads
		measure_uftrace $threads
	done
done
end_lttng

awk -v rounds="${ROUNDS:-5}" '
# of the numbers in the list, in ascending order, the one at `part` (0 to 1)
function pick(list, part,   n, x, i, j, t) {
	n = split(list, x, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && x[j] + 0 < x[j - 1] + 0; j--) { t = x[j]; x[j] = x[j - 1]; x[j - 1] = t }
	return x[1 + int((n - 1) * part + 0.5)] + 0
}
{ k = $2 " " $3; medians[$1, k] = medians[$1, k] " " $5; who[$1] = 1 }
$1 == "bare" && !(k in seen) { seen[k] = 1; order[++n] = k }
function cell(name, k,   b) {
	b = pick(medians["bare", k], 0.5)
	return sprintf("%.0f [%.0f .. %.0f]", pick(medians[name, k], 0.5) - b, pick(medians[name, k], 0) - b,
		pick(medians[name, k], 1) - b)
}
END {
	printf "this machine, ns (of %d rounds the median, fastest .. slowest): ", rounds
	split("rdtsc locked-add system-call", step, " ")
	for (i = 1; i <= 3; i++) {
		k = medians["speed", step[i] " 1"]
		printf "%s%s %.1f [%.1f .. %.1f]", (i > 1 ? ", " : ""), step[i], pick(k, 0.5), pick(k, 0), pick(k, 1)
	}
	print "\n\nns added to a call: of the rounds'"'"' medians the median [fastest .. slowest round]; a recorded call reads rdtsc twice"
	split("cutrace lttng-ust uftrace", name, " ")
	printf "%-15s %7s %6s", "function", "threads", "bare"
	for (i = 1; i <= 3; i++) if (name[i] in who) printf " %22s", name[i]
	print ""
	for (j = 1; j <= n; j++) {
		split(order[j], part, " ")
		printf "%-15s %7s %6.1f", part[1], part[2], pick(medians["bare", order[j]], 0.5)
		for (i = 1; i <= 3; i++) if (name[i] in who) printf " %22s", cell(name[i], order[j])
		print ""
	}
}' "$work/results"

echo
echo "payload, MB/s: median [minimum .. maximum]"
"$build/bin/cutrace" record -q -o "$work/p.cutrace" --driver "$driver" -- "$bench" payload >"$work/payload"
awk '{ printf "%-16s %8d [%d .. %d]\n", $1, $4, $3, $5; m[$1] = $4 }
END { printf "into the ring: %.0f %% of memcpy\n", 100 * m["ring-1MB"] / m["memcpy-1MB"] }' "$work/payload"

# From the first byte to the closed file.
begin=$(date +%s%N)
"$build/bin/cutrace" record -q -o "$work/f.cutrace" --driver "$driver" -- "$bench" fill
end=$(date +%s%N)
awk -v ns=$((end - begin)) 'BEGIN { printf "to the finished file: %.0f MB/s (512 MB of noise in %.1f s)\n", 512e9 * 1.048576 / ns, ns / 1e9 }'
