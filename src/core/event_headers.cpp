#include "core/event_headers.hpp"

#include <nlohmann/json.hpp>

namespace outboxd {
namespace {

// Extracts one value from a JSON object and stops parsing there.
class header_finder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit header_finder(std::string_view name) : name_(name) {}

  std::optional<header_value> take() { return std::move(found_); }

  bool null() override { return pass(); }
  bool boolean(bool value) override { return take({value ? "true" : "false", false}); }
  bool number_integer(number_integer_t value) override { return take({std::to_string(value), false}); }
  bool number_unsigned(number_unsigned_t value) override { return take({std::to_string(value), false}); }
  bool number_float(number_float_t, const string_t& text) override { return take({text, false}); }
  bool string(string_t& text) override { return take({text, true}); }
  bool binary(binary_t&) override { return pass(); }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t& name) override {
    is_next_ = depth_ == 1 && name == name_;
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool take(header_value value) {
    if (depth_ == 1 && is_next_) found_ = std::move(value);
    return pass();
  }
  bool pass() const { return !found_; }
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::string_view name_;
  int depth_ = 0;
  bool is_next_ = false;
  std::optional<header_value> found_;
};

}  // namespace

std::optional<header_value> find_header(std::string_view headers, std::string_view name) {
  // Without escapes the name appears literally in the text; a name that JSON has to escape needs the parser.
  const bool plain = name.find_first_of("\"\\") == std::string_view::npos;
  if (headers == "{}" ||
      (plain && headers.find('\\') == std::string_view::npos && headers.find(name) == std::string_view::npos))
    return std::nullopt;
  header_finder scanner(name);
  nlohmann::json::sax_parse(headers, &scanner);
  return scanner.take();
}

}  // namespace outboxd
