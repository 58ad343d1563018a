# cmake -D FOLDER=core -D OUTPUT=file.hpp -P core/source_digest.cmake
# Writes the SHA-256 of the core's sources into a header: of the lines "name digest" of all files, sorted by name.
# swapsvm.study.provenance compares it, so that a result tells which sources made it. The header keeps its date if
# nothing has changed.

file(GLOB_RECURSE names RELATIVE "${FOLDER}" "${FOLDER}/*.cpp" "${FOLDER}/*.hpp")
list(SORT names)
set(lines "")
foreach(name IN LISTS names)
  file(SHA256 "${FOLDER}/${name}" digest)
  string(APPEND lines "${name} ${digest}\n")
endforeach()
string(SHA256 digest "${lines}")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define SWAPSVM_SOURCE_DIGEST \"${digest}\"\n")
