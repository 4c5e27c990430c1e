// test_main: the cluster ends before this program does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <memory>

#include "shared_cluster.hpp"

namespace outboxd::cluster {
namespace {

std::unique_ptr<rabbit_cluster> shared;

}  // namespace

rabbit_cluster& shared_cluster() {
  if (!shared) shared = std::make_unique<rabbit_cluster>();
  return *shared;
}

}  // namespace outboxd::cluster

int main(int count, char** words) {
  doctest::Context context{count, words};
  const int result = context.run();
  outboxd::cluster::shared.reset();
  return result;
}
