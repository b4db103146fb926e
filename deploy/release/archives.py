"""Archives whose bytes depend on their files only: entries are sorted, and all have the same time and owner."""

import gzip
import io
import tarfile
import zipfile
from time import gmtime

from project import release_time

# Paths within an archive, what is in the files, and whether they are programs.
Files = dict[str, tuple[bytes, bool]]


def tar(files: Files, folders: bool = False) -> bytes:
    """Returns a tar archive; with `folders`, it has an entry for each folder, as Debian wants."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        made = set()
        for path, (content, is_program) in sorted(files.items()):
            if folders:
                parts = path.split("/")[:-1]
                for count in range(1, len(parts) + 1):
                    folder = "/".join(parts[:count])
                    if folder not in made:
                        made.add(folder)
                        archive.addfile(_entry(folder, 0o755, tarfile.DIRTYPE))
            entry = _entry(path, 0o755 if is_program else 0o644)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _entry(path: str, mode: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.mtime = kind, mode, release_time()
    entry.uname = entry.gname = "root"
    return entry


def compressed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, (content, is_program) in sorted(files.items()):
            entry = zipfile.ZipInfo(path, gmtime(release_time())[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, content)
    return out.getvalue()


def ar(members: dict[str, bytes]) -> bytes:
    """Returns an ar archive with its members in the given order."""
    out = bytearray(b"!<arch>\n")
    for name, content in members.items():
        out += f"{name:<16}{release_time():<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return bytes(out)
