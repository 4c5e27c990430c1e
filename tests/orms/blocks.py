# Writes the code blocks of a page that name a file (```python shop/events.py) into these files. Blocks of one
# file are joined. Arguments: the page, a directory.
import pathlib, re, sys

page, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
files = {}
for name, code in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(), re.M | re.S):
    files.setdefault(name, []).append(code)
for name, parts in files.items():
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text("\n".join(parts))
