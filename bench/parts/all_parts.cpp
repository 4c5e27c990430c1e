#include "parts/part.hpp"

namespace outboxd::bench {

std::vector<std::unique_ptr<part>> all_parts() {
  std::vector<std::unique_ptr<part>> all;
  all.push_back(waiting_part());
  return all;
}

}  // namespace outboxd::bench
