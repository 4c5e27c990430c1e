# An order and its event, in one transaction. Rails writes or reads back every column that it knows, so all
# others are ignored.
class Event < ActiveRecord::Base
  self.table_name = "outbox.event"
  self.ignored_columns = %w[seq tx created_at attempts deferrals status published_at exception
                            last_error last_error_code last_error_scope replay_exchange
                            replay_routing_key first_failed_at waits_for failed_exchange
                            failed_routing_key]
end

class Order < ActiveRecord::Base
  after_create do # not after_commit, which comes too late
    Event.create!(aggregate_type: "order", aggregate_id: id, event_type: "order.created",
                  payload: { id: id, total: total.to_s })
  end
end
