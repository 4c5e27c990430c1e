// client: asks one question of an HTTP server, of a relay or of somebody else's, and waits for the answer.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "http/address.hpp"
#include "http/url.hpp"

namespace outboxd::http {

struct answer {
  int status = 0;
  std::string body;
};

// Both block, for as long as `limit` at most, and take an answer of 1 MiB at most. The look-up of a name cannot
// be interrupted: it may add the resolver's own time.

// An address that stands for every one is asked at the loopback.
result<answer> get(const address& from, std::string_view target, std::chrono::milliseconds limit);

// target: below the URL's path. authorization: the header's value; empty: none.
result<answer> get(const url& from, std::string_view target, const std::string& authorization,
                   std::chrono::milliseconds limit);

}  // namespace outboxd::http
