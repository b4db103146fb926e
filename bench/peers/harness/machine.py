"""Description of this machine: a figure without its machine says nothing."""

import os
import platform
import sys


def describe():
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "os": sys.platform,
        "kernel": platform.release(),
        "arch": platform.machine(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages * page / 2**30, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def cpu_model():
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def summary(machine):
    return (f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['os']} {machine['kernel']}, load {machine['load_at_start']} at the start")
