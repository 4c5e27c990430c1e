// Fuzzes the decoder of a returned message's content header. The message id is a part of the payload, and
// where rabbitmq-c can read the header, it reads the same.
#include "amqp/codec.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

constexpr std::size_t prefix = 12;                // class, weight, body size
constexpr std::size_t most_for_rabbitmq_c = 512;  // it recurses into tables without a limit

void compare(std::string_view payload, const amqp::content_header& ours) {
  amqp::pool pool;
  void* decoded = nullptr;
  if (amqp_decode_properties(AMQP_BASIC_CLASS, pool.get(), amqp::as_bytes(payload.substr(prefix)), &decoded) <
      0)
    return;
  const auto& theirs = *static_cast<const amqp_basic_properties_t*>(decoded);
  if ((theirs._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0)
    must(amqp::as_view(theirs.message_id) == ours.message_id, "the message id is rabbitmq-c's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto payload = in.rest();
  const auto header = amqp::decode_content_header(payload);
  if (!header) return 0;
  const auto id = header->message_id;
  must(
      id.empty() || (id.data() >= payload.data() && id.data() + id.size() <= payload.data() + payload.size()),
      "the message id points into the payload");
  if (payload.size() <= most_for_rabbitmq_c) compare(payload, *header);
  return 0;
}
