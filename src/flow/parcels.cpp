#include "flow/parcels.hpp"

#include <algorithm>

namespace outboxd::flow {

std::optional<parcel> parcels::next(bool idle) const {
  const auto may_send = [](const parcel& one) { return one.whose->may_send(); };
  const auto other = std::find_if(others_.begin(), others_.end(), may_send);
  const auto lone = std::find_if(alone_.begin(), alone_.end(), may_send);
  if (other != others_.end() && (lone == alone_.end() || others_left_ > 0)) return *other;
  if (lone == alone_.end() || !idle) return std::nullopt;
  return *lone;
}

void parcels::take(const parcel& one) {
  auto& from = one.alone ? alone_ : others_;
  from.erase(std::find_if(from.begin(), from.end(), [&](const parcel& each) {
    return each.whose == one.whose && each.which == one.which;
  }));
  if (one.alone)
    others_left_ = others_.size();
  else if (others_left_ > 0)
    --others_left_;
}

std::vector<slot> parcels::withdraw(const shipper& whose) {
  std::vector<slot> out;
  for (auto* const queue : {&others_, &alone_}) {
    for (const parcel& one : *queue)
      if (one.whose == &whose) out.push_back(one.which);
    std::erase_if(*queue, [&](const parcel& one) { return one.whose == &whose; });
  }
  return out;
}

std::vector<parcel> parcels::take_all() {
  std::vector<parcel> out(alone_.begin(), alone_.end());
  out.insert(out.end(), others_.begin(), others_.end());
  *this = {};
  return out;
}

}  // namespace outboxd::flow
