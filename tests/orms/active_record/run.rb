# ActiveRecord: takes an order, rolls one back, and takes three at once; or consumes. Arguments: produce or
# consume, a URL of libpq's.
require "active_record"

what, url = ARGV
ActiveRecord::Base.establish_connection(url)
require_relative "event"
require_relative "consumer"

class Invoice < ActiveRecord::Base
  self.table_name = "shop.invoices"
end
Order.table_name = "shop.orders"

# As a new application has it from 7.0 on: all columns are written.
def write_all_columns
  [ActiveRecord::Base, Event, Order].each do |one|
    one.respond_to?(:partial_inserts=) ? one.partial_inserts = false : one.partial_writes = false
  end
end

consume if what == "consume"

Order.create!(total: 10)
Order.transaction do
  Order.create!(total: 11)
  raise ActiveRecord::Rollback
end
Order.transaction do
  Order.create!(total: 12)
  write_all_columns
  Order.create!(total: 13)
  id = Order.insert_all!([{ total: 14 }], returning: :id).first["id"]
  Event.insert_all!([{ aggregate_type: "order", aggregate_id: id, event_type: "order.created",
                       payload: { id: id, total: 14 } }])
end
