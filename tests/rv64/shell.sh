# Pipes, jobs, files, signals and programs of a shell's: the same on every machine.
echo one two three | tr ' ' '\n' | sort -r | while read -r word; do echo "<$word>"; done
seq 1 1000 | awk '{ s += $1 } END { print s, s / 3 }'
(exit 3); echo "status $?"
false || echo "or $((7 * 6)) $((0x7fffffffffffffff))"
x=$(echo inner $(echo nested)); echo "$x"
for i in 1 2 3; do (echo "job $i" > "out$i") & done; wait; cat out1 out2 out3
(sleep 5 & kill $!; wait $!; echo "killed: $?") 2>/dev/null # which may say "Terminated"
trap 'echo "got USR1"' USR1; kill -USR1 $$
trap 'echo "and TERM"' TERM; (kill $$) ; echo after
head -c 100000 /dev/zero | md5sum | cut -c1-32
head -c 3000000 /dev/zero | tr '\0' a | wc -c
mkdir -p a/b && ln -s b a/link && touch -d '2020-01-02 03:04:05' a/b/file && ls -l a | cut -c1-10
cat > script <<'END'
#!/bin/sh
echo "script $0 $1"
END
chmod +x script && ./script argument
find . -type f | sort; rm -r a; test -e a || echo gone
echo 'text' > file; cp file copy; cmp file copy && echo same; stat -c '%s %A' copy
dd if=/dev/zero of=sparse bs=1 count=1 seek=99999 2>/dev/null; wc -c < sparse
i=0; while [ $i -lt 100 ]; do i=$((i+1)); ( : ); done; echo $i
yes | head -n 3; (sleep 1; echo late) | timeout 10 cat
nonexistent 2>/dev/null; echo $?
