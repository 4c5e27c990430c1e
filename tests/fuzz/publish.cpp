// Fuzzes the publish encoder with any texts and any frame_max. Its frames can be read again, none is larger
// than frame_max, and they carry exactly the message; of a refused message nothing is sent.
#include <string>

#include "amqp/codec.hpp"
#include "amqp/frame.hpp"
#include "amqp/publish_encoder.hpp"
#include "feed.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

// Owns what a message looks at.
struct texts {
  std::string exchange, key, id, type, content_type, aggregate_type, aggregate_id, headers, body;
};

texts read(fuzz::input& in) {
  texts out;
  for (std::string* one : {&out.exchange, &out.key, &out.id, &out.type, &out.content_type,
                           &out.aggregate_type, &out.aggregate_id, &out.headers})
    *one = in.text();
  const auto repeats = 1 + in.number(2);
  const auto piece = in.rest().substr(0, 64);
  for (std::uint64_t i = 0; i < repeats && out.body.size() < 400'000; ++i) out.body += piece;
  if (out.headers.empty()) out.headers = "{}";
  return out;
}

void check_publish(std::string_view payload, const message& from) {
  amqp::pool pool;
  void* decoded = nullptr;
  const int status =
      amqp_decode_method(AMQP_BASIC_PUBLISH_METHOD, pool.get(), amqp::as_bytes(payload.substr(4)), &decoded);
  must(status >= 0 && amqp::read_big_endian(payload.substr(0, 4)) == AMQP_BASIC_PUBLISH_METHOD,
       "the first frame is basic.publish");
  const auto& publish = *static_cast<const amqp_basic_publish_t*>(decoded);
  must(amqp::as_view(publish.exchange) == from.exchange, "the exchange arrives");
  must(amqp::as_view(publish.routing_key) == from.routing_key, "the routing key arrives");
  must(publish.mandatory != 0, "every publish is mandatory");
}

void check_header(std::string_view payload, const message& from) {
  const auto header = amqp::decode_content_header(payload);
  must(header.has_value(), "the content header can be read");
  must(header->body_size == from.body.size(), "the content header says how long the body is");
  must(header->message_id == from.message_id, "the message id arrives");
}

void check_frames(std::string_view sent, std::uint32_t frame_max, const message& from) {
  amqp::frame_parser parser(frame_max);
  std::string body;
  int count = 0;
  while (!sent.empty()) {
    fuzz::feed(parser, sent, sent.size());
    for (;; ++count) {
      const auto next = parser.next();
      must(next.has_value(), "the frames can be read with the same frame_max");
      if (!*next) break;
      const amqp::frame& f = **next;
      must(f.channel == 1, "all is on one channel");
      must(f.type == (count == 0   ? amqp::frame_type::method
                      : count == 1 ? amqp::frame_type::header
                                   : amqp::frame_type::body),
           "method, header, body");
      if (count == 0) check_publish(f.payload, from);
      if (count == 1) check_header(f.payload, from);
      if (count > 1) body += f.payload;
    }
  }
  must(count >= 2 && parser.unread().empty(), "the frames are whole");
  must(body == from.body, "the body arrives byte for byte");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto frame_max =
      std::min(amqp::frame_min_size + static_cast<std::uint32_t>(in.number(2)) * 2, amqp::frame_max_own);
  const auto own = read(in);
  message from{};
  from.exchange = own.exchange;
  from.routing_key = own.key;
  from.message_id = own.id;
  from.type = own.type;
  from.content_type = own.content_type;
  from.aggregate_type = own.aggregate_type;
  from.aggregate_id = own.aggregate_id;
  from.occurred_at = "2026-01-31T08:15:00.000042Z";
  from.headers = own.headers;
  from.body = own.body;

  amqp::publish_encoder encoder(1, frame_max);
  std::string out = "before";
  const auto ok = encoder.append(from, out);
  must(out.starts_with("before"), "what is in the buffer stays");
  if (ok)
    check_frames(std::string_view(out).substr(6), frame_max, from);
  else
    must(out == "before" && ok.error().kind == fault::permanent, "of a refused message nothing is sent");
  return 0;
}
