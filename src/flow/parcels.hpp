// parcels: what waits for a lane, in the order in which it may go.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "flow/shipper.hpp"

namespace outboxd::flow {

// Pure. Who travels alone and all others take turns, so that neither waits for all of the other.
class parcels {
 public:
  void add(parcel one) { (one.alone ? alone_ : others_).push_back(one); }
  // The one that may go now, of a shipper that may send. idle: nothing is in flight, so that it may be one
  // that travels alone.
  std::optional<parcel> next(bool idle) const;
  // It goes.
  void take(const parcel& one);
  std::size_t size() const { return others_.size() + alone_.size(); }

  // Takes those of this shipper away, or all.
  std::vector<slot> withdraw(const shipper& whose);
  std::vector<parcel> take_all();

 private:
  std::deque<parcel> others_;
  std::deque<parcel> alone_;
  std::size_t others_left_ = 0;  // that go before the next of alone_
};

}  // namespace outboxd::flow
