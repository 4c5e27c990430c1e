// temporary_file: a file for the length of a test.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outboxd::test {

class temporary_file {
 public:
  explicit temporary_file(std::string_view text, mode_t mode = 0600) {
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor < 0) throw std::runtime_error("mkstemp failed");
    ::fchmod(descriptor, mode);
    ::close(descriptor);
    write(text);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() { ::unlink(path_.c_str()); }

  void write(std::string_view text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/outboxd-unit-XXXXXX";
};

}  // namespace outboxd::test
