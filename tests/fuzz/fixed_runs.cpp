// Feeds a fuzz target with its kept inputs, and with a fixed number of others that are made from them with a
// fixed seed. No coverage and no clock steers it, so it does the same on every machine, with every compiler.
// To explore is tools/fuzz.
//
//   fixed_TARGET DIRECTORY RUNS    the kept inputs are the files of the directory
//   fixed_TARGET FILE              this input alone
//
// The input that breaks something stays in fixed_TARGET.input, in the current directory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "input.hpp"

namespace {

namespace fs = std::filesystem;
using outboxd::fuzz::must;

constexpr std::size_t longest = 16384;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  must(file.good(), "an input can be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// In the order of their names: a directory has an order of its own on each machine.
std::vector<std::string> read_all(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& one : fs::directory_iterator(directory)) paths.push_back(one.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(read(path));
  must(!texts.empty(), "there are kept inputs");
  return texts;
}

// The input at hand, in a file that outlives an abort.
class trace {
 public:
  explicit trace(std::string path)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    must(descriptor_ >= 0, "the current directory can be written");
  }
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;
  ~trace() {
    ::close(descriptor_);
    fs::remove(path_);
  }
  void write(const std::string& input) const {
    must(::pwrite(descriptor_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()) &&
             ::ftruncate(descriptor_, static_cast<off_t>(input.size())) == 0,
         "an input can be written");
  }

 private:
  std::string path_;
  int descriptor_;
};

class inventor {
 public:
  explicit inventor(const std::vector<std::string>& kept) : kept_(kept) {}

  std::string next() {
    std::string text = kept_[up_to(kept_.size())];
    for (std::size_t steps = 1 + up_to(5); steps > 0; --steps) change(text);
    text.resize(std::min(text.size(), longest));
    return text;
  }

 private:
  // Of the standard's distributions each library makes its own.
  std::size_t up_to(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::string piece(const std::string& of) {
    if (of.empty()) return {};
    const auto at = up_to(of.size());
    return of.substr(at, 1 + up_to(of.size() - at));
  }
  char byte() {
    constexpr std::string_view telling("\0\xFF\x7F\x80\xCE\n\r'\"\\@:/,={}%09.-", 22);
    return up_to(2) == 0 ? telling[up_to(telling.size())] : static_cast<char>(up_to(256));
  }

  void change(std::string& text) {
    const auto at = up_to(text.size() + 1);
    const bool inside = at < text.size();
    switch (up_to(8)) {
      case 0:
        if (inside) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << up_to(8)));
        return;
      case 1:
        if (inside) text[at] = byte();
        return;
      case 2:
        text.insert(at, 1 + up_to(4), byte());
        return;
      case 3:
        if (inside) text.erase(at, 1 + up_to(text.size() - at));
        return;
      case 4:
        if (inside) text.erase(at, 1);
        return;
      case 5:
        text.insert(at, piece(text));
        return;
      case 6:
        text.insert(at, piece(kept_[up_to(kept_.size())]));
        return;
      case 7:
        text.replace(at, std::string::npos, piece(kept_[up_to(kept_.size())]));
        return;
    }
  }

  const std::vector<std::string>& kept_;
  std::mt19937_64 random_;  // seeded with the standard's own number
};

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(static_cast<const std::uint8_t*>(static_cast<const void*>(input.data())),
                         input.size());
}

}  // namespace

int main(int argc, char** argv) {
  must(argc == 2 || argc == 3, "usage: DIRECTORY RUNS, or FILE");
  if (argc == 2) {
    run(read(argv[1]));
    return 0;
  }
  const auto kept = read_all(argv[1]);
  const std::string name = fs::path(argv[0]).filename().string();
  const trace now(name + ".input");
  const auto feed = [&](const std::string& input) {
    now.write(input);
    run(input);
  };
  for (const std::string& one : kept) feed(one);
  inventor made(kept);
  const int runs = std::atoi(argv[2]);
  for (int i = 0; i < runs; ++i) feed(made.next());
  std::printf("%zu kept inputs and %d others\n", kept.size(), runs);
  return 0;
}
