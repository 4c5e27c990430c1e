// Fuzzes the environment: any strings, one per line. A variable that is not ours is left alone, a misspelled
// one is named, and what was read makes settings within their limits, or an error that names the key.
#include <string>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "input.hpp"
#include "settings_check.hpp"

using namespace outboxd;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  std::string lines(in.rest());
  std::vector<char*> environment;
  if (lines.find('\0') != std::string::npos) return -1;  // no environment has one
  for (std::size_t at = 0; at < lines.size();) {
    environment.push_back(lines.data() + at);
    const auto end = std::min(lines.find('\n', at), lines.size());
    if (end < lines.size()) lines[end] = '\0';
    at = end + 1;
  }
  environment.push_back(nullptr);
  const auto raw = app::read_environment(environment.data());
  if (raw)
    fuzz::check_settings(*raw);
  else
    must(raw.error().message.find("OUTBOXD_") != std::string::npos, "an error names the variable");
  return 0;
}
