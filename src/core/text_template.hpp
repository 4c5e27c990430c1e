// text_template: a text with placeholders for fields of an event: {event_type}, {aggregate_type},
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
  // The error says what is wrong with the text and which form is allowed.
  static result<text_template> parse(std::string_view text);

  // Fails with a permanent error if the event lacks a header.
  result<std::string> expand(const event& from) const;

  // The text if it has no placeholders; otherwise nullopt.
  std::optional<std::string> fixed_text() const;

 private:
  enum class source { literal, event_type, aggregate_type, aggregate_id, header };
  struct part {
    source from = source::literal;
    std::string text;  // the literal, or the header's name
  };

  static result<part> placeholder(std::string_view name);

  std::vector<part> parts_;
};

}  // namespace outboxd
