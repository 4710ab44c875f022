# SPDX-License-Identifier: Apache-2.0
# The real description, cut off, with lines lost, doubled or in disorder, or with bytes replaced, must be
# refused or accepted, never crash or hang the generator.
# usage: mangled.sh APIGEN FILES
apigen=$1
shift
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cat "$@" >"$tmp/all"
bytes=$(wc -c <"$tmp/all")
try() {
	timeout 20 "$apigen" -p tables "$tmp/in" >/dev/null 2>"$tmp/err"
	rc=$?
	if [ $rc != 0 ] && [ $rc != 1 ]; then
		echo "FAILED: exit status $rc after $1"
		head -5 "$tmp/err"
		exit 1
	fi
	n=$((n + 1))
}
n=0
seed=1
while [ $seed -le 12 ]; do
	head -c $((bytes * seed / 13 + seed)) "$tmp/all" >"$tmp/in" && try "cutting (seed $seed)"
	awk -v s=$seed 'BEGIN { srand(s) } rand() > 0.02' "$tmp/all" >"$tmp/in" && try "losing lines (seed $seed)"
	awk -v s=$seed 'BEGIN { srand(s) } { print } rand() < 0.02' "$tmp/all" >"$tmp/in" && try "doubling lines (seed $seed)"
	awk -v s=$seed 'BEGIN { srand(s); c = "()*[]=,:?x9 \t#-" } {
		if (rand() < 0.05) { k = 1 + int(rand() * length($0)); $0 = substr($0, 1, k - 1) substr(c, 1 + int(rand() * length(c)), 1) substr($0, k + 1) }
		print }' "$tmp/all" >"$tmp/in" && try "replacing characters (seed $seed)"
	awk -v s=$seed 'BEGIN { srand(s) } { n = split($0, w, " "); if (n > 2 && rand() < 0.05) $0 = substr($0, 1, match($0, /[^ ]/) - 1) w[n] " " w[1]; print }' "$tmp/all" >"$tmp/in" && try "swapping words (seed $seed)"
	seed=$((seed + 1))
done
head -c 20000 /dev/urandom >"$tmp/in" && try "noise"
awk 'BEGIN { printf "func f\n int n\n in char *p len "; for (i = 0; i < 5000; i++) printf "("; print "" }' >"$tmp/in" && try "deep nesting"
awk 'BEGIN { print "struct s"; for (i = 0; i < 300; i++) { for (j = 0; j <= i; j++) printf " "; print "struct a" } }' >"$tmp/in" && try "deep structs"
: >"$tmp/in" && try "nothing at all"
echo "$n inputs"
