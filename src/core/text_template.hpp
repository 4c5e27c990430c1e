// text_template: a text with placeholders for what an event carries: {event_type}, {aggregate_type},
// {aggregate_id}, {header:NAME}. {{ and }} stand for single braces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/event.hpp"

namespace outboxd {

class text_template {
 public:
  // An error names the fault of the text, and the allowed form.
  static result<text_template> parse(std::string_view text);

  // An error is permanent: the event lacks a header.
  result<std::string> expand(const event& from) const;

  // The constant text; nullopt if it has a placeholder.
  std::optional<std::string> fixed_text() const;

 private:
  enum class source { literal, event_type, aggregate_type, aggregate_id, header };
  struct part {
    source from = source::literal;
    std::string text;  // the literal, or the name of the header
  };

  static result<part> placeholder(std::string_view name);

  std::vector<part> parts_;
};

}  // namespace outboxd
