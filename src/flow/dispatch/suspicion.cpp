#include "flow/dispatch/suspicion.hpp"

namespace outboxd::flow {
namespace {

suspicion among_others(suspicion before) {
  return before == suspicion::none ? suspicion::once : suspicion::suspect;
}

}  // namespace

suspicion_change suspicion_after(suspicion before, ending how, bool alone, incident seen) {
  switch (how) {
    case ending::blameless:
    case ending::unconfirmed:
      return {before};
    case ending::channel_closed:
      return {suspicion::suspect, alone};
    case ending::connection_closed:
      if (!alone) return {among_others(before)};
      return {suspicion::suspect, before >= suspicion::suspect};
    case ending::silent:
      if (seen == incident::perhaps_known) return {before};
      if (!alone) return {among_others(before)};
      return {suspicion::dropped, before == suspicion::dropped};
  }
  return {before};
}

}  // namespace outboxd::flow
