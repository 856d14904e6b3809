"""Answers one recursive query with DuckDB: `duckdb_run.py FOLDER THREADS`.

FOLDER has a file `NAME.txt` for each relation and the query in `sql`. Prints the number of rows and
the seconds and processor seconds of the query as a line of JSON.
"""

import json
import sys
import time
from pathlib import Path

import duckdb


def main() -> None:
    """Loads the relations into memory and asks."""
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    db = duckdb.connect()
    db.execute(f"SET threads = {threads}")
    for file in sorted(folder.glob("*.txt")):
        db.execute(
            f"CREATE TABLE {file.stem} AS FROM read_csv('{file}', delim = ' ', header = false, "
            "columns = {'a': 'INTEGER', 'b': 'INTEGER'})"
        )
    query = (folder / "sql").read_text()
    start, cpu = time.perf_counter(), time.process_time()
    row = db.execute(query).fetchone()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps({"rows": row[0] if row else 0, "seconds": seconds, "cpu_seconds": cpu}))


if __name__ == "__main__":
    main()
