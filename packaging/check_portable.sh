#!/usr/bin/env bash
# check_portable.sh FOLDER [TARGET ...]: compile the core and its tests with Clang for other systems. Warnings are errors.
# PYTHON has ziglang, which brings Clang and the headers of these systems. Nothing is linked: that would need their
# libraries, which take longer to compile than the core.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(aarch64-macos.11.0 x86_64-windows-gnu x86_64-linux-musl)
mkdir -p "$folder"
cat > "$folder/clang++" <<END
#!/usr/bin/env bash
exec "$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON")" -m ziglang c++ "\${@//-march=x86-64-v/-march=x86_64_v}"  # as zig names them
END
chmod +x "$folder/clang++"
for target in "${targets[@]}"; do
  case $target in
    *macos*) system=Darwin ;;
    *windows*) system=Windows ;;
    *) system=Linux ;;
  esac
  # The compiler is described, not tried: to try it, CMake would link.
  cmake -G Ninja -S . -B "$folder/$target" --log-level=WARNING -DSWAPSVM_MODULE=OFF -DSWAPSVM_TESTS=ON \
    -DCMAKE_SYSTEM_NAME=$system -DCMAKE_SYSTEM_PROCESSOR="${target%%-*}" -DCMAKE_CXX_FLAGS="-target $target -Werror" \
    -DCMAKE_CXX_COMPILER="$PWD/$folder/clang++" -DCMAKE_CXX_COMPILER_ID=Clang -DCMAKE_CXX_COMPILER_VERSION=19 \
    -DCMAKE_CXX_COMPILER_ID_RUN=ON -DCMAKE_CXX_COMPILER_FORCED=ON -DCMAKE_HAVE_LIBC_PTHREAD=ON
  cmake --build "$folder/$target" --target swapsvm_core core_tests_objects -- -k 0
  echo "compiled for $target"
done
