// Fuzzes the decoder of methods. What was decoded can be encoded, and that decodes to the same again.
#include <string>

#include "amqp/codec.hpp"
#include "amqp/frame.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

// The frame of a decoded method; nothing if it is larger than we would send.
std::string encoded(const amqp::method& m) {
  std::string out;
  if (!amqp::codec::append_method(out, 1, m.id, m.fields)) out.clear();
  return out;
}

std::string_view payload_of(std::string_view frame) {
  return frame.substr(7, frame.size() - amqp::frame_overhead);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  amqp::codec decoder;
  const auto first = decoder.decode(in.rest());
  if (!first) {
    must(!first.error().message.empty(), "an error says why");
    return 0;
  }
  const auto once = encoded(*first);
  if (once.empty()) return 0;
  const auto second = decoder.decode(payload_of(once));
  must(second.has_value(), "what we encode can be decoded");
  must(encoded(*second) == once, "a method decodes to what was encoded");
  return 0;
}
