#!/usr/bin/env bash
# Builds LevelDB as a shared library from sources, for speed: -O3, no assertions, the processor's
# CRC-32C, Snappy built in.
#   bench/build-leveldb.sh SOURCES OUT    SOURCES has leveldb-* and snappy-*
# LevelDB's port calls crc32c::Extend if HAVE_CRC32C is set; the function here is the loop of the
# instruction that Google's library would use.
set -euo pipefail
sources=$1 out=$2
leveldb=$(echo "$sources"/leveldb-*) snappy=$(echo "$sources"/snappy-*)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/crc32c"
cat >"$work/crc32c/crc32c.h" <<'HEADER'
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <nmmintrin.h>
namespace crc32c {
inline uint32_t Extend(uint32_t crc, const uint8_t* data, size_t n) {
  uint64_t state = ~crc;
  for (; n >= 8; n -= 8, data += 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    state = _mm_crc32_u64(state, word);
  }
  for (; n > 0; n--) state = _mm_crc32_u8(static_cast<uint32_t>(state), *data++);
  return ~static_cast<uint32_t>(state);
}
}  // namespace crc32c
HEADER
sed -e 's/\${PROJECT_VERSION_MAJOR}/1/; s/\${PROJECT_VERSION_MINOR}/1/; s/\${PROJECT_VERSION_PATCH}/7/' \
    -e 's/\${HAVE_[A-Z0-9_]*_01}/1/g' "$snappy/snappy-stubs-public.h.in" >"$work/snappy-stubs-public.h"
files=()
while read -r file; do files+=("$file"); done < <(
    find "$leveldb/db" "$leveldb/table" "$leveldb/util" "$leveldb/helpers/memenv" -name '*.cc' \
        -not -name '*_test.cc' -not -name '*_bench.cc' -not -name '*windows*' -not -name 'test*' \
        -not -name 'leveldbutil.cc'
    printf '%s\n' "$snappy/snappy.cc" "$snappy/snappy-sinksource.cc" "$snappy/snappy-stubs-internal.cc"
)
c++ -std=c++11 -O3 -DNDEBUG -msse4.2 -fPIC -shared -fno-exceptions -fno-rtti -w \
    -DLEVELDB_PLATFORM_POSIX=1 -DLEVELDB_IS_BIG_ENDIAN=0 -DLEVELDB_COMPILE_LIBRARY -DLEVELDB_SHARED_LIBRARY -DHAVE_FDATASYNC=1 \
    -DHAVE_SNAPPY=1 -DHAVE_CRC32C=1 -DHAVE_BUILTIN_EXPECT=1 -DHAVE_BUILTIN_CTZ=1 -DHAVE_BYTESWAP_H=1 \
    -I"$leveldb" -I"$leveldb/include" -I"$snappy" -I"$work" "${files[@]}" -o "$out" -lpthread
