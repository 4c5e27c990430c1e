#include "stage/broker_log.hpp"

#include "support/broker_admin.hpp"

namespace outboxd::bench {

void empty_broker_log(const setup& on) {
  if (!on.own_servers) return;
  // The files of the old log are removed when all its messages have been written elsewhere. After a minute,
  // no clause of the case matches, which raises an error.
  test::broker_eval(R"(
    Directory = maps:get(wal_data_dir, ra_system:fetch(quorum_queues)),
    Logs = fun() -> filelib:wildcard("*.wal", Directory) end,
    Old = Logs(),
    ra_log_wal:force_roll_over(ra_log_wal),
    Wait = fun(Again, Left) ->
      case Logs() -- (Logs() -- Old) of
        [] -> ok;
        _ when Left > 0 -> timer:sleep(10), Again(Again, Left - 10)
      end
    end,
    Wait(Wait, 60000).)");
}

}  // namespace outboxd::bench
