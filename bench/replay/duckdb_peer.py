"""duckdb_peer.py FILE: runs ten_policies.sql over an access log, with one thread. Prints what single_purpose.cc prints."""

import os
import sys

import duckdb

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    database = duckdb.connect(":memory:", config={"threads": 1})
    with open(os.path.join(HERE, "ten_policies.sql"), encoding="ascii") as f:
        script = f.read().format(file=sys.argv[1].replace("'", "''"))
    rows = database.execute(script).fetchall()
    print("rows", database.execute("SELECT count(*) FROM log").fetchone()[0])
    for name, events, over in rows:
        print(name, events, over)


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print("DuckDB", duckdb.__version__)
    else:
        main()
