"""Child processes that never outlive us: each has its own process group, ended on timeout and on Ctrl-C."""

import os
import queue
import signal
import subprocess
import threading
import time


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


class Conversation:
    """A child that is talked to by lines. Used with `with`: it ends with the block."""

    def __init__(self, argv, **options):
        try:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", start_new_session=True, **options)
        except OSError as problem:
            raise ChildFailed(f"{argv[0]}: {problem.strerror}") from problem
        self.lines, self.arriving = [], queue.Queue()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self.arriving.put(line.rstrip("\n"))
        self.arriving.put(None)

    def say(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError as problem:
            raise ChildFailed(f"does not listen: {problem.strerror}: {last(self.lines)}") from problem

    def hear(self, start, timeout_s):
        """Waits for a line that begins so; others are kept for the case that it fails."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                line = self.arriving.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                raise ChildFailed(f"took longer than {timeout_s} s: {last(self.lines)}") from None
            if line is None:
                raise ChildFailed(f"ended early: {last(self.lines)}")
            self.lines.append(line)
            if line.startswith(start):
                return line

    def said(self):
        """The last lines so far."""
        while not self.arriving.empty():
            self.lines.append(self.arriving.get() or "that was all")
        return last(self.lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.listener.join()


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
        os.killpg(process.pid, signal.SIGCONT)
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


def cpu_seconds(groups):
    """Processor time that all processes of these groups have used so far."""
    ticks = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat") as stat:
                # The name, in brackets, may have blanks in it; what follows has not.
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
        if int(fields[2]) in groups:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
