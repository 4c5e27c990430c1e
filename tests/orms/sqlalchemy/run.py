# SQLAlchemy: takes an order, rolls one back, and takes three at once; or consumes. Arguments: produce or
# consume, a URL of libpq's.
import sys

from shop.consumer import consume
from shop.events import Event, take_order
from shop.models import Order
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

engine = create_engine(sys.argv[2])
if sys.argv[1] == "consume":
    consume(engine)

with Session(engine) as session, session.begin():
    take_order(session, 10)
try:
    with Session(engine) as session, session.begin():
        take_order(session, 11)
        session.flush()
        raise LookupError
except LookupError:
    pass
with Session(engine) as session, session.begin():
    orders = [Order(total=n) for n in (12, 13, 14)]
    session.add_all(orders)
    session.flush()
    session.add_all(
        Event(aggregate_type="order", aggregate_id=str(one.id), event_type="order.created",
              payload={"id": one.id, "total": one.total}) for one in orders)
