// main: doctest's entry point, on the servers that the test is to have.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// The directory of tools/services that ctest names for tests of the suite "alone". Returns only if there is
// none, or if it fails.
void move_to_own_services(char** words) {
  const char* const directory = std::getenv("OUTBOXD_TEST_OWN_SERVICES");
  if (directory == nullptr) return;
  std::string program = WITH_SERVICES;
  std::string where = directory;
  ::unsetenv("OUTBOXD_TEST_OWN_SERVICES");
  std::vector<char*> all{program.data(), where.data()};
  for (; *words != nullptr; ++words) all.push_back(*words);
  all.push_back(nullptr);
  ::execv(WITH_SERVICES, all.data());
  std::perror(WITH_SERVICES);
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  move_to_own_services(words);
  return doctest::Context{count, words}.run();
}
