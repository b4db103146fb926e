"""Child processes that never outlive us: each has its own process group, ended on timeout and on Ctrl-C."""

import os
import signal
import subprocess
import threading


class ChildFailed(Exception):
    """A child that could not start, ran too long or ended badly; the message says which, with its last lines."""


def run(argv, timeout_s, on_line=None, **options):
    """Runs a command and returns all lines it printed. `on_line(process, line)` sees each as it comes."""
    try:
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, errors="replace", start_new_session=True, **options)
    except OSError as problem:
        raise ChildFailed(f"{argv[0]}: {problem.strerror}") from problem
    late = threading.Event()
    timer = threading.Timer(timeout_s, lambda: (late.set(), end(process)))
    timer.start()
    try:
        lines = read(process, on_line)
    finally:
        timer.cancel()
        end(process)
    if late.is_set():
        raise ChildFailed(f"took longer than {timeout_s} s: {last(lines)}")
    if process.returncode:
        raise ChildFailed(f"ended with status {process.returncode}: {last(lines)}")
    return lines


def last(lines):
    return " | ".join(lines[-5:]) or "it printed nothing"


def read(process, on_line):
    lines = []
    with process.stdout:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if on_line:
                on_line(process, lines[-1])
    process.wait()
    return lines


def end(process):
    """Ends the child and whatever it started; does nothing once it has ended by itself."""
    if process.poll() is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=3)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def resident_bytes(pid):
    """Resident memory of a process, from the kernel's own account."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0
