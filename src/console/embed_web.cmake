# Writes the C++ source that holds the files of src/console/web.
# Usage: cmake -DOUT=… -DWEB_DIR=… -P embed_web.cmake
#
# The content is written as numbers, because some files exceed the maximum length of a string literal.
file(GLOB_RECURSE files RELATIVE ${WEB_DIR}
  ${WEB_DIR}/*.html ${WEB_DIR}/*.css ${WEB_DIR}/*.js ${WEB_DIR}/*.svg)
list(SORT files)
string(CONCAT source
  "// Generated from src/console/web.\n#include \"console/assets.hpp\"\n\n#include <array>\n\n"
  "namespace outboxd::console {\nnamespace {\n\n")
set(list "")
set(number 0)
foreach(file IN LISTS files)
  file(READ ${WEB_DIR}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND source "constexpr char file_${number}[] = {${bytes}};\n")
  string(APPEND list "    asset{\"/${file}\", {file_${number}, sizeof file_${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND source "constexpr std::array all{\n${list}};\n\n}  // namespace\n\n"
  "std::span<const asset> assets() { return all; }\n\n}  // namespace outboxd::console\n")
file(WRITE ${OUT} "${source}")
