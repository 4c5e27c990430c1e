# mutant_tree: the copy of the working tree for tools/mutants: its files, build, servers and processes.
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
place = root / "build/mutants"
tree = place / "tree"
build = tree / "build/dev"
jobs = os.cpu_count() or 2


def die(text, status=1):
    print(f"mutants: {text}", file=sys.stderr)
    sys.exit(status)


running = None


def end_running():
    """Ends the running command and its process group. Processes that left the group: see end_leftovers."""
    global running
    for how in (signal.SIGTERM, signal.SIGKILL) if running else ():
        try:
            os.killpg(running.pid, how)
            running.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    running = None


def run(command, log, limit=None, env=None):
    global running
    with open(log, "ab") as out:
        running = subprocess.Popen(command, cwd=tree, env=env, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        status = running.wait(limit)
    except BaseException:
        end_running()
        raise
    running = None
    return status


def end_leftovers():
    """Kills all processes of the copy's programs. A stopped test leaves relays behind, even frozen ones."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "exe").startswith(f"{build}/"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # the process has ended, or belongs to another user


def copy_tree():
    """Copies the working tree. Unchanged files keep their times, so that they are not built again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            check=True, capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (root / name).is_file()}
    for name in wanted:
        there = tree / name
        if not there.is_file() or there.read_bytes() != (root / name).read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, there)
    for folder, folders, files in os.walk(tree):
        if folder == str(tree):
            folders[:] = [name for name in folders if name != "build"]
        for name in files:
            there = pathlib.Path(folder, name)
            if str(there.relative_to(tree)) not in wanted:
                there.unlink()


def configure(log):
    linker = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"] if shutil.which("mold") else []
    # A mutant may leave a name unused, which must not make the build fail.
    if run(["cmake", "--preset", "dev", "-DOUTBOXD_BENCH=OFF", "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF",
            *linker], log) != 0:
        die(f"CMake could not configure the copy, see {log}. If a package is missing, run tools/bootstrap.")


def compile_targets(targets, log):
    some = ["--target", *targets] if targets else []
    return run(["cmake", "--build", str(build), "-j", str(jobs), *some], log) == 0


def tests():
    """Returns all tests in ctest's order."""
    told = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(told)["tests"]


def labels_of_tests():
    return {one["name"]: label for one in tests() for prop in one.get("properties", [])
            if prop["name"] == "LABELS" for label in prop["value"]}


def numbers_of_tests(names):
    """Returns the argument of ctest's -I. Its -R takes only some thirty parentheses."""
    wanted = set(names)
    return ",".join(["0,0,0"] + [str(number) for number, one in enumerate(tests(), 1) if one["name"] in wanted])


environment = None


def start_servers():
    global environment
    if environment:
        return
    log = place / "services.log"
    if run(["tools/services", "start"], log) != 0:
        die(f"The servers of the copy do not start, see {log}.")
    words = subprocess.run(["bash", "-c", 'eval "$(tools/services env)" && env -0'], cwd=tree, check=True,
                           capture_output=True, text=True).stdout
    environment = dict(word.split("=", 1) for word in words.split("\0") if "=" in word)
    environment["OUTBOXD_TEST_PATIENCE"] = "60"


def stop_servers():
    global environment
    for name in ("OUTBOXD_TEST_PGPID", "OUTBOXD_TEST_RABBITMQ_PID") if environment else ():
        try:
            os.kill(int(environment[name]), signal.SIGCONT)  # a test may have frozen it
        except (OSError, ValueError):
            pass
    # If ctest stops at a failure, the servers of single tests keep running.
    pairs = [{"OUTBOXD_SERVICES_DIR": str(own)} for own in tree.glob("build/services-of-*")]
    for variables in pairs + ([{}] if environment else []):
        subprocess.run(["tools/services", "stop"], cwd=tree, env={**os.environ, **variables},
                       start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = None


def run_tests(arguments, log, on_servers, limit, stop=("--stop-on-failure",)):
    """Returns the failed tests, including those that did not end within the limit."""
    if on_servers:
        start_servers()
    failed = build / "Testing/Temporary/LastTestsFailed.log"
    failed.unlink(missing_ok=True)
    begin = log.stat().st_size if log.exists() else 0
    try:
        if run(["ctest", "--test-dir", str(build), "-j", str(jobs + 1), "--output-on-failure",
                "--no-tests=error", *stop, *arguments], log, limit, environment) == 0:
            return []
        named = failed.read_text().splitlines() if failed.exists() else []
        return [line.partition(":")[2] for line in named] or ["ctest itself, see its log"]
    except subprocess.TimeoutExpired:
        stop_servers()
        words = log.read_bytes()[begin:].decode(errors="replace")
        ended = set(re.findall(r"Test +#(\d+):", words))
        return [f"{name} (does not end)" for number, name in re.findall(r"Start +(\d+): (.*)", words)
                if number not in ended] or ["ctest (does not end)"]
    finally:
        end_leftovers()


def clear_away():
    """Ends everything. Ignores signals, so that nothing interrupts this."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    end_running()
    end_leftovers()
    stop_servers()
