# quicker_builds: uses ccache and a fast linker, if they are installed. A build needs neither. tools/lib.sh
# shows the lines that begin with "note:" to the user.

# A cache that cannot be written would fail every compilation, so one file is compiled as a test.
find_program(OUTBOXD_CCACHE_PROGRAM ccache)
mark_as_advanced(OUTBOXD_CCACHE_PROGRAM)
if(OUTBOXD_CCACHE AND OUTBOXD_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers: https://ccache.dev/manual/4.7.4.html#_precompiled_headers
  set(with_ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${OUTBOXD_CCACHE_PROGRAM})
  set(tried ${CMAKE_BINARY_DIR}/CMakeFiles/ccache_tried)
  file(WRITE ${tried}.cpp "int main() {}\n")
  execute_process(COMMAND ${with_ccache} ${CMAKE_CXX_COMPILER} -c ${tried}.cpp -o ${tried}.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE words)
  if(failed)
    string(REGEX REPLACE "[\r\n]+" " " words "${words}")
    message(STATUS "note: ccache is installed but does not work, so it is not used: ${words}")
  else()
    set(CMAKE_CXX_COMPILER_LAUNCHER ${with_ccache})
    # Without this, gcc would read the preprocessed text of the precompiled header a second time.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endif()

# Only for debug builds: released programs must have the same bytes wherever they are built.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  include(CheckLinkerFlag)
  foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} OUTBOXD_HAS_${linker})
    if(OUTBOXD_HAS_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()
