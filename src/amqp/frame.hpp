// frame: the frame format of AMQP 0-9-1, section 2.3.5: type, channel, length, payload, 0xCE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::amqp {

enum class frame_type : std::uint8_t { method = 1, header = 2, body = 3, heartbeat = 8 };

inline constexpr std::size_t frame_overhead = 8;  // 7 bytes before the payload, 1 after it
inline constexpr std::uint32_t frame_min_size =
    4096;  // the smallest allowed frame_max (constant frame-min-size)
inline constexpr std::uint32_t frame_max_own = 131072;  // outboxd's maximum; RabbitMQ's default
inline constexpr std::uint32_t frame_max_untuned =
    8192;  // before tune; RabbitMQ 4 allows 8192, older releases 4096

struct frame {
  frame_type type;
  std::uint16_t channel;
  std::string_view payload;  // points into the parser
};

void append_frame(std::string& out, frame_type type, std::uint16_t channel, std::string_view payload);

// A big-endian number of `bytes`, at most 8.
std::uint64_t read_big_endian(std::string_view bytes);

// Splits a stream of bytes into frames. Memory is limited by frame_max, the size of a whole frame in bytes.
//   span = prepare(); n = read(span); commit(n); while (f = next()) ...
class frame_parser {
 public:
  explicit frame_parser(std::uint32_t frame_max) : frame_max_(frame_max) {}
  void set_frame_max(std::uint32_t frame_max) { frame_max_ = frame_max; }

  // Returns room for the next read, which is never empty. All payloads returned earlier become invalid.
  std::span<char> prepare();
  void commit(std::size_t bytes) { end_ += bytes; }

  // Returns the next whole frame; nullopt if more bytes are needed; or an error if the bytes are not AMQP
  // (transient; the stream is unusable). A length above frame_max is rejected as soon as it is read.
  result<std::optional<frame>> next();

  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

 private:
  std::uint32_t frame_max_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // buffer_[begin_, end_) is unread
  std::size_t end_ = 0;
};

}  // namespace outboxd::amqp
