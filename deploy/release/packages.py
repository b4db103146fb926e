"""The packages of a release: each function returns the name of a file, and what is in it."""

import base64
import hashlib
import json

from archives import Files, ar, compressed, tar, zipped
from project import ROOT, Program, Project

Package = tuple[str, bytes]


def program_archive(project: Project, program: Program) -> Package:
    """Returns the archive with the binary: it needs nothing beside it."""
    name = f"whimbrel-{project.version}-{program.triple}"
    files = {
        f"{name}/{program.command}": (program.file.read_bytes(), True),
        f"{name}/LICENSE": (_source("LICENSE"), False),
        f"{name}/README.md": (_source("deploy/release/README.binary.md"), False),
    }
    if program.system == "windows":
        return f"{name}.zip", zipped(files)
    return f"{name}.tar.gz", compressed(tar(files))


# Fixtures for pytest, and the command of the Python package where no binary takes its place: it looks for one.
PLUGIN = b"[pytest11]\nwhimbrel = whimbrel.testing.plugin\n"
COMMAND = b"[console_scripts]\nwhimbrel = whimbrel.cli:main\n\n"


def wheel(project: Project, program: Program) -> Package:
    """Returns the Python wheel of one system: the SDK, and the binary as the command `whimbrel`."""
    name = f"whimbrel-{project.version}"
    files: Files = {
        f"{name}.data/scripts/{program.command}": (program.file.read_bytes(), True),
        f"{name}.dist-info/entry_points.txt": (PLUGIN, False),
    }
    return _wheel(project, f"py3-none-{program.wheel_tag}", _python_sdk() | files, is_pure=False)


def pure_wheel(project: Project) -> Package:
    """Returns the Python wheel of all other systems: the SDK, and a command that looks for the binary."""
    info = f"whimbrel-{project.version}.dist-info"
    return _wheel(project, "py3-none-any", _python_sdk() | {f"{info}/entry_points.txt": (COMMAND + PLUGIN, False)}, is_pure=True)


def _python_sdk() -> Files:
    folder = ROOT / "sdk/python/src"
    found = sorted((folder / "whimbrel").rglob("*"))
    # Code, its types, and the interaction protocols, which are data.
    wanted = [path for path in found if path.suffix in (".py", ".json") or path.name == "py.typed"]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), False) for path in wanted}


def _wheel(project: Project, tag: str, files: Files, is_pure: bool) -> Package:
    name = f"whimbrel-{project.version}"
    info = f"{name}.dist-info"
    lines = [
        "Metadata-Version: 2.4",
        "Name: whimbrel",
        f"Version: {project.version}",
        f"Summary: {project.summary}",
        f"License-Expression: {project.licence}",
        "License-File: LICENSE",
        f"Keywords: {','.join(project.keywords)}",
        "Requires-Python: >=3.10",
        "Description-Content-Type: text/markdown",
        "Provides-Extra: fast",
        f"Requires-Dist: whimbrel-fast=={project.version}; extra == 'fast'",
        "Requires-Dist: uvloop>=0.19; sys_platform != 'win32' and extra == 'fast'",
    ]
    if project.repository:
        lines.append(f"Project-URL: Repository, {project.repository}")
    metadata = "\n".join(lines).encode() + b"\n\n" + _source("sdk/python/README.md")
    pure = "true" if is_pure else "false"
    files = files | {
        f"{info}/METADATA": (metadata, False),
        f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: whimbrel\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode(), False),
        f"{info}/licenses/LICENSE": (_source("LICENSE"), False),
    }
    record = [f"{path},sha256={_digest(content)},{len(content)}" for path, (content, _) in sorted(files.items())]
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = ("\n".join(record).encode() + b"\n", False)
    return f"{name}-{tag}.whl", zipped(files)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def npm_sdk(project: Project) -> Package:
    """Returns the npm package of the SDK: what `npm pack` would take of sdk/typescript."""
    folder = ROOT / "sdk/typescript"
    manifest = json.loads((folder / "package.json").read_text())
    for key in ("scripts", "devDependencies"):
        manifest.pop(key, None)
    manifest["keywords"] = project.keywords
    files: Files = {}
    for path in sorted((folder / "dist").rglob("*")):
        if path.is_file():
            files[f"package/{path.relative_to(folder).as_posix()}"] = (path.read_bytes(), False)
    if "package/dist/agentspeak.wasm" not in files:
        raise FileNotFoundError("sdk/typescript/dist/agentspeak.wasm is missing: run `make agentspeak-wasm`")
    return _npm(project, manifest, files, (folder / "README.md").read_bytes())


