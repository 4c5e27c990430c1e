// Fuzzes the configuration file: any bytes. It is read, or an error says where and what, and never throws;
// what was read makes settings within their limits, or an error that names the key.
#include "app/config/raw_settings.hpp"
#include "memory_file.hpp"
#include "settings_check.hpp"

using namespace outboxd;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::memory_file file;
  fuzz::input in(data, size);
  file.write(in.rest());
  const auto raw = app::read_file(file.path());
  if (raw)
    fuzz::check_settings(*raw);
  else
    must(raw.error().message.find(file.path()) != std::string::npos, "an error names the file");
  return 0;
}
