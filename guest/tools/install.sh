#!/usr/bin/env bash
# Installs the missing compilers of WebAssembly agents:
#   Rust for wasm32    by rustup, where it can be downloaded; else made from Debian's packages of Rust and its library
#   asc, wasm-opt      by npm (package.json beside this)
#   clang, wasm-ld     by apt
# Compilers that are not installed for the whole machine go into ~/.cache/whimbrel, where `whimbrel agent build` finds them.
#
#   install.sh             all of it
#   install.sh rust        Rust for wasm32 only
#   install.sh rust-debian Rust for wasm32 from Debian's packages, even if there is another
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/whimbrel
target=wasm32-unknown-unknown

say() { echo "wasm tools: $*" >&2; }
give_up() { say "$*"; exit 1; }

has_rust() {
  local libraries
  libraries=$(rustc --print target-libdir --target $target 2>/dev/null) && compgen -G "$libraries/libcore-*.rlib" >/dev/null
}

rust() {
  if has_rust || [ -e "$cache/wasm-rust/env" ]; then return; fi
  if command -v rustup >/dev/null; then
    say "adding $target to Rust, by rustup"
    if timeout 120 rustup --quiet target add $target && has_rust; then return; fi
    say "rustup cannot download it"
  fi
  rust_debian
}

# Debian builds a recent Rust for its browsers. Its packages are unpacked into a folder of their own, never installed, and its
# library is compiled for wasm32 once, from the sources that come with it. After that the machine's cargo works with it.
rust_debian() {
  local folder=$cache/wasm-rust version series llvm
  command -v apt-get >/dev/null || give_up "Rust for $target is missing: rustup target add $target"
  command -v cargo >/dev/null || give_up "cargo is missing: install Rust by rustup"
  say "making a Rust for $target from Debian's packages: about 140 MB to download, 1 GB on disk, a minute of compiling"
  version=$(apt-cache policy rustc-web | sed -n 's/^ *Candidate: //p')
  [ -n "$version" ] && [ "$version" != "(none)" ] || give_up "there is no Debian package rustc-web here (try: apt-get update)"
  series=$(grep -oE '^[0-9]+\.[0-9]+' <<<"$version")
  llvm=$(apt-cache show "rust-web-llvm=$version" | grep -oE 'llvm-[0-9]+' | head -1 | grep -oE '[0-9]+')
  rm -rf "$folder" && mkdir -p "$folder/packages" "$folder/root"
  ( cd "$folder/packages" && apt-get download -qq -o APT::Sandbox::User=root "rustc-web=$version" \
      "libstd-rust-web-$series=$version" "libstd-rust-web-dev=$version" "rust-web-src=$version" "libllvm$llvm" "lld-$llvm" )
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done

  local usr=$folder/root/usr
  local sources=$usr/src/rustc-${version%%+*}
  [ -d "$sources/library/vendor" ] || give_up "rust-web-src $version comes without what its library depends on"
  ln -sfn "lld-$llvm" "$usr/bin/rust-lld"
  compile_library "$folder" "$usr" "$sources"
  rm -rf "$folder/packages" "$folder/seed" "$sources"
  write_env "$usr" > "$folder/env"
  say "Rust for $target is in $folder ($(du -sh "$folder" | cut -f1))"
}

write_env() {
  echo "LD_LIBRARY_PATH=$1/lib/$(uname -m)-linux-gnu"
  echo "RUSTC=$1/bin/rustc"
  echo "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$1/bin/rust-lld"
}

# Agents may ask for link-time optimisation, or not: so the library has bitcode, too.
compile_library() {
  local folder=$1 usr=$2 sources=$3 seed=$1/seed line
  mkdir -p "$seed/src"
  printf '[package]\nname = "seed"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[profile.release]\npanic = "abort"\n' > "$seed/Cargo.toml"
  : > "$seed/src/lib.rs"
  (
    cd "$seed"
    while read -r line; do export "${line?}"; done < <(write_env "$usr")
    unset CARGO_TARGET_DIR
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Cembed-bitcode=yes" cargo build --quiet --release --offline --target $target \
      -Zbuild-std=std,panic_abort \
      --config 'source.crates-io.replace-with="vendored"' --config "source.vendored.directory=\"$sources/library/vendor\""
  )
  local libraries=$usr/lib/rustlib/$target/lib
  mkdir -p "$libraries"
  cp "$seed"/target/$target/release/deps/*.rlib "$libraries/"
  rm -f "$libraries"/libseed*.rlib
}

npm_tools() {
  local folder=$cache/wasm-tools
  if cmp -s "$here/package-lock.json" "$folder/installed"; then return; fi
  command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] ||
    give_up "AssemblyScript and binaryen need Node.js 20 or later, with npm: install it first"
  say "installing AssemblyScript and binaryen by npm into $folder"
  mkdir -p "$folder"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$folder/"
  ( cd "$folder" && npm ci --no-audit --no-fund --loglevel=error >&2 )
  cp "$here/package-lock.json" "$folder/installed"
}

c_compiler() {
  if clang --print-targets 2>/dev/null | grep -q wasm32 && command -v wasm-ld >/dev/null; then return; fi
  command -v apt-get >/dev/null || give_up "clang with wasm32, or wasm-ld, is missing: install LLVM's clang and lld"
  say "installing clang and lld by apt"
  apt-get update -qq && apt-get install -y -qq --no-install-recommends clang lld >/dev/null
}

case ${1:-all} in
  all) rust; npm_tools; c_compiler ;;
  rust) rust ;;
  rust-debian) rust_debian ;;
  *) give_up "what is $1? There are: all, rust, rust-debian" ;;
esac
