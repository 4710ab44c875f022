#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# interpose.sh BUILD: what recording costs, against LTTng-UST and uftrace on the same machine in the same run.
# With --install the Debian packages of those two are installed first (needs root).
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
	for threads in 1 2; do
		"$build/bin/cutrace" record -q -o "$work/t.cutrace" --driver "$driver" -- "$bench" calls $threads | lines cutrace
		rm -f "$work"/t.cutrace*
	done
}

measure_lttng() {
	mkdir -p "$work/lttng"
	if ! command -v lttng >/dev/null || ! ${CC:-cc} -O2 -shared -fPIC -I"$here" -o "$work/lttng/libcuda.so.1" \
		-Wl,-soname,libcuda.so.1 "$here/lttng_shim.c" -llttng-ust -ldl 2>"$work/lttng.log"; then
		echo "lttng: not measured, it is not installed (liblttng-ust-dev, lttng-tools): $(head -n 1 "$work/lttng.log")" >&2
		return
	fi
	export LTTNG_HOME="$work" LTTNG_UST_REGISTER_TIMEOUT=-1
	lttng-sessiond --daemonize --no-kernel >/dev/null 2>&1 || true
	lttng create bench -o "$work/lttng-trace" >/dev/null
	lttng enable-channel -u --subbuf-size=1M --num-subbuf=8 big >/dev/null
	lttng enable-event -u -c big 'bench:*' >/dev/null
	lttng start >/dev/null
	for threads in 1 2; do
		LD_LIBRARY_PATH="$work/lttng" "$bench" calls $threads | lines lttng-ust
	done
	lttng stop >/dev/null
	lttng destroy >/dev/null
	# ends the session daemon that was started above, by its own pid file
	[ ! -e "$work/.lttng/lttng-sessiond.pid" ] || kill "$(cat "$work/.lttng/lttng-sessiond.pid")" 2>/dev/null || true
}

measure_uftrace() {
	command -v uftrace >/dev/null || { echo "uftrace: not installed, not measured" >&2; return; }
	for threads in 1 2; do
		LD_LIBRARY_PATH=$(dirname "$driver") uftrace record -d "$work/uftrace" -b 4m -A '^cu@arg1,arg2,arg3' -R '^cu@retval' \
			"$build/bench/interpose_bench_pg" calls $threads 2>/dev/null | lines uftrace
		rm -rf "$work/uftrace"
	done
}

for threads in 1 2; do
	"$bench" calls $threads | lines bare
done
measure_cutrace
measure_lttng
measure_uftrace
for threads in 1 2; do
	"$bench" calls $threads | lines bare
done

echo "ns added to a call: median [minimum .. maximum over bursts of 2000 calls], bare call subtracted"
awk '
$1 == "bare" { k = $2 " " $3; if (!(k in bare) || $5 < bare[k]) bare[k] = $5; next }
{ k = $2 " " $3; if (!(k in seen)) { seen[k] = 1; order[++n] = k } who[$1] = 1
  cell[$1, k] = sprintf("%.0f [%.0f .. %.0f]", $5 - bare[k], $4 - bare[k], $6 - bare[k]) }
END {
	split("cutrace lttng-ust uftrace", name, " ")
	printf "%-15s %7s %6s", "function", "threads", "bare"
	for (i = 1; i <= 3; i++) if (name[i] in who) printf " %24s", name[i]
	print ""
	for (j = 1; j <= n; j++) {
		split(order[j], part, " ")
		printf "%-15s %7s %6.1f", part[1], part[2], bare[order[j]]
		for (i = 1; i <= 3; i++) if (name[i] in who) printf " %24s", cell[name[i], order[j]]
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
