# SPDX-License-Identifier: Apache-2.0
# Every function that the headers declare or the stub library exports is described, and nothing else.
. "${4}/common.sh"
vendor | declared >"$tmp/headers"
stub=
for dir in "$include/../lib64/stubs" "$include/../lib/stubs" "$include/../../../lib64/stubs"; do
	[ -e "$dir/libcuda.so" ] && stub=$dir/libcuda.so && break
done
: >"$tmp/stub"
[ -n "$stub" ] && nm -D --defined-only "$stub" | awk '{ print $3 }' | sort -u >"$tmp/stub"
ours | declared >"$tmp/described"
sort -u "$tmp/headers" "$tmp/stub" >"$tmp/union"
comm -23 "$tmp/union" "$tmp/described" >"$tmp/missing"
comm -13 "$tmp/union" "$tmp/described" >"$tmp/extra"
echo "headers $(wc -l <"$tmp/headers"), stub $(wc -l <"$tmp/stub"), union $(wc -l <"$tmp/union"), described $(wc -l <"$tmp/described"), missing $(wc -l <"$tmp/missing"), not theirs $(wc -l <"$tmp/extra")"
cat "$tmp/missing" "$tmp/extra"
[ -s "$tmp/headers" ] && [ ! -s "$tmp/missing" ] && [ ! -s "$tmp/extra" ]
