// Fuzzes the file of a secret. A secret is one line that the file has; an error shows nothing of the file.
#include "app/config/secret_file.hpp"

#include "memory_file.hpp"

using namespace outboxd;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::memory_file file;
  fuzz::input in(data, size);
  const auto bytes = in.rest();
  file.write(bytes);
  const auto secret = app::read_secret_file(file.path());
  if (secret) {
    must(!secret->empty() && secret->find_first_of(std::string_view("\n\r\0", 3)) == std::string::npos,
         "a secret is one line");
    must(bytes.find(*secret) != std::string_view::npos, "a secret is what the file has");
  } else {
    must(secret.error().message.size() < 256 && secret.error().message.find(file.path()) != std::string::npos,
         "an error names the file and quotes nothing");
  }
  return 0;
}
