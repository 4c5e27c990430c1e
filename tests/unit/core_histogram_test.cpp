// core_histogram_test: durations fall into the buckets that a scrape shows.
#include "core/histogram.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace core_histogram_test {

using outboxd::histogram;
using namespace std::chrono_literals;

namespace {

std::size_t bucket_of(std::chrono::nanoseconds one) {
  histogram h;
  h.add(one);
  for (std::size_t i = 0; i < h.counts().size(); ++i)
    if (h.counts()[i] == 1) return i;
  return h.counts().size();
}

}  // namespace

TEST_CASE("a bound belongs to its bucket, as Prometheus' le says") {
  for (std::size_t i = 0; i < histogram::bounds.size(); ++i) {
    const std::chrono::duration<double> bound(histogram::bounds[i]);
    const auto exact = std::chrono::round<std::chrono::nanoseconds>(bound);
    CHECK(bucket_of(exact - 1us) == i);
    CHECK(bucket_of(exact) == i);
    CHECK(bucket_of(exact + 1us) == i + 1);
  }
  CHECK(bucket_of(25h) == histogram::bounds.size());
}

TEST_CASE("a negative duration counts as none") {
  histogram h;
  h.add(-5s);
  CHECK(h.counts()[0] == 1);
  CHECK(h.sum() == 0);
}

TEST_CASE("the buckets hold what was added, and so do count and sum") {
  histogram h;
  for (int i = 1; i <= 100; ++i) h.add(std::chrono::milliseconds(i));
  CHECK(h.count() == 100);
  CHECK(h.sum() == doctest::Approx(5.05));
  CHECK(std::accumulate(h.counts().begin(), h.counts().end(), std::uint64_t{0}) == 100);
}

}  // namespace core_histogram_test
