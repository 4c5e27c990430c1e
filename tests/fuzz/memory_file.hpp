// memory_file: a file without a disk, for what reads from a path.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "input.hpp"

namespace outboxd::fuzz {

class memory_file {
 public:
  memory_file() : descriptor_(::memfd_create("outboxd-fuzz", 0)) { must(descriptor_ >= 0, "memfd_create"); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  void write(std::string_view bytes) const {
    must(::ftruncate(descriptor_, 0) == 0, "ftruncate");
    must(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
         "pwrite");
  }

 private:
  int descriptor_;
};

}  // namespace outboxd::fuzz
