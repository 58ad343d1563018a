# cmake -D FOLDER=core -D OUTPUT=file.hpp -P core/source_digests.cmake
# Writes the name and the SHA-256 of each of the core's sources into a header, sorted by name. swapsvm.study.provenance
# compares those that decide a result, so that it tells which sources made it. The header keeps its date if nothing has
# changed.

file(GLOB_RECURSE names RELATIVE "${FOLDER}" "${FOLDER}/*.cpp" "${FOLDER}/*.hpp")
list(SORT names)
set(lines "")
foreach(name IN LISTS names)
  file(SHA256 "${FOLDER}/${name}" digest)
  string(APPEND lines "{\"${name}\", \"${digest}\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "${lines}")
