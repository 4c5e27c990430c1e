# Writes the C++ source that holds the files of sql/.
# Usage: cmake -DOUT=… -DSQL_DIR=… -P embed_migrations.cmake
file(GLOB files ${SQL_DIR}/*.sql)
list(SORT files)
string(CONCAT source
  "// Generated from sql/.\n#include \"app/schema/migrations.hpp\"\n\n#include <array>\n\n"
  "namespace outboxd::app {\nnamespace {\n\nconstexpr std::array all{\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX MATCH "^[0-9]+" version ${name})
  string(REGEX REPLACE "^0+" "" version ${version})
  file(READ ${file} text)
  string(APPEND source "    migration{${version}, \"${name}\", R\"~~~(${text})~~~\"},\n")
endforeach()
string(APPEND source
  "};\n\n}  // namespace\n\n"
  "std::span<const migration> migrations() { return all; }\n\n}  // namespace outboxd::app\n")
file(WRITE ${OUT} "${source}")
