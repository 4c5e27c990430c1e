# Writes OUT, a source file with the commit that is built: COMMIT if it is given, else that of the checkout in
# SOURCE_DIR, else what `git archive` wrote into commit.txt, else nothing. If the file is already correct, it
# is not touched.
if(NOT COMMIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --abbrev=12 --dirty --exclude=*
                  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
elseif(NOT COMMIT)
  file(STRINGS ${SOURCE_DIR}/src/app/commit.txt archived LIMIT_COUNT 1)
  string(REGEX MATCH "^[0-9a-f]+" COMMIT "${archived}")
  string(SUBSTRING "${COMMIT}" 0 12 COMMIT)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
#include "app/version.hpp"

namespace outboxd::app {

std::string_view commit() {
  return "@COMMIT@";
}

}  // namespace outboxd::app
]] @ONLY)
