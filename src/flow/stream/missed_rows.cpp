#include "flow/stream/missed_rows.hpp"

namespace outboxd::flow {
namespace {

// A walk checks 10,000 rows, which takes milliseconds.
constexpr int sweeps_between_walks = 10;

}  // namespace

std::optional<std::int64_t> missed_rows::next(std::int64_t watermark) {
  if (!met_ && ++sweeps_ < sweeps_between_walks) return std::nullopt;
  sweeps_ = 0;
  if (from_ >= watermark) from_ = position::before_all;
  return from_;
}

std::optional<std::int64_t> missed_rows::on_walked(const walk_answer& got, std::int64_t watermark) {
  if (!got.met || got.walked_to >= watermark) {
    met_.reset();
    from_ = got.more && !got.met ? got.walked_to : position::before_all;
    return std::nullopt;
  }
  from_ = got.walked_to;
  const std::int64_t found = got.walked_to + 1;
  if (met_ != found) {
    met_ = found;
    return std::nullopt;
  }
  met_.reset();
  return found;
}

}  // namespace outboxd::flow
