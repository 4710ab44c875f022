#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The arrows between components in docs/architecture.md are those that exist: what CMake links, what sources include.
set -eu
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
fresh_work arrows
cd "$(dirname "$0")/../.."

# "FROM TO", from the last column of the table. cli and tests may use all; base is everybody's.
awk -F' [|] ' '/^## / { here = /Components/ }
here && /^[|] `[a-z_\/]*\/` [|]/ {
	gsub(/[|` ]/, "", $1); sub(/\/$/, "", $1)
	print $1 ": " $3
}' docs/architecture.md >"$work/table"
folders=$(cut -d: -f1 "$work/table")
while IFS=: read -r from uses; do
	case $from in cli | tests) continue ;; esac
	for word in $(printf '%s' "$uses" | sed 's/([^)]*)//g' | tr -c 'a-z_/' ' '); do
		for folder in $folders; do
			[ "$word" != "$folder" ] || [ "$word" = base ] || printf '%s %s\n' "$from" "$word"
		done
	done
done <"$work/table" | sort -u >"$work/said"

# Libraries by component.
cat >"$work/targets" <<'END'
cutrace_api api
cutrace_api_sql api
cutrace_collector interpose/collector
cutrace_record interpose
cutrace_trace trace
cutrace_ptx ptx
cutrace_lower ptx/lower
cutrace_core zluda_core
cutrace_device_interp zluda_core/device_interp
cutrace_compiler zluda_core/compiler
cutrace_compile_service zluda_core/compiler
cutrace_amdgpu_emulator zluda_core/amdgpu_emulator
cutrace_device_amd zluda_core/device_amd
cutrace_device_amdemu zluda_core/device_amdemu
cutrace_device_hip zluda_core/device_hip
cutrace_replay replay
cutrace_reduce reduce
cutrace_dump dump
cutrace_diff diff
cutrace_debug debug
END
linked()
{
	# shellcheck disable=SC2086 # words
	find $folders -maxdepth 1 -name CMakeLists.txt ! -path 'tests/*' -exec cat {} + | tr '\n' ' ' |
		grep -o 'target_link_libraries([^)]*)' | tr '()' '  ' |
		awk 'NR == FNR { folder[$1] = $2; next }
			$2 in folder { for (i = 3; i <= NF; i++) if ($i in folder && folder[$i] != folder[$2]) print folder[$2], folder[$i] }' \
			"$work/targets" -
}

# The longest folder of the table that an included path begins with.
included()
{
	for from in $folders; do
		case $from in cli | tests | base) continue ;; esac
		sed -n 's/^#include "\([a-z_/]*\)\/[^/"]*".*/\1/p' "$from"/*.[ch] | sort -u | while read -r path; do
			while [ -n "$path" ] && ! printf '%s\n' "$folders" | grep -qx "$path"; do
				case $path in */*) path=${path%/*} ;; *) path= ;; esac
			done
			case $path in '' | base | "$from") ;; *) printf '%s %s\n' "$from" "$path" ;; esac
		done
	done
}
{
	linked
	included
} | sort -u >"$work/real"
[ "$(wc -l <"$work/real")" -ge 15 ] || fail 'hardly any arrows were found'
diff "$work/said" "$work/real" >"$work/difference" || {
	fail 'docs/architecture.md (<) and the code (>) have different arrows:'
	cat "$work/difference" >&2
}
finish
