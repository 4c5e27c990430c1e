# For the tarball's program: compiled against /sysroot (make-sysroot), with everything but the C library
# linked statically. OUTBOXD_TRIPLET names the architecture in the environment.
set(triplet $ENV{OUTBOXD_TRIPLET})
string(REGEX REPLACE "-.*" "" processor ${triplet})
if(NOT processor STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${processor})
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${processor} -L /sysroot)
endif()
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

set(CMAKE_SYSROOT /sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} /sysroot)
set(ENV{PKG_CONFIG_LIBDIR} /sysroot/usr/lib/pkgconfig)
set(OPENSSL_USE_STATIC_LIBS ON)

# The C library and its start files come from the sysroot: without these paths, gcc finds those of the machine
# first. libgcc_eh.a is that of Debian 11: a newer one calls a function of a newer C library.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-libstdc++ -static-libgcc -L/sysroot/unwinder")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -B/sysroot/usr/lib/${triplet} -L/sysroot/lib/${triplet}")
