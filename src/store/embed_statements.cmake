# Writes the C++ source that holds the files of a folder of sql/, as an array that FUNCTION of NAMESPACE
# returns.
# Usage: cmake -DOUT=… -DSQL_DIR=… -DHEADER=… -DNAMESPACE=… -DTYPE=… -DFUNCTION=… -P embed_statements.cmake
file(GLOB files ${SQL_DIR}/*.sql)
list(SORT files)
get_filename_component(folder ${SQL_DIR} NAME)
string(CONCAT source
  "// Generated from sql/${folder}.\n#include \"${HEADER}\"\n\n#include <array>\n\n"
  "namespace ${NAMESPACE} {\nnamespace {\n\nconstexpr std::array all{\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND source "    ${TYPE}{\"${name}\", R\"~~~(${text})~~~\"},\n")
endforeach()
string(APPEND source
  "};\n\n}  // namespace\n\n"
  "std::span<const ${TYPE}> ${FUNCTION}() { return all; }\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${source}")
