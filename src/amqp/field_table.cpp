// field_table: see field_table.hpp.
#include "amqp/field_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/broker_headers.hpp"
#include "core/standard_headers.hpp"
#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

using field = field_table::field;

constexpr std::size_t kept_fields = 4096;  // more memory than this is released after use

std::string_view name_of(const field& f) {
  return as_view(f.entry.key);
}

// Sorts the fields by name, and keeps the last one of each name.
void drop_repeated(std::vector<field>& fields, std::size_t first) {
  const auto begin = fields.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, fields.end(), [](const field& a, const field& b) {
    const int names = name_of(a).compare(name_of(b));
    return names != 0 ? names < 0 : a.order > b.order;
  });
  const auto same = [](const field& a, const field& b) { return name_of(a) == name_of(b); };
  fields.erase(std::unique(begin, fields.end(), same), fields.end());
}

// Receives the events of nlohmann's parser. Returning false ends the parse; `problem` then says why.
class table_builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  table_builder(amqp_pool_t* pool, std::vector<field>& fields, std::size_t max_bytes)
      : pool_(pool), fields_(fields), max_bytes_(max_bytes) {}

  std::string problem;

  bool null() override { return add(kind(AMQP_FIELD_KIND_VOID), 0); }
  bool boolean(bool value) override {
    auto v = kind(AMQP_FIELD_KIND_BOOLEAN);
    v.value.boolean = value;
    return add(v, 1);
  }
  bool number_integer(number_integer_t value) override {
    auto v = kind(AMQP_FIELD_KIND_I64);
    v.value.i64 = value;
    return add(v, 8);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) return not_int64();
    return number_integer(static_cast<number_integer_t>(value));
  }
  // The parser converts integers beyond 64 bits to double; only their text shows that they are integers.
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == string_t::npos) return not_int64();
    auto v = kind(AMQP_FIELD_KIND_F64);
    v.value.f64 = value;
    return add(v, 8);
  }
  bool string(string_t& value) override {
    if (left_out_) return true;
    if (!fits(value.size() + 5)) return false;
    auto v = kind(AMQP_FIELD_KIND_UTF8);
    v.value.bytes = copy(value);
    return add(v, value.size() + 4);
  }
  bool binary(binary_t&) override { return fail("is binary"); }

  bool start_object(std::size_t) override { return start(true); }
  bool key(string_t& name) override {
    if (left_out_ && *left_out_ > 0) return true;
    left_out_.reset();
    if (levels_.size() == 1) {
      top_name_ = name;
      if (is_broker_header(name)) {
        left_out_ = 0;
        return true;
      }
    }
    // The name of a field begins with a letter, '$' or '#' (section 4.2.5.5). RabbitMQ is less strict, but
    // consumers that use rabbitmq-c cannot read a table with an empty name.
    if (name.empty()) return fail("has an empty name, which AMQP does not allow");
    if (name.size() > max_header_name)
      return fail(fmt::format("has a name of {} bytes; AMQP allows {}", name.size(), max_header_name));
    if (!fits(name.size() + 2)) return false;
    bytes_ += name.size() + 1;
    levels_.back().key = copy(name);
    return true;
  }
  bool end_object() override {
    if (leave_left_out()) return true;
    const auto first = levels_.back().first;
    drop_repeated(fields_, first);
    levels_.pop_back();
    if (levels_.empty()) return true;
    auto v = kind(AMQP_FIELD_KIND_TABLE);
    v.value.table.num_entries = static_cast<int>(fields_.size() - first);
    v.value.table.entries = allocate<amqp_table_entry_t>(fields_.size() - first);
    for (auto i = first; i < fields_.size(); ++i) v.value.table.entries[i - first] = fields_[i].entry;
    fields_.resize(first);
    return add(v, 4);
  }
  bool start_array(std::size_t) override { return start(false); }
  bool end_array() override {
    if (leave_left_out()) return true;
    const auto first = levels_.back().first;
    levels_.pop_back();
    auto v = kind(AMQP_FIELD_KIND_ARRAY);
    v.value.array.num_entries = static_cast<int>(fields_.size() - first);
    v.value.array.entries = allocate<amqp_field_value_t>(fields_.size() - first);
    for (auto i = first; i < fields_.size(); ++i) v.value.array.entries[i - first] = fields_[i].entry.value;
    fields_.resize(first);
    return add(v, 4);
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& e) override {
    constexpr int number_out_of_range = 406;  // nlohmann's code for a number that exceeds a double
    if (e.id != number_out_of_range) {
      problem = fmt::format("headers is not valid JSON at byte {}", position);
      return false;
    }
    left_out_.reset();  // parsing ends here, even if this header is omitted
    if (levels_.empty()) return start(false);
    if (token.find_first_of(".eE") == std::string::npos) return not_int64();
    return fail("has a number beyond the range of a double");
  }

 private:
  struct level {
    bool object;
    std::size_t first;  // index of its first field
    amqp_bytes_t key;   // the name for the next value
  };

  static amqp_field_value_t kind(int kind) {
    amqp_field_value_t value{};
    value.kind = static_cast<std::uint8_t>(kind);
    return value;
  }

  template <class T>
  T* allocate(std::size_t count) {
    return count == 0 ? nullptr : static_cast<T*>(amqp_pool_alloc(pool_, count * sizeof(T)));
  }

  amqp_bytes_t copy(const std::string& text) {
    if (text.empty()) return {0, nullptr};
    auto* const bytes = allocate<char>(text.size());
    std::copy(text.begin(), text.end(), bytes);
    return {text.size(), bytes};
  }

  bool start(bool object) {
    if (levels_.empty() && !object) {
      problem = "headers is not a JSON object";
      return false;
    }
    if (left_out_) {
      ++*left_out_;
      return true;
    }
    if (levels_.size() == max_header_depth)
      return fail(fmt::format("is nested deeper than {} levels", max_header_depth));
    levels_.push_back({object, fields_.size(), {0, nullptr}});
    return true;
  }

  // Called at the end of an array or object inside a header that is omitted.
  bool leave_left_out() {
    if (!left_out_ || *left_out_ == 0) return false;
    --*left_out_;
    return true;
  }

  // Sender-selected distribution (https://www.rabbitmq.com/docs/sender-selected). RabbitMQ closes the channel
  // if the value is not an array, and the connection if an element is not a string.
  static bool is_cc(std::string_view name) { return name == "CC" || name == "BCC"; }
  bool breaks_cc(int kind) const {
    if (!is_cc(top_name_)) return false;
    if (levels_.size() == 1) return kind != AMQP_FIELD_KIND_ARRAY;
    return levels_.size() == 2 && !levels_.back().object && kind != AMQP_FIELD_KIND_UTF8;
  }

  // Adds one value, which takes a type byte and `size` bytes.
  bool add(const amqp_field_value_t& value, std::size_t size) {
    if (left_out_) return true;
    if (levels_.empty()) return start(false);
    if (breaks_cc(value.kind)) return fail("is not a list of routing keys, as RabbitMQ requires");
    if (!fits(size + 1)) return false;
    bytes_ += size + 1;
    fields_.push_back({{levels_.back().key, value}, fields_.size()});
    return true;
  }

  bool fits(std::size_t more) {
    if (bytes_ + more <= max_bytes_) return true;
    problem = fmt::format("headers are larger than the {} bytes that fit one frame", max_bytes_);
    return false;
  }

  bool not_int64() {
    if (left_out_) return true;
    if (levels_.empty()) return start(false);
    return fail("has an integer beyond 64 bits with sign");
  }
  bool fail(std::string_view what) {
    problem = fmt::format("header \"{}\" {}", printable(top_name_, 64), what);
    return false;
  }

  amqp_pool_t* pool_;
  std::vector<field>& fields_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;  // encoded bytes so far
  std::vector<level> levels_;
  std::string top_name_;
  // Set inside the value of a header that is omitted: the number of open arrays and objects.
  std::optional<std::size_t> left_out_;
};