# Systems for which there is a package with the binary.
NPM_SYSTEMS = [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64"), ("win32", "x64")]


def npm_command(project: Project) -> Package:
    """Returns the npm package of the command: a script that finds the binary of this system's package."""
    manifest = _npm_manifest(project, "whimbrel-cli", "The command line of Whimbrel")
    manifest["type"] = "module"
    manifest["bin"] = {"whimbrel": "whimbrel.js"}
    manifest["optionalDependencies"] = {
        f"whimbrel-cli-{system}-{machine}": project.version for system, machine in NPM_SYSTEMS
    }
    script = {"package/whimbrel.js": (_source("deploy/release/whimbrel.js"), True)}
    return _npm(project, manifest, script, _source("deploy/release/README.binary.md"))


def npm_binary(project: Project, program: Program) -> Package:
    """Returns the npm package with the binary of one system."""
    system, machine = program.npm_names
    manifest = _npm_manifest(project, f"whimbrel-cli-{system}-{machine}", f"Binary of Whimbrel for {system} {machine}")
    manifest |= {"os": [system], "cpu": [machine]}
    if program.system == "linux":
        manifest["libc"] = ["glibc"]
    files = {f"package/bin/{program.command}": (program.file.read_bytes(), True)}
    return _npm(project, manifest, files, _source("deploy/release/README.binary.md"))


def _npm_manifest(project: Project, name: str, description: str) -> dict:
    return {
        "name": name,
        "version": project.version,
        "description": description,
        "keywords": project.keywords,
        "license": project.licence,
        "engines": {"node": ">=20"},
    }


def _npm(project: Project, manifest: dict, files: Files, readme: bytes) -> Package:
    if project.repository:
        manifest["repository"] = {"type": "git", "url": f"git+{project.repository}.git"}
    files = files | {
        "package/package.json": (json.dumps(manifest, indent=2).encode() + b"\n", False),
        "package/README.md": (readme, False),
        "package/LICENSE": (_source("LICENSE"), False),
    }
    return f"{manifest['name']}-{manifest['version']}.tgz", compressed(tar(files))


def debian(project: Project, program: Program) -> Package:
    """Returns the Debian package: the command, and the service of a node."""
    unit = _source("deploy/systemd/whimbrel-node.service").replace(b"/usr/local/bin/", b"/usr/bin/")
    files: Files = {
        "./usr/bin/whimbrel": (program.file.read_bytes(), True),
        "./usr/lib/systemd/system/whimbrel-node.service": (unit, False),
        "./usr/lib/sysusers.d/whimbrel.conf": (_source("deploy/systemd/whimbrel-users.conf"), False),
        "./usr/share/doc/whimbrel/copyright": (_source("LICENSE"), False),
        "./usr/share/doc/whimbrel/README.md": (_source("deploy/release/README.binary.md"), False),
    }
    control = {
        "Package": "whimbrel",
        "Version": project.version,
        "Architecture": program.debian_machine,
        "Maintainer": project.maintainer or "the Whimbrel project",
        "Installed-Size": str(sum(len(content) for content, _ in files.values()) // 1024),
        "Depends": f"libc6 (>= 2.{program.glibc}), libgcc-s1",
        "Section": "net",
        "Priority": "optional",
        "Homepage": project.repository,
        "Description": f"{project.summary}\n Agents exchange messages with a meaning, on nodes and in browsers, and\n"
        " people can watch them. This package has the command whimbrel with its\n web console, and the service of a node.",
    }
    text = "".join(f"{key}: {value}\n" for key, value in control.items() if value)
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {path[2:]}\n" for path, (content, _) in sorted(files.items()))
    about: Files = {
        "./control": (text.encode(), False),
        "./md5sums": (sums.encode(), False),
        "./postinst": (_source("deploy/release/debian-postinst.sh"), True),
    }
    name = f"whimbrel_{project.version}_{program.debian_machine}.deb"
    return name, ar({
        "debian-binary": b"2.0\n",
        "control.tar.gz": compressed(tar(about, folders=True)),
        "data.tar.gz": compressed(tar(files, folders=True)),
    })


def chart(project: Project) -> Package:
    """Returns the Helm chart."""
    folder = ROOT / "deploy/helm/whimbrel"
    files: Files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes().replace(b"0.0.0", project.version.encode()) if path.name == "Chart.yaml" else path.read_bytes()
            files[f"whimbrel/{path.relative_to(folder).as_posix()}"] = (content, False)
    return f"whimbrel-chart-{project.version}.tgz", compressed(tar(files))


def installer(project: Project) -> Package:
    """Returns the script that installs the archive of the machine's system."""
    downloads = f"{project.repository}/releases/download/v{project.version}" if project.repository else ""
    text = _source("deploy/release/install.sh").decode()
    return "install.sh", text.replace("@VERSION@", project.version).replace("@DOWNLOADS@", downloads).encode()


def _source(path: str) -> bytes:
    return (ROOT / path).read_bytes()
