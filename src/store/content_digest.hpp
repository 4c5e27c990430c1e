// content_digest: a digest of the content that was sent, to compare it with the event's row.
#pragma once

#include <string>

#include "flow/stream/store.hpp"

namespace outboxd::store {

// SHA-256 of everything in the message except the aggregate; `content_digest` in store/relay_statements.cpp
// computes the same from a row.
std::string digest_of(const flow::sent_content& what);

}  // namespace outboxd::store
