"""Authority for one run, with one certificate for both ends of all peers, as files of every kind that they read."""


from . import children, toolchains

TIMEOUT_S = 60
DAYS = "2"
# Of key stores that live as long as a run.
PASSWORD = "whimbrel"
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"
AUTHORITY = ("[req]\ndistinguished_name=name\nx509_extensions=authority\n[name]\n"
             "[authority]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")


def make(folder):
    """Makes `authority.pem`, `end.pem`, `end.key`, and the same as `authority.p12` and `end.p12`."""
    (folder / "names.txt").write_text(NAMES)
    (folder / "authority.conf").write_text(AUTHORITY)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(folder, "req", "-x509", *new_key, "-keyout", "authority.key", "-out", "authority.pem", "-days", DAYS,
            "-subj", "/CN=whimbrel benchmarks", "-config", "authority.conf")
    openssl(folder, "req", *new_key, "-keyout", "end.key", "-out", "end.csr", "-subj", "/CN=localhost")
    openssl(folder, "x509", "-req", "-in", "end.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
            "-out", "end.pem", "-days", DAYS, "-extfile", "names.txt")
    openssl(folder, "pkcs12", "-export", "-in", "end.pem", "-inkey", "end.key", "-certfile", "authority.pem",
            "-out", "end.p12", "-passout", f"pass:{PASSWORD}")


def make_java_trust(folder):
    """Makes `authority.p12`, from which Java reads whom it trusts."""
    keytool = str(toolchains.newest_jdk() / "bin" / "keytool")
    children.run([keytool, "-importcert", "-noprompt", "-alias", "authority", "-file", "authority.pem",
                  "-keystore", "authority.p12", "-storetype", "PKCS12", "-storepass", PASSWORD], TIMEOUT_S, cwd=folder)


def openssl(folder, *arguments):
    children.run(["openssl", *arguments], TIMEOUT_S, cwd=folder)
