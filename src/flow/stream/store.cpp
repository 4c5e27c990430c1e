#include "flow/stream/store.hpp"

namespace outboxd::flow {

std::string_view store_answer::deferral() const {
  for (const store_reply& one : replies) {
    if (const auto* const write = std::get_if<write_answer>(&one))
      if (write->result == write_result::deferred) return write->reason;
    if (const auto* const read = std::get_if<tried<read_answer>>(&one))
      if (read->result == read_result::deferred) return read->reason;
    if (const auto* const due = std::get_if<tried<due_answer>>(&one))
      if (due->result == read_result::deferred) return due->reason;
  }
  return {};
}

}  // namespace outboxd::flow
