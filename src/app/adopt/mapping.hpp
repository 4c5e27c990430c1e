// mapping: which column of the user's own table becomes which column of an event.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::app {

// In the order of an event's columns.
enum class event_field {
  id,
  available_at,
  aggregate_type,
  aggregate_id,
  event_type,
  payload,
  headers,
  exchange,
  routing_key,
};
std::string_view name_of(event_field which);

struct field_source {
  enum class kind {
    column,    // the value of this column
    constant,  // this text, in every event
  };
  kind what = kind::column;
  std::string text;
};

struct header_source {
  std::string name;
  std::string column;
};

// What happens to rows that cannot become events; nullopt: not specified.
struct misfit_options {
  std::optional<std::string> null_payload;
  std::optional<std::string> unfit;
};

struct column_mapping {
  std::map<event_field, field_source> fields;
  std::vector<header_source> headers;
  bool keeps = false;        // rows must stay in the preset's table
  misfit_options misfits{};  // the preset's choices
};

// preset: empty for none. maps: FIELD=COLUMN, FIELD='TEXT' or FIELD= for none; they override the preset.
// headers: NAME=COLUMN. The error names the option.
result<column_mapping> read_mapping(const std::string& preset, const std::vector<std::string>& maps,
                                    const std::vector<std::string>& headers);

}  // namespace outboxd::app
