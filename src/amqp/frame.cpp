// frame: see frame.hpp.
#include "amqp/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/big_endian.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::size_t header_size = 7;
constexpr char frame_end = '\xCE';
constexpr std::size_t read_size = std::size_t{64} * 1024;  // bytes per read

bool known(std::uint8_t type) {
  return type == 1 || type == 2 || type == 3 || type == 8;
}

}  // namespace

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

void append_frame(std::string& out, frame_type type, std::uint16_t channel, std::string_view payload) {
  std::array<char, header_size> header;
  header[0] = static_cast<char>(type);
  store_big_endian(header.data() + 1, channel);
  store_big_endian(header.data() + 3, static_cast<std::uint32_t>(payload.size()));
  out.append(header.data(), header.size());
  out += payload;
  out += frame_end;
}

std::span<char> frame_parser::prepare() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  // An incomplete frame is smaller than frame_max, so the buffer never exceeds frame_max + read_size.
  if (buffer_.size() - end_ < read_size / 4) buffer_.resize(end_ + read_size);
  return std::span(buffer_).subspan(end_);
}

result<std::optional<frame>> frame_parser::next() {
  const std::string_view bytes = unread();
  if (bytes.empty()) return std::nullopt;
  const auto type = static_cast<std::uint8_t>(bytes[0]);
  if (!known(type))
    return transient(fmt::format("the broker sent a frame of unknown type {}; this is not AMQP 0-9-1", type));
  if (bytes.size() < header_size) return std::nullopt;
  const auto channel = static_cast<std::uint16_t>(read_big_endian(bytes.substr(1, 2)));
  const auto length = static_cast<std::size_t>(read_big_endian(bytes.substr(3, 4)));
  if (length > frame_max_ - frame_overhead)
    return transient(fmt::format("the broker sent a frame of {} bytes where frame_max {} allows {}", length,
                                 frame_max_, frame_max_ - frame_overhead));
  if (bytes.size() < length + frame_overhead) return std::nullopt;
  if (bytes[header_size + length] != frame_end)
    return transient(fmt::format(
        "a frame of type {} and {} bytes does not end with 0xCE; the stream is damaged", type, length));
  begin_ += length + frame_overhead;
  return frame{static_cast<frame_type>(type), channel, bytes.substr(header_size, length)};
}

}  // namespace outboxd::amqp
