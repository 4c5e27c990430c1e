// content_digest: what was sent of an event, short enough to be compared with what its row says by now.
#pragma once

#include <string>

#include "flow/stream/store.hpp"

namespace outboxd::store {

// SHA-256 of all that makes the message but the aggregate; `content_digest` in store/relay_statements.cpp is
// the same of a row.
std::string digest_of(const flow::sent_content& what);

}  // namespace outboxd::store