amqp_table_entry_t entry_of(std::string_view name, std::string_view value) {
  amqp_table_entry_t entry{};
  entry.key = as_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = as_bytes(value);
  return entry;
}

amqp_table_entry_t entry_of(std::string_view name, std::int64_t value) {
  amqp_table_entry_t entry{};
  entry.key = as_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_I64;
  entry.value.value.i64 = value;
  return entry;
}

// The entry points to the texts in the message.
amqp_table_entry_t entry_of(const message_header& from) {
  amqp_table_entry_t entry{};
  entry.key = as_bytes(from.name);
  if (const auto* text = std::get_if<std::string>(&from.value))
    return entry_of(from.name, std::string_view(*text));
  if (const auto* number = std::get_if<std::int64_t>(&from.value)) return entry_of(from.name, *number);
  if (const auto* flag = std::get_if<bool>(&from.value)) {
    entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entry.value.value.boolean = *flag ? 1 : 0;
  } else {
    entry.value.kind = AMQP_FIELD_KIND_F64;
    entry.value.value.f64 = std::get<double>(from.value);
  }
  return entry;
}

bool has(const std::vector<amqp_table_entry_t>& all, std::string_view name) {
  return std::any_of(all.begin(), all.end(),
                     [&](const amqp_table_entry_t& one) { return as_view(one.key) == name; });
}

}  // namespace

result<amqp_table_t> field_table::build(const message& message, std::size_t max_bytes) {
  standard_.clear();
  visit_standard_headers(message, [this](std::string_view name, const auto& value) {
    standard_.push_back(entry_of(name, value));
  });
  for (const message_header& one : message.format_headers) standard_.push_back(entry_of(one));
  if (message.headers == "{}" && message.default_headers.empty())
    return amqp_table_t{static_cast<int>(standard_.size()), standard_.data()};

  if (fields_.capacity() > kept_fields) {  // after a message with unusually many headers
    fields_ = {};
    merged_ = {};
    pool_.release();
  }
  pool_.recycle();
  fields_.clear();
  table_builder builder(pool_.get(), fields_, max_bytes);
  if (!nlohmann::json::sax_parse(message.headers, &builder)) return permanent(std::move(builder.problem));

  merged_.assign(standard_.begin(), standard_.end());
  for (const field& f : fields_)
    if (!has(standard_, name_of(f))) merged_.push_back(f.entry);
  for (const message_header& one : message.default_headers)
    if (!has(merged_, one.name)) merged_.push_back(entry_of(one));
  return amqp_table_t{static_cast<int>(merged_.size()), merged_.data()};
}

}  // namespace outboxd::amqp
