#!/usr/bin/env bash
# Checks the types of the program for other systems, on Linux: `make check-targets`. Nothing is linked or run.
# A target is left out, and the reason printed, without its standard library or a C compiler for it:
#
#   rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin x86_64-apple-darwin
#   apt-get install gcc-mingw-w64-x86-64     # for Windows
#   pip install ziglang                      # for macOS: zig brings its headers
set -euo pipefail
cd "$(dirname "$0")/../.."
# Of the same name each time: Cargo builds C code again for another compiler.
scratch=${CARGO_TARGET_DIR:-$PWD/target}/check-targets
mkdir -p "$scratch/MacOSX.sdk"

check() { # target, features
  local target=$1
  shift
  echo "checking $target ($*)"
  "${CARGO:-cargo}" check --quiet --locked --target "$target" --package whimbrel-cli "$@"
}

has_library() {
  local found
  found=$(rustc --print target-libdir --target "$1")
  [ -d "$found" ] || { echo "left out: $1: rustup target add $1"; return 1; }
}

# Writes a C compiler for a target of zig. Cargo's build scripts name the target in their own way.
zig_compiler() { # target of zig
  cat >"$scratch/cc-$1" <<END
#!/usr/bin/env bash
words=()
while [ \$# -gt 0 ]; do
  case "\$1" in
    -target | -arch | -isysroot) shift ;;
    --target=* | -mmacosx-version-min=*) ;;
    *) words+=("\$1") ;;
  esac
  shift
done
exec ${ZIG:-python3 -m ziglang} cc -target $1 "\${words[@]}"
END
  chmod +x "$scratch/cc-$1"
}

# Faults in societies (`bench`) are for Unix systems.
WINDOWS=x86_64-pc-windows-gnu
if ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
  echo "left out: $WINDOWS: install gcc-mingw-w64-x86-64"
elif has_library $WINDOWS; then
  check $WINDOWS --no-default-features --features console
  check $WINDOWS --no-default-features --features console,nats,wasm
fi

for machine in aarch64 x86_64; do
  target=$machine-apple-darwin
  if ! ${ZIG:-python3 -m ziglang} version >/dev/null 2>&1; then
    echo "left out: $target: pip install ziglang, or name a zig in ZIG"
  elif has_library $target; then
    zig_compiler $machine-macos
    printf '#!/usr/bin/env bash\nexec %s ar "$@"\n' "${ZIG:-python3 -m ziglang}" >"$scratch/ar"
    chmod +x "$scratch/ar"
    variable=${target//-/_}
    export "CC_$variable=$scratch/cc-$machine-macos" "AR_$variable=$scratch/ar" SDKROOT="$scratch/MacOSX.sdk"
    check $target
  fi
done
