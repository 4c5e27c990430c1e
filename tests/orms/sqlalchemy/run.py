# SQLAlchemy: takes an order, rolls one back, and takes three at once. Arguments: the sample, a URL of libpq's.
import sys, types

from sqlalchemy import BigInteger, Column, Integer, create_engine
from sqlalchemy.orm import Session, declarative_base

sample, url = sys.argv[1:]
shop = types.ModuleType("shop")
shop.models = types.ModuleType("shop.models")
sys.modules.update({"shop": shop, "shop.models": shop.models})
Base = shop.models.Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = {"schema": "shop"}
    id = Column(BigInteger, primary_key=True)
    total = Column(Integer, nullable=False)


shop.models.Order = Order
space = {"__name__": "shop.events"}
exec(compile(open(sample).read(), sample, "exec"), space)
take_order, Event = space["take_order"], space["Event"]

engine = create_engine(url)
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
