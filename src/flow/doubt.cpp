#include "flow/doubt.hpp"

namespace outboxd::flow {
namespace {

doubt among_others(doubt before) {
  return before == doubt::none ? doubt::once : doubt::suspect;
}

}  // namespace

suspicion suspicion_after(doubt before, ending how, bool alone, incident seen) {
  switch (how) {
    case ending::blameless:
    case ending::unconfirmed:
      return {before};
    case ending::channel_closed:
      return {doubt::suspect, alone};
    case ending::connection_closed:
      if (!alone) return {among_others(before)};
      return {doubt::suspect, before >= doubt::suspect};
    case ending::silent:
      if (seen == incident::perhaps_known) return {before};
      if (!alone) return {among_others(before)};
      return {doubt::dropped, before == doubt::dropped};
  }
  return {before};
}

}  // namespace outboxd::flow
