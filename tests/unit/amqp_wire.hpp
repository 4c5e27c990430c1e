// amqp_wire: a broker's side of the wire for tests, written and read by hand so that it shares nothing with
// src/amqp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace wire {

inline std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}
inline std::string u8(std::uint64_t v) {
  return number(v, 1);
}
inline std::string u16(std::uint64_t v) {
  return number(v, 2);
}
inline std::string u32(std::uint64_t v) {
  return number(v, 4);
}
inline std::string u64(std::uint64_t v) {
  return number(v, 8);
}
inline std::string short_string(std::string_view s) {
  return u8(s.size()) + std::string(s);
}
inline std::string long_string(std::string_view s) {
  return u32(s.size()) + std::string(s);
}

inline std::string frame(int type, int channel, std::string_view payload) {
  return u8(static_cast<std::uint64_t>(type)) + u16(static_cast<std::uint64_t>(channel)) +
         long_string(payload) + "\xCE";
}
inline std::string method(int channel, std::uint64_t class_id, std::uint64_t method_id,
                          std::string_view fields = {}) {
  return frame(1, channel, u16(class_id) + u16(method_id) + std::string(fields));
}

// What a broker says.
inline std::string start(bool confirms = true, bool nack = true,
                         std::string_view mechanisms = "AMQPLAIN PLAIN") {
  const auto flag = [](std::string_view name, bool value) {
    return short_string(name) + "t" + u8(value ? 1 : 0);
  };
  const std::string capabilities = flag("publisher_confirms", confirms) + flag("basic.nack", nack);
  const std::string properties = short_string("product") + "S" + long_string("RabbitMQ") +
                                 short_string("capabilities") + "F" + long_string(capabilities);
  return method(0, 10, 10,
                u8(0) + u8(9) + long_string(properties) + long_string(mechanisms) + long_string("en_US"));
}
inline std::string tune(std::uint64_t channel_max = 2047, std::uint64_t frame_max = 131072,
                        std::uint64_t heartbeat = 60) {
  return method(0, 10, 30, u16(channel_max) + u32(frame_max) + u16(heartbeat));
}
inline std::string open_ok() {
  return method(0, 10, 41, short_string(""));
}
inline std::string channel_open_ok() {
  return method(1, 20, 11, long_string(""));
}
inline std::string select_ok() {
  return method(1, 85, 11);
}
inline std::string declare_ok() {
  return method(1, 40, 11);
}
inline std::string connection_close(std::uint64_t code, std::string_view text) {
  return method(0, 10, 50, u16(code) + short_string(text) + u16(0) + u16(0));
}
inline std::string channel_close(std::uint64_t code, std::string_view text) {
  return method(1, 20, 40, u16(code) + short_string(text) + u16(0) + u16(0));
}
inline std::string blocked(std::string_view reason) {
  return method(0, 10, 60, short_string(reason));
}
inline std::string update_secret_ok() {
  return method(0, 10, 71);
}
inline std::string unblocked() {
  return method(0, 10, 61);
}
inline std::string heartbeat() {
  return frame(8, 0, "");
}
inline std::string ack(std::uint64_t tag, bool multiple = false) {
  return method(1, 60, 80, u64(tag) + u8(multiple));
}
inline std::string nack(std::uint64_t tag, bool multiple = false) {
  return method(1, 60, 120, u64(tag) + u8(multiple));
}
inline std::string returned(std::uint64_t code, std::string_view text) {
  return method(1, 60, 50, u16(code) + short_string(text) + short_string("x") + short_string("k"));
}
// A content header with the properties that outboxd sets, of which only message_id matters.
inline std::string content_header(std::string_view message_id, std::uint64_t body_size) {
  const std::string headers = short_string("seq") + "l" + u64(7);
  return frame(2, 1,
               u16(60) + u16(0) + u64(body_size) + u16(0x8000 | 0x2000 | 0x1000 | 0x80) +
                   short_string("application/json") + long_string(headers) + u8(2) +
                   short_string(message_id));
}

struct seen {
  int type;
  int channel;
  std::string payload;
  // "10.40" of a method frame.
  std::string name() const;
};

// Takes fields off the front; throws when there are not enough bytes.
class reader {
 public:
  explicit reader(std::string_view bytes) : bytes_(bytes) {}
  std::string take(std::size_t count) {
    if (count > bytes_.size() - at_) throw std::runtime_error("wire: cut short");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string short_string() { return take(number(1)); }
  std::string long_string() { return take(number(4)); }
  bool empty() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

inline std::string seen::name() const {
  reader in(payload);
  const auto class_id = in.number(2);
  return std::to_string(class_id) + "." + std::to_string(in.number(2));
}

inline std::vector<seen> frames(std::string_view bytes) {
  std::vector<seen> out;
  reader in(bytes);
  while (!in.empty()) {
    const auto type = static_cast<int>(in.number(1));
    const auto channel = static_cast<int>(in.number(2));
    out.push_back({type, channel, in.long_string()});
    if (in.number(1) != 0xCE) throw std::runtime_error("wire: no frame end");
  }
  return out;
}

// Field tables as text, names in the order of the wire: {seq:l7,a:S"x",b:F{},c:A[tV]}
std::string table_text(std::string_view encoded);

inline std::string value_text(reader& in) {
  const auto kind = in.take(1);
  switch (kind[0]) {
    case 'V':
      return "V";
    case 't':
      return in.number(1) != 0 ? "t1" : "t0";
    case 'l':
      return "l" + std::to_string(static_cast<std::int64_t>(in.number(8)));
    case 'd': {
      const std::uint64_t bits = in.number(8);
      double value = 0;
      static_assert(sizeof value == sizeof bits);
      __builtin_memcpy(&value, &bits, sizeof value);
      return "d" + std::to_string(value);
    }
    case 'S':
      return "S\"" + in.long_string() + "\"";
    case 'F':
      return "F" + table_text(in.long_string());
    case 'A': {
      const std::string items = in.long_string();
      reader item(items);
      std::string out = "A[";
      while (!item.empty()) out += (out.size() > 2 ? "," : "") + value_text(item);
      return out + "]";
    }
    default:
      throw std::runtime_error("wire: unknown field kind " + kind);
  }
}

inline std::string table_text(std::string_view encoded) {
  reader in(encoded);
  std::string out = "{";
  while (!in.empty()) {
    const std::string name = in.short_string();
    out += (out.size() > 1 ? "," : "") + name + ":" + value_text(in);
  }
  return out + "}";
}

}  // namespace wire
