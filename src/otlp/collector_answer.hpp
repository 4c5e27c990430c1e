// collector_answer: what a collector's answer means for the spans of the request (OTLP/HTTP). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "http/client.hpp"

namespace outboxd::otlp {

enum class collector_verdict : std::uint8_t {
  taken,    // all spans or some
  refused,  // for good
  later,    // the collector asks for another try
};

struct collector_answer {
  collector_verdict what = collector_verdict::taken;
  std::size_t refused = 0;                     // of `taken`: how many spans it does not take
  std::string words{};                         // why; empty: it has taken all
  std::optional<std::chrono::seconds> wait{};  // of `later`, if the collector says so
};

// spans: of the request.
collector_answer judge(const http::answer& heard, std::size_t spans);

}  // namespace outboxd::otlp
