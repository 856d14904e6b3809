# ruff: noqa: E501 - the attacks are programs in strings
"""Attacks that once broke Quipu, each in a process of its own: seconds, peak of memory, outcome.

    .venv/bin/python tests/kill/attacks.py [PART OF A NAME ...]

Each attack has a test by name besides (see CHANGELOG, "Fixed"). This prints what a user would see, for a table of
before and after.
"""

import subprocess
import sys

CASES = {
    "concat of a 6 MB text, 64 MB": """
db = quipu.open(memory_limit="64MB")
out(lambda: db.run("?[n] := w in int_range(1000), n = length(concat($s, to_string(w)))", {"s": "a"*6_000_000}, timeout=20).rows()[:3])
""",
    "length(int_range(16777216)) five times, 64 MB": """
db = quipu.open(memory_limit="64MB")
out(lambda: db.run("?[n] := w in int_range(5), n = length(int_range(16777216 + w))", timeout=20).rows())
""",
    "2,000 stored texts of 500 KB under length, 64 MB": """
db = quipu.open(PATH, memory_limit="64MB")
db.run(":create t {k: Int => v: String}")
for i in range(0, 2000, 10):
    db.run("?[k, v] <- $rows :put t {k => v}", {"rows": [[k, str(k)*(500_000//len(str(k)))] for k in range(i, i+10)]})
db.flush()
base = peak()
out(lambda: db.run("?[sum(n)] := *t{v}, n = length(v)").rows())
""",
    "random walk of 10^8 steps, 64 MB": """
db = quipu.open(memory_limit="64MB")
db.run("?[a, b] <- [[1,2],[2,1]] :create e {a: Int, b: Int}")
out(lambda: len(db.run("s[] <- [[1]] ?[n, start, path] <~ RandomWalk(*e[], *e[], s[], steps: 100000000)", timeout=30).rows()))
""",
    "Python rule that yields for ever, 8 MB": """
db = quipu.open(memory_limit="8MB")
def forever(*_args):
    i = 0
    while True:
        yield (i, "x"*100)
        i += 1
db.register_fixed_rule("Forever", 2, lambda inputs, options: forever())
out(lambda: db.run("?[a, b] <~ Forever()", timeout=30).rows())
""",
    "Parquet of one 10 MB dictionary value, 200 rows, 64 MB": """
import pyarrow as pa, pyarrow.parquet as pq
v = pa.DictionaryArray.from_arrays(pa.array([0]*200, pa.int32()), pa.array(["a"*10_000_000]))
pq.write_table(pa.table({"v": v.cast(pa.string())}), PATH + ".parquet", compression="zstd", use_dictionary=True)
del v
size = os.path.getsize(PATH + ".parquet")
db = quipu.open(memory_limit="64MB")
r0 = peak()
out(lambda: db.run(f"?[sum(n)] := r[v], n = length(v)\\nr[v] <~ ParquetReader(url: 'file://{PATH}.parquet')").rows(), f"file {size} bytes, peak before {r0} MB")
""",
    "a text key of 16 MB, cache 64 MB, limit 256 MB": """
db = quipu.open(PATH, memory_limit="256MB")
b = db.blobs("b", key="str")
out(lambda: (b.put("k"*(16<<20), b"v"), db.flush(), b.get("k"*(16<<20))))
""",
    "same generation through a rule, tree of 8,191": """
db = quipu.open()
db.run("?[a, b] <- $rows :create par {a: Int, b: Int}", {"rows": [[i, i//2] for i in range(2, 8192)]})
q = "parent[x,a] := *par[x,a] sg[x,y] := parent[x,a], parent[y,a] sg[x,y] := parent[x,a], sg[a,b], parent[y,b] ?[c] := sg[4096, 8191], c = 1"
out(lambda: db.run(q, timeout=30).rows()); out(lambda: db.run(q, timeout=30).rows())
""",
    "is_in with 100,000 texts": """
db = quipu.open()
db.run("?[a] := a in int_range(100000) :create r {a: Int}")
l = [f"text {i}" for i in range(100000)]
out(lambda: db.run("?[count(a)] := *r[a], t = concat('text ', to_string(a)), is_in(t, $l)", {"l": l}, timeout=60).rows())
out(lambda: db.run("?[count(a)] := *r[a], t = concat('text ', to_string(a)), not t in $l", {"l": l}, timeout=60).rows())
""",
    "50,000 rules": """
db = quipu.open()
text = "r0[a] <- [[1]]\\n" + "\\n".join(f"r{i}[a] := r{i-1}[a]" for i in range(1, 50000)) + "\\n?[a] := r49999[a]"
out(lambda: db.run(text, timeout=120).rows())
text = "\\n".join(f"r{i}[a] <- [[{i}]]" for i in range(50000)) + "\\n?[a] := r49999[a]"
out(lambda: db.run(text, timeout=120).rows())
""",
    "10,000 relations under os, then reopened": """
db = quipu.open(PATH, durability="os")
def make():
    for i in range(10000):
        db.run(f":create r{i} {{k: Int => v: Int}}")
out(make)
db.close()
t = time.perf_counter(); db = quipu.open(PATH); n = len(db.run("::relations").rows()); print(f"    reopened {n} in {time.perf_counter()-t:.2f} s")
""",
    "a thread of 128 KiB, nesting of 127": """
import threading
db = quipu.open()
threading.stack_size(128 << 10)
def go():
    out(lambda: db.run("?[a] := a = " + "("*120 + "1" + ")"*120).rows())
    out(lambda: db.run("?[a] := a = " + "[" * 120 + "]" * 120).rows()[:0])
t = threading.Thread(target=go); t.start(); t.join()
""",
    "a sum past 64 bits and back, flushed between, in every durability": """
for durability in ("sync", "os", "none"):
    for flushes in (False, True):
        db = quipu.open(os.path.join(PATH + durability + str(flushes)), durability=durability)
        c = db.counters("c")
        c.add(1, 2**63 - 2); c.add(1, 5)
        if flushes: db.flush()
        c.add(2, 7); c.add(1, -10)
        out(lambda: (c[1], c[2], c.top(2)), f"{durability}, flushed {flushes}")
""",
    "SystemExit and KeyboardInterrupt in a rule": """
db = quipu.open()
db.run(":create r {a: Int}")
def leave(*_):
    raise SystemExit(7)
def stop(*_):
    raise KeyboardInterrupt
db.register_fixed_rule("Leave", 1, leave); db.register_fixed_rule("Stop", 1, stop)
for rule in ("Leave", "Stop"):
    script = "{?[a] <- [[1]] :put r {a}} %ignore_error {?[a] <~ RULE()} {?[a] <- [[2]] :put r {a}}".replace("RULE", rule)
    out(lambda: db.run(script)); out(lambda: db.run("?[a] := *r[a]").rows())
""",
    "a daemon thread in a callback when the interpreter ends": """
import threading
db = quipu.open(PATH)
db.run(":create r {a: Int}")
called = threading.Event()
def slow(*_):
    called.set()
    time.sleep(0.01)
db.register_callback("r", slow)
def write():
    i = 0
    while True:
        db.run(f"?[a] <- [[{i}]] :put r {{a}}"); i += 1
threading.Thread(target=write, daemon=True).start()
called.wait(10)
print("    ends")
""",
    "an export onto a pipe, a link, a private file": """
import stat, threading
db = quipu.open(PATH); g = db.graph("g"); g.upsert(1, 2)
folder = PATH + "out"; os.mkdir(folder)
fifo, link, private = folder + "/fifo", folder + "/link", folder + "/private"
os.mkfifo(fifo); os.symlink(folder + "/target", link); open(private, "w").close(); os.chmod(private, 0o600)
got = []
reader = threading.Thread(target=lambda: got.append(open(fifo).read())); reader.start()
out(lambda: g.export_csv(fifo)); reader.join()
out(lambda: g.export_csv(link)); out(lambda: g.export_csv(private))
print("    pipe", stat.S_ISFIFO(os.stat(fifo).st_mode), repr(got[0]), "link", os.path.islink(link), "mode", oct(os.stat(private).st_mode & 0o777))
""",
    "outputs into the database by other names": """
db = quipu.open(PATH); g = db.graph("g"); g.upsert(1, 2); db.flush()
os.mkdir(PATH + "other"); os.symlink(PATH, PATH + "link")
for target in (PATH + "other/../db/inside", PATH + "link/inside"):
    out(lambda: db.backup(target))
out(lambda: g.export_csv(PATH + "other/../db/tables/x.csv"))
out(lambda: db.backup(PATH + "bk")); out(lambda: quipu.restore(PATH + "bk", PATH + "other/../dbbk/y"))
""",
    "2,000 graphs of an edge with 256 descriptors": """
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
db = quipu.open(PATH, durability="os")
def write():
    for i in range(2000): db.graph(f"g{i}").upsert(1, i)
out(write); out(db.flush); db.close()
db = quipu.open(PATH)
out(lambda: sum(db.graph(f"g{i}").edge(1, i) is not None for i in range(2000))); out(lambda: len(db.check()["problems"]))
""",
    "the first key behind 400,000 deletes": """
db = quipu.open(); b = db.blobs("b")
b.put_many(list(range(400_001)), [b"x"] * 400_001)
b.delete_many(list(range(400_000)))
for _ in range(4):
    out(lambda: b.scan(0, 1))
""",
    "regular expressions, names in backquotes, empty results": r"""
db = quipu.open()
out(lambda: db.run(r"?[a] := a = regex_matches('abc', '^\\w{1,128}$')").rows())
db.graph("a-b"); db.relation
out(lambda: db.run("?[count(s)] := *`a-b`{src: s}").rows())
out(lambda: [str(c.type) for c in db.run("?[a, b] := a in [1], b = 'x', a > 1").to_arrow().schema])
""",
    "fork: the child closes, the parent goes on": """
db = quipu.open(PATH); b = db.blobs("b"); b.put(1, b"1")
pid = os.fork()
if pid == 0:
    try: db.close()
    finally: os._exit(0)
os.waitpid(pid, 0)
b.put(2, b"2"); b.put(3, b"3")
pid = os.fork()
if pid == 0:
    try:
        try: b.put(4, b"4")
        except quipu.ForkedError as e: os.write(1, b"    in the child: " + str(e).splitlines()[0].encode() + bytes([10]))
    finally: os._exit(0)
os.waitpid(pid, 0)
db.close(); db = quipu.open(PATH); b = db.blobs("b")
out(lambda: [b.get(i) for i in (1, 2, 3, 4)])
""",
}

BEFORE = """
import os, resource, sys, tempfile, time
import quipu
PATH = os.path.join(tempfile.mkdtemp(), "db")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
def out(call, more=""):
    before, start = peak(), time.perf_counter()
    try:
        result = f"{call()!r:.90}"
    except BaseException as error:
        result = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.110}"
    print(f"    {time.perf_counter() - start:.4f} s, peak {peak()} MB ({before} before) {more}: {result}", flush=True)
"""


def main() -> None:
    """Runs the attacks whose names contain one of the arguments, or all."""
    wanted = sys.argv[1:]
    for name, body in CASES.items():
        if wanted and not any(part in name for part in wanted):
            continue
        print(name, flush=True)
        command = [sys.executable, "-c", BEFORE + body]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            print("    runs longer than 300 s")
            continue
        print(ran.stdout.rstrip())
        if ran.returncode != 0:
            print(f"    status {ran.returncode}: {ran.stderr.strip()[-300:]}")


if __name__ == "__main__":
    main()
