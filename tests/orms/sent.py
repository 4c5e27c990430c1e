# Prints what a login of PostgreSQL sent, from the server's log with log_statement = all: each statement in a line
# of JSON, with its parameters. Argument: the part of the log. Only transactions and what they write: what mappers
# ask of the catalog differs from version to version.
import json, re, sys

entry = re.compile(r"^\d{4}-\d\d-\d\d \S+ \S+ \[(\d+)\] (\w+):  (.*)$", re.S)
said = re.compile(r"(?:statement|execute [^:]*): (.*)$", re.S)
value = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')")
wanted = re.compile(r"\s*(BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|INSERT|UPDATE|SELECT outbox)", re.I)


def entries(text):
    lines = []
    for line in text.split("\n"):
        if line.startswith("\t") and lines:
            lines[-1] += "\n" + line[1:]
        else:
            lines.append(line)
    return filter(None, map(entry.match, lines))


statements, latest = [], {}
for pid, kind, words in (one.groups() for one in entries(open(sys.argv[1]).read())):
    statement = said.match(words)
    if kind == "LOG" and statement:
        latest[pid] = {"sql": statement[1], "parameters": []}
        statements.append(latest[pid])
    elif kind == "DETAIL" and words.lower().startswith("parameters: ") and pid in latest:
        latest[pid]["parameters"] = [None if one == "NULL" else one[1:-1].replace("''", "'")
                                     for one in value.findall(words)]
for one in statements:
    if wanted.match(one["sql"]):
        print(json.dumps(one, ensure_ascii=False))
