// newer_glibc: declares what outboxd takes from a C library newer than 2.31, for the tarball's program.
#pragma once

#include <spawn.h>

// glibc 2.34.
extern "C" int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int from);
