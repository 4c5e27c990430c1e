// core_trace_parent_test: which traceparent headers are believed, and that nothing else of the headers
// matters.
#include "core/trace_parent.hpp"

#include <doctest/doctest.h>

namespace core_trace_parent_test {

using namespace outboxd;

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string valid = "00-" + trace + "-00f067aa0ba902b7-01";

std::optional<std::string_view> trace_id_of(std::string_view traceparent) {
  const auto parent = parse_trace_parent(traceparent);
  return parent ? std::optional(parent->trace_id) : std::nullopt;
}

}  // namespace

TEST_CASE("the trace id is the second part of a traceparent") {
  CHECK(trace_id_of(valid) == trace);
  CHECK(trace_id_of("00-" + trace + "-00f067aa0ba902b7-00") == trace);
}

TEST_CASE("a traceparent names the span and says in the last bit of its flags whether it is sampled") {
  CHECK(parse_trace_parent(valid)->span_id == "00f067aa0ba902b7");
  const auto flags = [](std::string_view digits) {
    return parse_trace_parent("00-" + trace + "-00f067aa0ba902b7-" + std::string(digits));
  };
  CHECK(flags("01")->sampled());
  CHECK(flags("ff")->sampled());
  CHECK(flags("ff")->flags == 255);
  CHECK_FALSE(flags("00")->sampled());
  CHECK_FALSE(flags("fe")->sampled());
}

TEST_CASE("a later version of traceparent may say more after another dash") {
  CHECK(trace_id_of("cc-" + trace + "-00f067aa0ba902b7-01") == trace);
  CHECK(trace_id_of("cc-" + trace + "-00f067aa0ba902b7-01-what-comes") == trace);
  CHECK_FALSE(trace_id_of("cc-" + trace + "-00f067aa0ba902b7-01.what"));
}

TEST_CASE("a traceparent that is not valid gives no trace id") {
  CHECK_FALSE(trace_id_of(""));
  CHECK_FALSE(trace_id_of(trace));
  CHECK_FALSE(trace_id_of(valid.substr(0, valid.size() - 1)));
  CHECK_FALSE(trace_id_of(valid + "-more"));
  CHECK_FALSE(trace_id_of(" " + valid));
  CHECK_FALSE(trace_id_of("ff-" + trace + "-00f067aa0ba902b7-01"));
  CHECK_FALSE(trace_id_of("0g-" + trace + "-00f067aa0ba902b7-01"));
  CHECK_FALSE(trace_id_of("00-" + trace + "-0000000000000000-01"));
  CHECK_FALSE(trace_id_of("00-" + std::string(32, '0') + "-00f067aa0ba902b7-01"));
  CHECK_FALSE(trace_id_of("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"));
  CHECK_FALSE(trace_id_of("00-" + trace + "-00f067aa0ba902b7-0x"));
  CHECK_FALSE(trace_id_of("00_" + trace + "_00f067aa0ba902b7_01"));
}

TEST_CASE("the header is found at the top of the headers only") {
  CHECK(trace_id_of_headers(R"({"traceparent": ")" + valid + R"("})") == trace);
  CHECK(trace_id_of_headers(R"({"a": {"traceparent": "x"}, "n": [1, {}], "traceparent": ")" + valid +
                            R"("})") == trace);
  CHECK_FALSE(trace_id_of_headers(R"({"a": {"traceparent": ")" + valid + R"("}})"));
  CHECK_FALSE(trace_id_of_headers(R"({"a": ["traceparent", ")" + valid + R"("]})"));
  CHECK_FALSE(trace_id_of_headers(R"({"Traceparent": ")" + valid + R"("})"));
  CHECK_FALSE(trace_id_of_headers("{}"));
  CHECK_FALSE(trace_id_of_headers(""));
}

TEST_CASE("headers with a traceparent of another type, or that nobody can read, give no trace id") {
  CHECK_FALSE(trace_id_of_headers(R"({"traceparent": 1})"));
  CHECK_FALSE(trace_id_of_headers(R"({"traceparent": null, "b": ")" + valid + R"("})"));
  CHECK_FALSE(trace_id_of_headers(R"({"traceparent": [")" + valid + R"("]})"));
  CHECK_FALSE(trace_id_of_headers(R"({"a": 1e400, "traceparent": ")" + valid + R"("})"));
  CHECK_FALSE(trace_id_of_headers(R"({"traceparent")"));
}

}  // namespace core_trace_parent_test
