// Fuzzes the frame parser. Frames written again are the bytes that they were read from, no frame is larger
// than frame_max, memory is bounded by it, and it does not matter in which pieces the bytes came.
#include "amqp/frame.hpp"

#include <string>

#include "feed.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

struct reading {
  std::string frames;   // written again
  std::string problem;  // why it ended, if it did
};

reading read(std::string_view bytes, std::uint32_t frame_max, std::size_t piece) {
  amqp::frame_parser parser(frame_max);
  reading out;
  while (!bytes.empty()) {
    fuzz::feed(parser, bytes, piece);
    for (;;) {
      const auto next = parser.next();
      if (!next) {
        out.problem = next.error().message;
        return out;
      }
      if (!*next) break;
      const amqp::frame& f = **next;
      must(f.payload.size() + amqp::frame_overhead <= frame_max, "a frame is at most frame_max bytes");
      amqp::append_frame(out.frames, f.type, f.channel, f.payload);
    }
    must(parser.unread().size() < frame_max, "less than a frame is kept");
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto frame_max = amqp::frame_min_size + static_cast<std::uint32_t>(in.number(1)) * 16;
  const std::size_t piece = 1 + in.byte();
  const auto bytes = in.rest();
  const auto whole = read(bytes, frame_max, bytes.size());
  const auto pieces = read(bytes, frame_max, piece);
  must(bytes.starts_with(whole.frames), "frames written again are the bytes that were read");
  must(whole.frames == pieces.frames && whole.problem == pieces.problem, "the pieces do not matter");
  return 0;
}
