// main: doctest's entry point, on the servers that the test is to have.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// The pair of servers that ctest names for tests of the suite "alone". Returns only if it names none.
void move_to_own_services(char** words) {
  const char* const pair = std::getenv("OUTBOXD_TEST_OWN_SERVICES");
  if (pair == nullptr) return;
  std::string program = OWN_SERVICES;
  std::string name = pair;
  std::string action = "run";
  ::unsetenv("OUTBOXD_TEST_OWN_SERVICES");
  std::vector<char*> all{program.data(), name.data(), action.data()};
  for (; *words != nullptr; ++words) all.push_back(*words);
  all.push_back(nullptr);
  ::execv(OWN_SERVICES, all.data());
  std::perror(OWN_SERVICES);
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  move_to_own_services(words);
  return doctest::Context{count, words}.run();
}
