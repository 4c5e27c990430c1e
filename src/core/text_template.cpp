#include "core/text_template.hpp"

#include <fmt/format.h>

#include "core/event_headers.hpp"

namespace outboxd {
namespace {

constexpr std::string_view allowed = "{event_type}, {aggregate_type}, {aggregate_id} and {header:NAME}";

}  // namespace

result<text_template::part> text_template::placeholder(std::string_view name) {
  constexpr std::string_view header = "header:";
  if (name == "event_type") return part{source::event_type, {}};
  if (name == "aggregate_type") return part{source::aggregate_type, {}};
  if (name == "aggregate_id") return part{source::aggregate_id, {}};
  if (name.starts_with(header) && name.size() > header.size())
    return part{source::header, std::string(name.substr(header.size()))};
  return permanent(fmt::format("has the unknown placeholder {{{}}}; there are {}", name, allowed));
}

result<text_template> text_template::parse(std::string_view text) {
  if (text.empty()) return permanent("is empty; leave it out instead");
  text_template out;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) out.parts_.push_back({source::literal, std::move(literal)});
    literal.clear();
  };
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\0') return permanent("has a zero byte");
    if ((c == '{' || c == '}') && text.size() > 1 && text[1] == c) {
      literal += c;
      text.remove_prefix(2);
    } else if (c == '}') {
      return permanent("has a } without its {; }} stands for a single one");
    } else if (c == '{') {
      const auto end = text.find('}');
      if (end == std::string_view::npos)
        return permanent("has a { without its }; {{ stands for a single one");
      OUTBOXD_TRY(auto one, placeholder(text.substr(1, end - 1)));
      end_literal();
      out.parts_.push_back(std::move(one));
      text.remove_prefix(end + 1);
    } else {
      literal += c;
      text.remove_prefix(1);
    }
  }
  end_literal();
  return out;
}

result<std::string> text_template::expand(const event& from) const {
  std::string out;
  for (const part& one : parts_) {
    switch (one.from) {
      case source::literal:
        out += one.text;
        break;
      case source::event_type:
        out += from.event_type;
        break;
      case source::aggregate_type:
        out += from.aggregate_type;
        break;
      case source::aggregate_id:
        out += from.aggregate_id;
        break;
      case source::header: {
        const auto value = find_header(from.headers, one.text);
        if (!value)
          return permanent(
              fmt::format("has no header \"{}\" with a text, a number, true or false", one.text));
        out += value->text;
        break;
      }
    }
  }
  return out;
}

std::optional<std::string> text_template::fixed_text() const {
  std::string out;
  for (const part& one : parts_) {
    if (one.from != source::literal) return std::nullopt;
    out += one.text;
  }
  return out;
}

}  // namespace outboxd
