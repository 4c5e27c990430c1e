// event_payload: the payload and headers of an event, for operators who ask to see them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// The approximate size in bytes of the payload and headers as text, for the event with this id. 0 if the size
// cannot be determined, or if there is no such event. Documents of more than `most` bytes are not scanned.
outcome<std::int64_t> text_size(operator_session& session, const std::string& id, std::int64_t most);

// The beginning of the payload and of the headers of one event, in bounded time and memory: {"type": "jsonb",
// "bytes": 12, "shown_bytes": 12, "payload": "…", "headers": "…"}. A bytea payload is shown as hexadecimal
// digits. If the payload is too large or cannot be read, the payload is null and `why` gives the reason. If
// there is no such event, the payload is null without `why`.
outcome<nlohmann::json> look_at_payload(operator_session& session, const std::string& id,
                                        const std::string& seq);

}  // namespace outboxd::app
