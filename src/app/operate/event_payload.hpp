// event_payload: what an event carries, for those who ask for it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// Bytes of the payload and the headers of the event with this id as texts, about; 0 if that cannot be said,
// or there is none. A document of more than `most` bytes is not looked through.
outcome<std::int64_t> text_size(operator_session& session, const std::string& id, std::int64_t most);

// The beginning of the payload and of the headers of one event, in bounded time and memory: {"type": "jsonb",
// "bytes": 12, "shown_bytes": 12, "payload": "…", "headers": "…"}. A payload of type bytea is in hexadecimal
// digits. Null and `why`, if it is too large or cannot be read; null alone, if there is no such event.
outcome<nlohmann::json> look_at_payload(operator_session& session, const std::string& id,
                                        const std::string& seq);

}  // namespace outboxd::app
